package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// batches are those scenarios that package batch drives.
var batches = []scenario{
	{"batch", batchIs(func(l *ledger) {
		l.inputs, l.finds, l.want = []string{"one", "two", "three"}, true, "success 3 0 0: one two three"
	})},
	{"batch, a row tried again", batchIs(func(l *ledger) { l.flaky, l.want = 2, "success 2 0 0: one two" })},
	{"batch, failed rows again", batchIs(func(l *ledger) { l.bad, l.again, l.want = 2, true, "success 2 0 0: one two" })},
	{"batch, held", batchIs(func(l *ledger) { l.hold, l.want = true, "success 3 0 0: one two three" })},
	{"batch, aborted", batchIs(func(l *ledger) { l.takes, l.abort, l.want = 300*ms, true, "aborted 0 0 2:" })},
}

// none is the resource of rows that need none.
type none struct{}

// ledger is a batch, and what its rows and its closing have seen.
type ledger struct {
	w      *workload
	inputs []string
	takes  time.Duration
	flaky  int64 // the first attempt at this line fails
	bad    int64 // this line is not good until the failed rows are tried again
	again  bool
	hold   bool
	abort  bool
	finds  bool   // its submitter looks it up by its key, and at each of its rows; otherwise by the id that he was told, and at the file
	want   string // how it ends where nothing goes wrong

	id     kernel.ID // that its submitter was told
	mended bool
	rows   tally          // by line
	done   map[int]string // what Done was told, by generation
	calls  tally          // of Done, by generation
	saw    string         // what its submitter saw in the end
}

// batchIs submits a batch, waits for its end, and compares what rows, closing, files and counts say.
func batchIs(edit func(l *ledger)) func(w *workload) {
	return func(w *workload) {
		l := &ledger{w: w, inputs: []string{"one", "two"}, takes: 20 * ms, rows: tally{}, done: map[int]string{}, calls: tally{}}
		edit(l)
		b := batch.Define("import", batch.Processor[none, string, string]{Row: l.row, Done: l.close}, batch.Config{
			Files: true, FillTimeout: -1, Retry: kernel.Retry{Max: 3, Base: 50 * ms, Cap: 100 * ms}, DoneRetry: kernel.Retry{Max: 3, Base: 50 * ms},
		})
		w.serves = append(w.serves, func(_ *process, k *kernel.Kernel) { b.Serve(k) })
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
			h, err := b.Submit(ctx, k, batch.Inputs(l.inputs...), batch.Options{Key: "november", Hold: l.hold})
			if err == nil && !l.finds {
				l.id = h.ID()
			}
			return err
		})
		l.edit(b)
		if l.again {
			l.await(b, false)
			w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
				l.mended = true
				return l.find(ctx, k, b, func(h *batch.Handle[string, string]) error {
					_, err := h.Retry(ctx)
					return err
				})
			})
		}
		l.await(b, true)
		w.judge(l.judge)
	}
}

// find does something with the batch, or with the one that stands under the key.
func (l *ledger) find(ctx context.Context, k *kernel.Kernel, b *batch.Batch[none, string, string], do func(h *batch.Handle[string, string]) error) error {
	if !l.id.IsZero() {
		return do(b.Handle(k, l.id))
	}
	h, err := b.Find(ctx, k, "november")
	if err != nil {
		return err
	}
	return do(h)
}

// edit lets the client do with the batch what can be done before it has ended.
func (l *ledger) edit(b *batch.Batch[none, string, string]) {
	then := func(pause time.Duration, do func(ctx context.Context, h *batch.Handle[string, string]) error) {
		l.w.then(pause, func(ctx context.Context, k *kernel.Kernel) error {
			return l.find(ctx, k, b, func(h *batch.Handle[string, string]) error { return do(ctx, h) })
		})
	}
	if l.hold {
		l.w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
			return l.find(ctx, k, b, func(h *batch.Handle[string, string]) error {
				_, err := b.Append(ctx, k, h.ID(), batch.Slice([]batch.Row[string]{{Line: 3, Input: "three"}}))
				return err
			})
		})
		then(0, func(ctx context.Context, h *batch.Handle[string, string]) error {
			_, err := h.Release(ctx)
			return err
		})
	}
	if l.abort {
		then(50*ms, func(ctx context.Context, h *batch.Handle[string, string]) error {
			_, err := h.Abort(ctx, "enough")
			return err
		})
	}
}

