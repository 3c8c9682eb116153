package kernel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/storetest"
)

// Park with a child, end of the child, end of the parent: each call also claims what it has made ready.
func TestWhatAnOutcomeMakesReadyIsClaimedInTheSameCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var completes atomic.Int32
		var counting atomic.Bool
		st := storetest.Wrap(memory.New(memory.Config{}), func(_ context.Context, op string, do func() error) error {
			if counting.Load() && op == "Complete" {
				completes.Add(1)
			}
			return do()
		})
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, handlers{
			"child": doneWith("x"),
			"parent": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
				if r.Fence().Epoch == 2 {
					counting.Store(false)
					return kernel.Done(nil), nil
				}
				counting.Store(true)
				out := r.Park(0)
				out.Follow = []kernel.Spec{{Kind: "child", Parent: r.ID()}}
				return out, nil
			},
		})
		kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "parent"}), store.Done)
		if n := completes.Load(); n != 2 {
			t.Errorf("%d Completes between park and wake; want 2", n)
		}
	})
}

func TestRunsTellTheTimeOfTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"x": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
			pass := time.NewTimer(time.Minute)
			<-pass.C
			if d := time.Since(r.Now()); d != 0 {
				t.Errorf("Now is off by %v", d)
			}
			return kernel.Hold("look at it"), nil
		}})
		id := submit(t, k, kernel.Spec{Kind: "x"})
		task, err := k.WaitFor(t.Context(), id, func(t *kernel.Task) bool { return t.State == store.Held })
		if err != nil || task.Reason != "look at it" {
			t.Errorf("WaitFor = %s (%s), %v; want held", task.State, task.Reason, err)
		}
		if _, err := k.Send(t.Context(), kernel.Message{Task: id, Name: "m", Body: []byte("b")}); err != nil {
			t.Fatal(err)
		}
		if list, err := k.Messages(t.Context(), task); err != nil || len(list) != 1 || string(list[0].Body) != "b" {
			t.Errorf("Messages = %v, %v; want the one", list, err)
		}
	})
}

// tale is a store that says of a task that it is ready or runs whenever something is told of it, as long as it has not ended.
type tale struct{ readless }

func (s *tale) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) error {
	return s.Store.Watch(ctx, worker, queues, func(n store.Notice) {
		if n.Kind == store.NoticeTask {
			task, err := s.Store.Get(ctx, n.Task)
			n.Moving = err == nil && !task.State.Terminal()
		}
		fn(n)
	})
}

// Who waits for the end of a task does not look at it while it is told that the task goes on; who follows it is told of every change.
func TestAWaiterDoesNotLookAtATaskThatGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &tale{readless{Store: memory.New(memory.Config{})}}
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, handlers{"x": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			for i := range 10 {
				<-time.After(10 * time.Millisecond)
				if err := r.Save(ctx, map[string][]byte{"n": {byte(i)}}); err != nil {
					return kernel.Outcome{}, err
				}
			}
			return kernel.Done(nil), nil
		}})
		id := submit(t, k, kernel.Spec{Kind: "x"})
		f := k.Follow(id)
		defer f.Close()
		if _, err := k.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if n := st.reads.Load(); n > 5 { // when it came, when it began to listen, and at the end
			t.Errorf("the waiter looked %d times, at a task that was saved 10 times", n)
		}
		if !f.Wait(t.Context(), time.Second) {
			t.Error("who follows the task was told of nothing")
		}
	})
}
