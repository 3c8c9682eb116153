//go:build unix

package batches_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/file"
	"github.com/outlast-go/outlast/kernel"
)

type none = struct{}

// rowOp makes an operation of what it does with a row.
func rowOp(name string, cfg batch.Config, row func(ctx context.Context, r batch.Row[int]) (batch.Result[int], error)) *batch.Batch[none, int, int] {
	return batch.Define(name, batch.Processor[none, int, int]{
		Row: func(ctx context.Context, _ none, r batch.Row[int]) (batch.Result[int], error) { return row(ctx, r) },
	}, cfg)
}

func twice(_ context.Context, r batch.Row[int]) (batch.Result[int], error) {
	return batch.Result[int]{Out: 2 * r.Input}, nil
}

// upTo is the inputs 1 to n.
func upTo(n int) batch.Source[int] {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return batch.Inputs(list...)
}

// handle is what the tests want of a batch.
type handle = *batch.Handle[int, int]

// submitted submits, and fails the test if that is refused.
func submitted(t *testing.T, k *kernel.Kernel, b *batch.Batch[none, int, int], rows batch.Source[int], opts batch.Options) handle {
	t.Helper()
	h, err := b.Submit(t.Context(), k, rows, opts)
	if err != nil {
		t.Fatalf("Submit = %v", err)
	}
	return h
}

// ends waits for the end of a batch, and compares.
func ends(t *testing.T, h handle, state batch.State, success, failed, aborted int64) batch.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := h.Wait(ctx)
	if err != nil || s.State != state || s.Success != success || s.Failed != failed || s.Aborted != aborted || s.Left() != 0 {
		t.Fatalf("Wait = %+v, %v; want %s with %d success, %d failed, %d aborted", s, err, state, success, failed, aborted)
	}
	return s
}

// eventually looks until it is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			t.Fatalf("it does not come to this: %s", what)
		}
		wait(ctx, 10*time.Millisecond)
	}
}

// stateOf reads the state of a batch.
func stateOf(t *testing.T, h handle) batch.State {
	t.Helper()
	s, err := h.Status(t.Context())
	if err != nil {
		t.Fatalf("Status = %v", err)
	}
	return s.State
}

// Rows are added while the batch waits, and refused later; lines are from 1 on and unique, also across appends. AL-100, AL-101, AL-104
func TestRowsAreAddedWhileTheBatchWaits(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		b := rowOp("held", batch.Config{}, twice)
		p.worker(t, kernel.Config{}, b)
		k := p.client(t)
		h := submitted(t, k, b, upTo(3), batch.Options{Hold: true})
		add := func(rows ...batch.Row[int]) (int64, error) {
			return b.Append(t.Context(), k, h.ID(), batch.Slice(rows))
		}
		if n, err := add(batch.Row[int]{Line: 9, Input: 9}); err != nil || n != 4 {
			t.Errorf("Append = %d, %v; want 4 rows", n, err)
		}
		for _, c := range []struct {
			rows []batch.Row[int]
			want error
		}{
			{[]batch.Row[int]{{Line: 10}, {Line: 0}}, batch.ErrLine},
			{[]batch.Row[int]{{Line: 10}, {Line: 10}}, batch.ErrLine},
			{[]batch.Row[int]{{Line: 10}, {Line: 3, Input: 4}}, batch.ErrDuplicate},
		} {
			if _, err := add(c.rows...); !errors.Is(err, c.want) {
				t.Errorf("Append(%v) = %v, want %v", c.rows, err, c.want)
			}
		}
		if n, err := add(batch.Row[int]{Line: 3, Input: 3}); err != nil || n != 4 {
			t.Errorf("the same row again: %d, %v; want that it has no effect", n, err)
		}
		if s := stateOf(t, h); s != batch.Wait {
			t.Errorf("state = %s before Release, want wait", s)
		}
		for range 2 {
			if n, err := h.Release(t.Context()); err != nil || n != 4 {
				t.Errorf("Release = %d, %v; want 4 rows", n, err)
			}
		}
		ends(t, h, batch.Success, 4, 0, 0)
		if _, err := add(batch.Row[int]{Line: 11}); !errors.Is(err, batch.ErrState) {
			t.Errorf("Append to a batch that has ended = %v, want ErrState", err)
		}
		if n, err := h.Release(t.Context()); err != nil || n != 4 {
			t.Errorf("Release of a batch that has ended = %d, %v", n, err)
		}
	})
}