// await lets the client wait for the end, and, if it is the last one, look at what there is to see.
func (l *ledger) await(b *batch.Batch[none, string, string], last bool) {
	l.w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
		return l.find(ctx, k, b, func(h *batch.Handle[string, string]) error {
			s, err := h.Wait(ctx)
			if err != nil || !last {
				return err
			}
			file, err := l.file(ctx, h)
			if err != nil {
				return err
			}
			l.saw = tell(s.State, s.Success, s.Failed, s.Aborted) + file
			if told := l.done[s.Generation]; told != tell(s.State, s.Success, s.Failed, s.Aborted) {
				l.w.s.fail("B1", "the batch ended as %q, and Done was told %q", l.saw, told)
			}
			if !l.finds {
				return nil
			}
			return l.compare(ctx, h, s)
		})
	})
}

// tell writes how a batch stands.
func tell(state batch.State, success, failed, aborted int64) string {
	return fmt.Sprintf("%s %d %d %d:", state, success, failed, aborted)
}

// file reads the output file.
func (l *ledger) file(ctx context.Context, h *batch.Handle[string, string]) (string, error) {
	r, err := h.OpenFile(ctx, "out")
	if errors.Is(err, batch.ErrNoFile) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	lines := strings.Fields(string(text))
	if len(lines) > 0 {
		return " " + strings.Join(lines, " "), err
	}
	return "", err
}

// compare looks at each row: the counts are those of the rows, and the file has the lines of those that were processed.
func (l *ledger) compare(ctx context.Context, h *batch.Handle[string, string], s batch.Status) error {
	counts := map[batch.State]int64{}
	var lines []string
	for row, err := range h.All(ctx) {
		if err != nil {
			return err
		}
		counts[row.State]++
		if row.Files["out"] != "" {
			lines = append(lines, row.Files["out"])
		}
	}
	if counts[batch.Success] != s.Success || counts[batch.Failed] != s.Failed || counts[batch.Aborted] != s.Aborted || s.Left() != 0 {
		l.w.s.fail("B2", "the rows ended as %v, and the batch counts %q", counts, l.saw)
	}
	if got := strings.Fields(l.saw[strings.Index(l.saw, ":")+1:]); strings.Join(got, " ") != strings.Join(lines, " ") {
		l.w.s.fail("B3", "the file has the lines %q, and the rows gave %q", got, lines)
	}
	return nil
}

// row processes one row.
func (l *ledger) row(ctx context.Context, _ none, row batch.Row[string]) (batch.Result[string], error) {
	l.rows[fmt.Sprint("row ", row.Line, " ran")]++
	if !l.w.s.travel(ctx, l.takes) {
		return batch.Result[string]{}, context.Cause(ctx)
	}
	if row.Line == l.flaky && batch.From(ctx).Attempt() == 1 {
		return batch.Result[string]{}, errHandler
	}
	if row.Line == l.bad && !l.mended {
		return batch.Result[string]{Failed: true}, nil
	}
	return batch.Result[string]{Out: row.Input, Files: map[string]string{"out": row.Input}}, nil
}

// close is Done: it may come again if its process dies, and then says the same.
func (l *ledger) close(_ context.Context, _ none, sum batch.Summary) error {
	told := tell(sum.State, sum.Success, sum.Failed, sum.Aborted)
	if before, ok := l.done[sum.Generation]; ok && before != told {
		l.w.s.fail("B1", "Done of generation %d was told %q, and before %q", sum.Generation, told, before)
	}
	l.done[sum.Generation] = told
	l.calls[fmt.Sprint("Done of generation ", sum.Generation, " came")]++
	return nil
}

// judge compares in the end.
func (l *ledger) judge() {
	s, faults := l.w.s, l.w.faults()
	l.calls.atMost(l.w, "B1", 1+faults)
	l.rows.atMost(l.w, "B4", 2+faults)
	if len(l.done) == 0 {
		s.fail("B1", "the batch has ended, and Done never came")
	}
	if l.saw != l.want && (faults == 0 || !l.abort) {
		s.fail("B2", "the batch ended as %q, want %q", l.saw, l.want)
	}
}
