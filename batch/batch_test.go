package batch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

type none = struct{}

// op makes an operation of a function.
func op(row func(ctx context.Context, line int64, in int) (batch.Result[int], error)) batch.Processor[none, int, int] {
	return batch.Processor[none, int, int]{Row: func(ctx context.Context, _ none, r batch.Row[int]) (batch.Result[int], error) {
		return row(ctx, r.Line, r.Input)
	}}
}

type served interface{ Serve(k *kernel.Kernel) }

// start runs a kernel on an empty store that serves operations.
func start(t *testing.T, cfg kernel.Config, ops ...served) *kernel.Kernel {
	t.Helper()
	k := kerneltest.New(t, memory.New(memory.Config{}), cfg)
	for _, o := range ops {
		o.Serve(k)
	}
	kerneltest.Run(t, k)
	return k
}

// ended waits for a batch.
func ended(t *testing.T, h interface {
	Wait(ctx context.Context) (batch.Status, error)
},
) batch.Status {
	t.Helper()
	s, err := h.Wait(t.Context())
	if err != nil {
		t.Fatalf("Wait = %+v, %v", s, err)
	}
	return s
}

func TestABatchIsProcessedRowByRowAndClosedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var done atomic.Int32
		p := batch.Processor[none, int, int]{
			Row: func(_ context.Context, _ none, r batch.Row[int]) (batch.Result[int], error) {
				res := batch.Result[int]{Out: 2 * r.Input, Files: map[string]string{"all.txt": fmt.Sprint(r.Input)}}
				switch {
				case r.Line == 3:
					res.Failed, res.Messages = true, []batch.Message{{ID: 7, Code: "bad"}}
				case r.Line%2 == 0:
					res.Files["even.txt"] = "" // AL-111
				}
				return res, nil
			},
			Done: func(_ context.Context, _ none, sum batch.Summary) error {
				done.Add(1)
				if sum.State != batch.Failed || sum.Success != 2499 || sum.Failed != 1 || sum.Rows != 2500 || len(sum.Files) != 2 {
					t.Errorf("Done was told %+v", sum)
				}
				return nil
			},
		}
		b := batch.Define("App/Double", p, batch.Config{Files: true})
		k := start(t, kernel.Config{}, b)
		inputs := make([]int, 2500)
		for i := range inputs {
			inputs[i] = i + 1
		}
		h, err := b.Submit(t.Context(), k, batch.Inputs(inputs...), batch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := ended(t, h); s.State != batch.Failed || s.Success != 2499 || s.Failed != 1 || s.Left() != 0 || done.Load() != 1 || s.Name != "app/double" {
			t.Errorf("Status = %+v after %d calls of Done", s, done.Load())
		}
		line := int64(0)
		for r, err := range h.All(t.Context()) {
			if line++; err != nil || r.Line != line || r.Out != 2*int(line) || r.Input != int(line) || (r.State == batch.Failed) != (line == 3) {
				t.Fatalf("row %d = %+v, %v", line, r, err)
			}
		}
		if line != 2500 {
			t.Errorf("%d rows, want 2,500", line)
		}
		page, err := h.Rows(t.Context(), batch.RowsOptions{States: []batch.State{batch.Failed}})
		if err != nil || len(page.Rows) != 1 || page.Rows[0].Messages[0].Code != "bad" {
			t.Errorf("failed rows = %+v, %v", page, err)
		}
		if got := read(t, h, "even.txt"); got != strings.Repeat("\n", 1250) {
			t.Errorf("even.txt has %d bytes, want 1,250 empty lines", len(got))
		}
		if got := read(t, h, "all.txt"); !strings.HasPrefix(got, "1\n2\n3\n") || strings.Count(got, "\n") != 2500 || !strings.HasSuffix(got, "2499\n2500\n") {
			t.Errorf("all.txt = %.40q…", got)
		}
	})
}

// read reads an output file.
func read(t *testing.T, h interface {
	OpenFile(ctx context.Context, name string) (io.ReadCloser, error)
}, name string,
) string {
	t.Helper()
	r, err := h.OpenFile(t.Context(), name)
	if err != nil {
		t.Fatalf("OpenFile(%q) = %v", name, err)
	}
	data, err := io.ReadAll(r)
	if err != nil || r.Close() != nil {
		t.Fatalf("read %q: %v", name, err)
	}
	return string(data)
}

// A row may take as long as it likes where the operation says so.
func TestNoTimeout(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	op := batch.Define("patient", batch.Processor[none, int, int]{
		Row: func(ctx context.Context, _ none, _ batch.Row[int]) (batch.Result[int], error) {
			if _, bounded := ctx.Deadline(); bounded {
				return batch.Result[int]{}, batch.Permanent(errors.New("there is a deadline"))
			}
			return batch.Result[int]{Out: 1}, nil
		},
	}, batch.Config{Timeout: kernel.NoTimeout})
	op.Serve(k)
	kerneltest.Run(t, k)
	h, err := op.Submit(t.Context(), k, batch.Inputs(1), batch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := h.Wait(t.Context()); err != nil || s.State != batch.Success {
		t.Errorf("Wait = %+v, %v, want success", s, err)
	}
}
