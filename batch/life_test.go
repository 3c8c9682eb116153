package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

// doubles is an operation that gives twice its input.
func doubles(name string, cfg batch.Config) *batch.Batch[none, int, int] {
	return batch.Define(name, op(func(_ context.Context, _ int64, in int) (batch.Result[int], error) {
		return batch.Result[int]{Out: 2 * in}, nil
	}), cfg)
}

// many is so many rows.
func many(n int) batch.Source[int] { return batch.Inputs(make([]int, n)...) }

// Rows that no process serves wait, and the batch says so. AL-012, AL-013
func TestRowsThatNobodyServesWaitAndTheBatchSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		b, other := doubles("later", batch.Config{}), doubles("other", batch.Config{})
		k := kerneltest.New(t, st.Process(), kernel.Config{})
		other.Serve(k)
		kerneltest.Run(t, k)
		h, err := b.Submit(t.Context(), k, many(10), batch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour) // virtual
		if s, err := h.Status(t.Context()); err != nil || s.State != batch.Queued || !s.Unserved {
			t.Errorf("Status = %+v, %v; want queued, unserved", s, err)
		}
		late := kerneltest.New(t, st.Process(), kernel.Config{})
		b.Serve(late)
		kerneltest.Run(t, late)
		if s := ended(t, h); s.State != batch.Success || s.Success != 10 || s.Unserved {
			t.Errorf("Status = %+v, want success once somebody serves it", s)
		}
	})
}

// With FailUnserved the batch fails instead, and its rows with a configuration error. AL-012
func TestFailUnservedFailsRowsAndBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, other := doubles("nobody", batch.Config{FailUnserved: time.Minute}), doubles("other", batch.Config{})
		k := start(t, kernel.Config{}, other)
		h, err := b.Submit(t.Context(), k, many(3), batch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		s := ended(t, h)
		if took := time.Since(begin); s.State != batch.Failed || s.Failed != 3 || s.Aborted != 0 || took < time.Minute || took > 3*time.Minute {
			t.Errorf("Status = %+v after %v; want three failed rows after a minute", s, took)
		}
		page, err := h.Rows(t.Context(), batch.RowsOptions{States: []batch.State{batch.Failed}})
		if err != nil || len(page.Rows) != 3 || page.Rows[0].State != batch.Failed || page.Rows[0].Messages[0].Code != "configerror" || page.Rows[0].Messages[0].ID != 2 {
			t.Errorf("Rows = %+v, %v; want configerror/2", page, err)
		}
		served := doubles("other", batch.Config{FailUnserved: time.Minute})
		h, err = served.Submit(t.Context(), k, many(3), batch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := ended(t, h); s.State != batch.Success {
			t.Errorf("Status of one that is served = %+v", s)
		}
	})
}

// cut gives some rows, and then the end of the process.
func cut(n int, end func()) batch.Source[int] {
	return batch.Seq(func(yield func(batch.Row[int]) bool) {
		for i := range n {
			if !yield(batch.Row[int]{Line: int64(i) + 1, Input: i}) {
				return
			}
		}
		end()
	})
}

// A Submit that was cut off goes on under its key; without anybody who goes on the batch is aborted, and nothing of it has run. AL-016
func TestASubmitThatWasCutOffIsGoneOnWithOrAborted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		b := batch.Define("cut", op(func(context.Context, int64, int) (batch.Result[int], error) {
			runs.Add(1)
			return batch.Result[int]{}, nil
		}), batch.Config{FillTimeout: time.Hour})
		k := start(t, kernel.Config{}, b)
		for _, key := range []string{"resumed", "left"} {
			ctx, cancel := context.WithCancel(t.Context())
			if _, err := b.Submit(ctx, k, cut(2500, cancel), batch.Options{Key: key}); !errors.Is(err, context.Canceled) {
				t.Fatalf("Submit = %v, want that it was cut off", err)
			}
		}
		<-time.After(time.Minute) // virtual
		all, err := batch.List(t.Context(), k, batch.ListOptions{})
		if err != nil || len(all) != 2 || all[0].State != batch.Wait || !all[0].Filling || runs.Load() != 0 {
			t.Fatalf("List = %+v, %v, %d runs; want two that are being submitted", all, err, runs.Load())
		}
		if _, err := batch.Open(k, all[0].ID).Release(t.Context()); !errors.Is(err, batch.ErrState) {
			t.Errorf("Release of half a batch = %v, want ErrState", err)
		}
		other := batch.Seq(func(yield func(batch.Row[int]) bool) { yield(batch.Row[int]{Line: 1, Input: 77}) })
		if _, err := b.Submit(t.Context(), k, other, batch.Options{Key: "resumed"}); !errors.Is(err, batch.ErrDuplicate) {
			t.Errorf("Submit of other rows under the key = %v, want ErrDuplicate", err)
		}
		same := batch.Seq(func(yield func(batch.Row[int]) bool) { yield(batch.Row[int]{Line: 1, Input: 0}) })
		if _, err := b.Submit(t.Context(), k, same, batch.Options{Key: "resumed"}); !errors.Is(err, batch.ErrDuplicate) {
			t.Errorf("Submit of a part of the rows under the key = %v, want ErrDuplicate", err)
		}
		h, err := b.Submit(t.Context(), k, cut(3000, func() {}), batch.Options{Key: "resumed"})
		if err != nil || h.Existed() {
			t.Fatalf("Submit again = %v", err)
		}
		if s := ended(t, h); s.Success != 3000 || runs.Load() != 3000 {
			t.Errorf("Status = %+v after %d runs, want 3,000", s, runs.Load())
		}
		if found, err := b.Find(t.Context(), k, "resumed"); err != nil || found.ID() != h.ID() {
			t.Errorf("Find = %v, want the batch", err)
		}
		if _, err := b.Find(t.Context(), k, "none"); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("Find of none = %v, want ErrNotFound", err)
		}
		if again, err := b.Submit(t.Context(), k, cut(3000, func() {}), batch.Options{Key: "resumed"}); err != nil || !again.Existed() || again.ID() != h.ID() {
			t.Errorf("Submit of what has ended = %v; want the same batch", err)
		}
		<-time.After(2 * time.Hour) // virtual
		all, err = batch.List(t.Context(), k, batch.ListOptions{Limit: 10})
		left := all[slices.IndexFunc(all, func(s batch.Status) bool { return s.ID != h.ID() })]
		if err != nil || len(all) != 2 || left.State != batch.Aborted || left.Reason != "submit abandoned" || runs.Load() != 3000 {
			t.Errorf("List = %+v, %v; want that the one that was left is aborted", all, err)
		}
	})
}

