package batch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

// tool is what rows share.
type tool struct {
	dead, closed atomic.Bool
	closes       *atomic.Int32
}

func (t *tool) Alive() bool { return !t.dead.Load() }

func (t *tool) Close() error {
	t.closed.Store(true)
	t.closes.Add(1)
	return nil
}

// What rows share is made once per process, also for several operations of an app and their queries; it is closed when the process stops
// and nobody uses it, never before. AL-002
func TestAResourceIsSharedAndClosedAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made, closes, spoilt atomic.Int32
		shared := batch.Init(func(context.Context) (*tool, error) {
			made.Add(1)
			return &tool{closes: &closes}, nil
		})
		p := batch.Processor[*tool, int, int]{
			Init: shared,
			Row: func(_ context.Context, res *tool, _ batch.Row[int]) (batch.Result[int], error) {
				<-time.After(time.Second) // virtual
				if res.closed.Load() {
					spoilt.Add(1)
				}
				return batch.Result[int]{}, nil
			},
		}
		a, b, q := batch.Define("app/a", p, batch.Config{}), batch.Define("app/b", p, batch.Config{}), batch.DefineQuery("app/a", p, batch.Config{})
		st := memory.New(memory.Config{})
		k := kerneltest.New(t, st, kernel.Config{})
		for _, o := range []served{a, b, q} {
			o.Serve(k)
		}
		stop := kerneltest.Run(t, k)
		ha, err1 := a.Submit(t.Context(), k, many(100), batch.Options{})
		hb, err2 := b.Submit(t.Context(), k, many(100), batch.Options{})
		id, err3 := q.Submit(t.Context(), k, 1, batch.Options{})
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		ended(t, ha)
		ended(t, hb)
		if a, err := q.Wait(t.Context(), k, id); err != nil || a.State != batch.Success {
			t.Errorf("query = %+v, %v", a, err)
		}
		if made.Load() != 1 || closes.Load() != 0 {
			t.Errorf("made %d, closed %d; want one that stands", made.Load(), closes.Load())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if made.Load() != 1 || closes.Load() != 1 || spoilt.Load() != 0 {
			t.Errorf("made %d, closed %d, %d rows had a closed one", made.Load(), closes.Load(), spoilt.Load())
		}
	})
}

// One that is dead is made anew, and closed when the last row that uses it has returned.
func TestADeadResourceIsMadeAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made, closes, spoilt atomic.Int32
		b := batch.Define("mortal", batch.Processor[*tool, int, int]{
			Init: batch.Init(func(context.Context) (*tool, error) {
				if made.Add(1) == 2 {
					return nil, errors.New("not now") // a failed attempt, and the next row tries anew
				}
				return &tool{closes: &closes}, nil
			}),
			Row: func(_ context.Context, res *tool, r batch.Row[int]) (batch.Result[int], error) {
				if r.Line%10 == 0 {
					res.dead.Store(true)
				}
				<-time.After(time.Second) // virtual
				if res.closed.Load() {
					spoilt.Add(1)
				}
				return batch.Result[int]{}, nil
			},
		}, batch.Config{})
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"default": 5}})
		b.Serve(k)
		stop := kerneltest.Run(t, k)
		h, err := b.Submit(t.Context(), k, many(50), batch.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := ended(t, h); s.State != batch.Success {
			t.Errorf("Status = %+v", s)
		}
		if err := stop(); err != nil || made.Load() < 4 || closes.Load() != made.Load()-1 || spoilt.Load() != 0 {
			t.Errorf("%v: made %d, closed %d, %d rows had a closed one; want all but the one that failed to be closed, in their time", err, made.Load(), closes.Load(), spoilt.Load())
		}
	})
}

// A second processor of the same name is refused; other names are not. AL-001
func TestOneProcessorPerName(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	doubles("app/x", batch.Config{}).Serve(k)
	doubles("other/x", batch.Config{}).Serve(k)
	doubles("app/y", batch.Config{}).Serve(k)
	defer func() {
		if recover() == nil {
			t.Error("a second processor of a name was taken")
		}
	}()
	doubles("APP/X", batch.Config{}).Serve(k)
}
