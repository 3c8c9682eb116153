//go:build unix

package batches_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// pair lets two rows of a batch meet, and end at the same moment.
type pair struct {
	mu   sync.Mutex
	open map[kernel.ID]chan struct{}
}

// meet returns when the other one has come as well.
func (p *pair) meet(ctx context.Context, id kernel.ID) {
	p.mu.Lock()
	if met := p.open[id]; met != nil {
		close(met)
		delete(p.open, id)
		p.mu.Unlock()
		return
	}
	met := make(chan struct{})
	p.open[id] = met
	p.mu.Unlock()
	select {
	case <-met:
	case <-ctx.Done():
	}
}

// races is how often the last two rows race, on each engine.
func races(t *testing.T) int {
	if n, err := strconv.Atoi(os.Getenv("RACES")); err == nil {
		return n
	}
	if testing.Short() {
		return 100
	}
	return 1000
}

// The last two rows of a batch end at the same moment, in two processes: one closing task, one call of Done, and the counts are right. FT-20, AL-009
func TestTheLastTwoRowsCloseTheBatchOnce(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, p place) {
		meeting := &pair{open: map[kernel.ID]chan struct{}{}}
		var mu sync.Mutex
		done := map[kernel.ID]int{}
		b := batch.Define("race", batch.Processor[struct{}, int, int]{
			Row: func(ctx context.Context, _ struct{}, r batch.Row[int]) (batch.Result[int], error) {
				meeting.meet(ctx, batch.From(ctx).Batch())
				return batch.Result[int]{Out: r.Input}, nil
			},
			Done: func(_ context.Context, _ struct{}, sum batch.Summary) error {
				mu.Lock()
				defer mu.Unlock()
				done[sum.ID]++
				if sum.State != batch.Success || sum.Rows != 2 || sum.Success != 2 {
					return fmt.Errorf("Done was told %+v", sum)
				}
				return nil
			},
		}, batch.Config{DoneRetry: kernel.Retry{Max: 1}})
		const wave = 100
		slots := map[string]int{"default": wave} // both together: room for all rows of a wave
		p.worker(t, kernel.Config{Slots: slots}, b)
		p.worker(t, kernel.Config{Slots: slots}, b)
		k := p.client(t)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		total := races(t)
		for n := 0; n < total; n += wave {
			raceWave(ctx, t, k, b, min(wave, total-n))
		}
		closings := count(t, k, b.DoneKind())
		if closings != total || len(done) != total {
			t.Errorf("%d closing tasks and %d batches with a Done, want %d of each", closings, len(done), total)
		}
		for id, n := range done {
			if n != 1 {
				t.Errorf("batch %s: Done was called %d times", id, n)
			}
		}
	})
}

func raceWave(ctx context.Context, t *testing.T, k *kernel.Kernel, b *batch.Batch[struct{}, int, int], n int) {
	t.Helper()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			h, err := b.Submit(ctx, k, batch.Inputs(1, 2), batch.Options{})
			if err != nil {
				t.Errorf("Submit = %v", err)
				return
			}
			if s, err := h.Wait(ctx); err != nil || s.State != batch.Success || s.Success != 2 || s.Rows != 2 || s.DoneError != "" {
				t.Errorf("Wait = %+v, %v; want two rows that ended well", s, err)
			}
		})
	}
	group.Wait()
}

// count counts the tasks of a kind.
func count(t *testing.T, k *kernel.Kernel, kind string) int {
	t.Helper()
	n, page := 0, kernel.PageRequest{Limit: 1000}
	for {
		p, err := k.List(t.Context(), kernel.Filter{Kinds: []string{kind}}, page)
		if err != nil {
			t.Fatal(err)
		}
		n += len(p.Items)
		if page.Cursor = p.Cursor; page.Cursor == "" {
			return n
		}
	}
}