// A small batch is not stuck behind a large one: they take turns.
func TestBatchesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := batch.Define("turns", op(func(context.Context, int64, int) (batch.Result[int], error) {
			<-time.After(time.Second) // virtual
			return batch.Result[int]{}, nil
		}), batch.Config{})
		k := start(t, kernel.Config{Slots: map[string]int{"default": 4}}, b)
		large, err1 := b.Submit(t.Context(), k, many(2000), batch.Options{})
		small, err2 := b.Submit(t.Context(), k, many(4), batch.Options{})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		ended(t, small)
		if s, err := large.Status(t.Context()); err != nil || time.Since(begin) > 20*time.Second || s.State != batch.InProg {
			t.Errorf("the small batch took %v beside the large one: %+v, %v", time.Since(begin), s, err)
		}
	})
}

// A stop lets the rows that run end, and gives the rest back: another process goes on. FT-17
func TestAStopGivesRowsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		var runs atomic.Int32
		b := batch.Define("stop", op(func(ctx context.Context, line int64, _ int) (batch.Result[int], error) {
			runs.Add(1)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return batch.Result[int]{}, context.Cause(ctx)
			}
			return batch.Result[int]{}, nil
		}), batch.Config{Retry: kernel.Retry{Max: 1}})
		first := kerneltest.New(t, st.Process(), kernel.Config{Slots: map[string]int{"default": 5}})
		b.Serve(first)
		stop := kerneltest.Run(t, first)
		h, err := b.Submit(t.Context(), first, many(50), batch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2500 * time.Millisecond) // virtual: in the middle of rows
		if err := stop(); err != nil {
			t.Fatalf("Run = %v", err)
		}
		second := kerneltest.New(t, st.Process(), kernel.Config{})
		b.Serve(second)
		kerneltest.Run(t, second)
		if s := ended(t, b.Handle(second, h.ID())); s.State != batch.Success || s.Success != 50 || runs.Load() != 50 {
			t.Errorf("Status = %+v after %d runs; want that each row ran once", s, runs.Load())
		}
	})
}

// plainSealer seals by a mark alone: the test looks whether what is sealed is opened where it must be.
type plainSealer struct{}

func (plainSealer) Seal(_ string, plain []byte) ([]byte, error) {
	return append([]byte("sealed"), plain...), nil
}
func (plainSealer) Open(_ string, text []byte) ([]byte, error) { return text[len("sealed"):], nil }

func TestASealedBatchIsReadAndAddedTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := op(func(ctx context.Context, line int64, in int) (batch.Result[int], error) {
			var add int
			if err := batch.From(ctx).Context(&add); err != nil {
				return batch.Result[int]{}, batch.Permanent(err)
			}
			if batch.From(ctx).Attempt() == 1 && line == 2 {
				return batch.Result[int]{}, batch.RetryAfter(time.Hour, errors.New("later"))
			}
			return batch.Result[int]{Out: in + add, Files: map[string]string{"f": "secret"}}, nil
		})
		b := batch.Define("sealed", p, batch.Config{Files: true})
		k := start(t, kernel.Config{Sealer: plainSealer{}}, b)
		h, err := b.Submit(t.Context(), k, batch.Inputs(1, 2), batch.Options{Hold: true, Context: 100})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := b.Append(t.Context(), k, h.ID(), batch.Slice([]batch.Row[int]{{Line: 3, Input: 3}})); err != nil || n != 3 {
			t.Fatalf("Append = %d, %v", n, err)
		}
		if _, err := b.Append(t.Context(), k, h.ID(), batch.Slice([]batch.Row[int]{{Line: 3, Input: 3}})); !errors.Is(err, batch.ErrDuplicate) {
			t.Errorf("Append of a line that is there = %v, want ErrDuplicate: nobody can tell whether it is the same", err)
		}
		if _, err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s := ended(t, h); s.State != batch.Success {
			t.Errorf("Status = %+v", s)
		}
		for r, err := range h.All(t.Context()) {
			if err != nil || r.Out != int(r.Line)+100 {
				t.Errorf("row = %+v, %v; want its input and the context together", r, err)
			}
		}
		if got := read(t, h, "f"); got != "secret\nsecret\nsecret\n" {
			t.Errorf("file = %q", got)
		}
	})
}