// An abort ends what waits at once; what runs is told, and what it brings later changes nothing. What has ended stays. AL-102, AL-103
func TestALateResultOfAnAbortedRowChangesNothing(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		var running atomic.Int32
		told := make(chan struct{})
		b := rowOp("abort", batch.Config{}, func(ctx context.Context, r batch.Row[int]) (batch.Result[int], error) {
			if r.Line == 1 {
				return batch.Result[int]{Out: 1}, nil
			}
			running.Add(1)
			<-ctx.Done() // told of the abort
			<-told
			return batch.Result[int]{Out: 7}, nil // and all the same
		})
		p.worker(t, kernel.Config{Slots: map[string]int{"default": 3}}, b)
		k := p.client(t)
		h := submitted(t, k, b, upTo(500), batch.Options{})
		eventually(t, "a row has ended, three run", func() bool {
			s, err := h.Status(t.Context())
			return err == nil && s.Success == 1 && running.Load() == 3
		})
		if s, err := h.Abort(t.Context(), "by the test"); err != nil || s.Reason != "by the test" {
			t.Errorf("Abort = %+v, %v", s, err)
		}
		eventually(t, "all that wait have ended", func() bool {
			s, err := h.Status(t.Context())
			return err == nil && s.Aborted >= 496
		})
		close(told)
		ends(t, h, batch.Aborted, 1, 0, 499)
		for r, err := range h.All(t.Context()) {
			if err != nil || (r.State == batch.Success) != (r.Line == 1) || r.Out == 7 {
				t.Fatalf("row = %+v, %v", r, err)
			}
		}
		if s, err := h.Abort(t.Context(), "again"); err != nil || s.State != batch.Aborted || s.Reason != "by the test" {
			t.Errorf("Abort of what has ended = %+v, %v; want how it ended", s, err)
		}
		if _, err := h.Retry(t.Context()); !errors.Is(err, batch.ErrState) {
			t.Errorf("Retry of an aborted batch = %v, want ErrState", err)
		}
	})
}

// A batch of no rows ends at once, as success, and Done comes. AL-105, AL-005
func TestABatchOfNoRowsEndsAtOnce(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		var done atomic.Int32
		b := batch.Define("empty", batch.Processor[none, int, int]{
			Row: func(context.Context, none, batch.Row[int]) (batch.Result[int], error) {
				return batch.Result[int]{}, nil
			},
			Done: func(_ context.Context, _ none, sum batch.Summary) error {
				if sum.Rows == 0 && sum.State == batch.Success {
					done.Add(1)
				}
				return nil
			},
		}, batch.Config{})
		k, _ := p.worker(t, kernel.Config{}, b)
		ends(t, submitted(t, k, b, upTo(0), batch.Options{}), batch.Success, 0, 0, 0)
		if done.Load() != 1 {
			t.Errorf("Done was called %d times with no rows, want once", done.Load())
		}
	})
}

// A slow query: try later, then the answer; one that fails tells its messages, its Done comes once, and names go by lower case. AL-106, AL-107, AL-108
func TestASlowQueryIsAnsweredLater(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		var done atomic.Int32
		ask := make(chan struct{})
		q := batch.DefineQuery("App/Report", batch.Processor[none, int, int]{
			Row: func(ctx context.Context, _ none, r batch.Row[int]) (batch.Result[int], error) {
				<-ask
				if r.Input == 0 {
					return batch.Result[int]{}, fmt.Errorf("no such year")
				}
				return batch.Result[int]{Out: 2 * r.Input}, nil
			},
			Done: func(context.Context, none, batch.Summary) error { done.Add(1); return nil },
		}, batch.Config{Retry: kernel.Retry{Max: 1}})
		k, _ := p.worker(t, kernel.Config{}, q)
		good, err1 := q.Submit(t.Context(), k, 21, batch.Options{})
		bad, err2 := q.Submit(t.Context(), k, 0, batch.Options{})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if a, err := q.Done(t.Context(), k, good); err != nil || a.State != batch.TryLater {
			t.Errorf("Done at first = %+v, %v; want to try later", a, err)
		}
		close(ask)
		if a, err := q.Wait(t.Context(), k, good); err != nil || a.State != batch.Success || a.Out != 42 {
			t.Errorf("Wait = %+v, %v; want 42", a, err)
		}
		a, err := q.Wait(t.Context(), k, bad)
		if err != nil || a.State != batch.Failed || len(a.Messages) != 1 || a.Messages[0].Vals[0] != "no such year" || a.Messages[0].Code != "processing_error" {
			t.Errorf("Wait = %+v, %v; want its message", a, err)
		}
		if done.Load() != 2 || q.Name() != "app/report" {
			t.Errorf("Done was called %d times for two queries of %s", done.Load(), q.Name())
		}
		if err := q.Abort(t.Context(), k, good, ""); !errors.Is(err, batch.ErrState) {
			t.Errorf("Abort of an answered query = %v, want ErrState", err)
		}
	})
}

// A panic in one row leaves the others alone; Retry takes up the failed row and no other, and Done comes again. AL-110, AL-007
func TestAPanicInOneRowAndARetry(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		var mended atomic.Bool
		var runs, done atomic.Int32
		b := batch.Define("panic", batch.Processor[none, int, int]{
			Row: func(_ context.Context, _ none, r batch.Row[int]) (batch.Result[int], error) {
				runs.Add(1)
				if r.Line == 3 && !mended.Load() {
					panic("row 3")
				}
				return batch.Result[int]{Out: 1}, nil
			},
			Done: func(context.Context, none, batch.Summary) error { done.Add(1); return nil },
		}, batch.Config{Retry: kernel.Retry{Max: 2, Base: time.Millisecond}})
		k, _ := p.worker(t, kernel.Config{}, b)
		h := submitted(t, k, b, upTo(10), batch.Options{})
		ends(t, h, batch.Failed, 9, 1, 0)
		mended.Store(true)
		if n, err := h.Retry(t.Context()); err != nil || n != 1 {
			t.Fatalf("Retry = %d, %v; want one row", n, err)
		}
		if s := ends(t, h, batch.Success, 10, 0, 0); s.Generation != 2 || runs.Load() != 12 || done.Load() != 2 {
			t.Errorf("generation %d, %d runs, Done %d times; want 2, 12 (two of row 3, one more), 2", s.Generation, runs.Load(), done.Load())
		}
	})
}

// Output files: a line per row that gave one, in the order of the rows, whatever the order they ended in; through blobs and without. AL-006, AL-111, AL-027
func TestOutputFilesAreInTheOrderOfTheRows(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		folder, err := file.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, blobs := range [][]blob.Named{nil, {{Name: "files", Store: folder}}} {
			b := rowOp(fmt.Sprintf("files/%d", len(blobs)), batch.Config{Files: true}, func(ctx context.Context, r batch.Row[int]) (batch.Result[int], error) {
				wait(ctx, time.Duration(r.Line%7)*time.Millisecond)
				res := batch.Result[int]{Files: map[string]string{"all": fmt.Sprint(r.Line)}}
				switch r.Line {
				case 1:
					res.Files["some"] = ""
				case 2:
					res.Failed, res.Files["some"] = true, "two"
				}
				return res, nil
			})
			k, _ := p.worker(t, kernel.Config{Blobs: blobs}, b)
			h := submitted(t, k, b, upTo(600), batch.Options{})
			ends(t, h, batch.Failed, 599, 1, 0)
			var want strings.Builder
			for i := 1; i <= 600; i++ {
				fmt.Fprintln(&want, i)
			}
			if files, err := h.Files(t.Context()); err != nil || len(files) != 2 || files[0] != (batch.File{Name: "all", Lines: 600, Bytes: int64(want.Len()), Apart: len(blobs) > 0}) {
				t.Errorf("Files = %+v, %v", files, err)
			}
			if all, some := content(t, h, "all"), content(t, h, "some"); all != want.String() || some != "\ntwo\n" {
				t.Errorf("with %d blob stores: all has %d bytes, want %d; some = %q, want an empty line and two", len(blobs), len(all), want.Len(), some)
			}
			if _, err := h.OpenFile(t.Context(), "other"); !errors.Is(err, batch.ErrNoFile) {
				t.Errorf("OpenFile of none = %v, want ErrNoFile", err)
			}
		}
	})
}

func content(t *testing.T, h handle, name string) string {
	t.Helper()
	r, err := h.OpenFile(t.Context(), name)
	if err != nil {
		t.Fatalf("OpenFile(%s) = %v", name, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(data)
}

// Three processes, three batches of a hundred rows: all end well, side by side. AL-011
func TestThreeProcessesThreeBatches(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		var running, peak atomic.Int32
		b := rowOp("crowd", batch.Config{}, func(ctx context.Context, r batch.Row[int]) (batch.Result[int], error) {
			for n := running.Add(1); ; {
				before := peak.Load()
				if n <= before || peak.CompareAndSwap(before, n) {
					break
				}
			}
			wait(ctx, time.Millisecond)
			running.Add(-1)
			return twice(ctx, r)
		})
		for range 3 {
			p.worker(t, kernel.Config{Slots: map[string]int{"default": 10}}, b)
		}
		k := p.client(t)
		var all []handle
		for range 3 {
			all = append(all, submitted(t, k, b, upTo(100), batch.Options{}))
		}
		for _, h := range all {
			ends(t, h, batch.Success, 100, 0, 0)
		}
		if peak.Load() < 2 {
			t.Errorf("%d rows ran at once at most", peak.Load())
		}
	})
}

// A finished batch reads the same from another process, with nothing kept aside: status, rows, files and summary are of one record. AL-004, AL-018, AL-019, AL-020, AL-109
func TestAFinishedBatchReadsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		var told atomic.Value
		b := batch.Define("same", batch.Processor[none, int, int]{
			Row: func(_ context.Context, _ none, r batch.Row[int]) (batch.Result[int], error) {
				return batch.Result[int]{Out: r.Input, Files: map[string]string{"f": "x"}}, nil
			},
			Done: func(ctx context.Context, _ none, sum batch.Summary) error {
				var year int
				err := batch.From(ctx).Context(&year)
				told.Store(fmt.Sprint(sum.State, sum.Rows, sum.Success, sum.Files, year))
				return err
			},
		}, batch.Config{Files: true})
		k, _ := p.worker(t, kernel.Config{}, b)
		h := submitted(t, k, b, upTo(20), batch.Options{Context: 2026, Key: "k", Labels: map[string]string{"of": "test"}})
		want := ends(t, h, batch.Success, 20, 0, 0)
		other := batch.Open(p.client(t), h.ID())
		got, err := other.Status(t.Context())
		if err != nil || got.State != want.State || got.Rows != want.Rows || got.Success != want.Success || got.Labels["of"] != "test" {
			t.Errorf("Status elsewhere = %+v, %v; want %+v", got, err, want)
		}
		files, err := other.Files(t.Context())
		if err != nil || told.Load() != fmt.Sprint(batch.Success, 20, 20, files, 2026) {
			t.Errorf("Files = %v, %v; Done was told %v", files, err, told.Load())
		}
		if _, err := batch.Open(k, k.NewID()).Status(t.Context()); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("Status of an unknown batch = %v, want ErrNotFound", err)
		}
		page, err := other.Rows(t.Context(), batch.RowsOptions{Limit: 7})
		if err != nil || len(page.Rows) != 7 || page.Cursor == "" {
			t.Errorf("Rows = %+v, %v; want a page of seven", page, err)
		}
	})
}
