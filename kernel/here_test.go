package kernel_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/storetest"
)

func doneWith(result string) kernel.Handler {
	return func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Done([]byte(result)), nil }
}

func TestARunHereIsOwnedFromItsFirstMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		k := kerneltest.New(t, st, kernel.Config{})
		var seen store.Task
		h, err := k.RunHere(t.Context(), kernel.Spec{Kind: "x"}, func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			seen, _ = st.Get(ctx, r.ID())
			if err := r.Save(ctx, map[string][]byte{"step": []byte("1")}); err != nil {
				return kernel.Outcome{}, err
			}
			return kernel.Done([]byte("well")), nil
		})
		if err != nil || !h.Ran || h.Settled != store.Done {
			t.Fatalf("RunHere = %+v, %v; want run and done", h, err)
		}
		if seen.State != store.Running || seen.Worker == "" || seen.Epoch != 1 {
			t.Errorf("seen from inside: %s of %q, epoch %d; want running under the caller's worker", seen.State, seen.Worker, seen.Epoch)
		}
		if task := kerneltest.Wait(t, k, h.ID, store.Done); string(task.Result) != "well" {
			t.Errorf("result %q, want well", task.Result)
		}
	})
}

func TestAClientStaysInTheFleetOnlyWhileRunsHereLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		workers := func() int {
			ws, err := k.Workers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			alive := 0
			for _, w := range ws {
				if w.DeadAt.IsZero() {
					alive++
				}
			}
			return alive
		}
		for round := range 2 {
			var callers sync.WaitGroup
			for range 5 {
				callers.Go(func() {
					if h, err := k.RunHere(t.Context(), kernel.Spec{Kind: "x"}, doneWith("")); err != nil || !h.Ran {
						t.Errorf("RunHere = %+v, %v", h, err)
					}
				})
			}
			callers.Wait()
			if n := workers(); n != 1 {
				t.Errorf("round %d: %d workers right after, want 1", round, n)
			}
			pass(time.Minute)
			if n := workers(); n != 0 {
				t.Errorf("round %d: %d workers a minute later, want none", round, n)
			}
		}
	})
}

// pass lets virtual time go by.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func TestARunHereWhoseProcessDiesGoesOnInAWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		var cut sync.Mutex
		dead := false
		client := kerneltest.New(t, storetest.Wrap(mem, func(_ context.Context, _ string, do func() error) error {
			cut.Lock()
			gone := dead
			cut.Unlock()
			if gone {
				return errAway
			}
			return do()
		}), kernel.Config{CallTimeout: time.Second})
		began, ctx, cancel := make(chan kernel.ID, 1), t.Context(), context.CancelFunc(nil)
		ctx, cancel = context.WithCancel(ctx)
		var caller sync.WaitGroup
		caller.Go(func() {
			_, _ = client.RunHere(ctx, kernel.Spec{Kind: "x"}, func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
				began <- r.ID()
				<-ctx.Done()
				return kernel.Outcome{}, ctx.Err()
			})
		})
		id := <-began
		cut.Lock()
		dead = true
		cut.Unlock()
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{}, handlers{"x": doneWith("elsewhere")})
		if task := kerneltest.Wait(t, k, id, store.Done); string(task.Result) != "elsewhere" || task.Attempts != 0 {
			t.Errorf("result %q after %d attempts, want elsewhere after none", task.Result, task.Attempts)
		}
		cancel()
		client.Close()
		caller.Wait()
	})
}

func TestACallerWhoStopsWaitingGivesTheTaskBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		client := kerneltest.New(t, mem, kernel.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		h, err := client.RunHere(ctx, kernel.Spec{Kind: "x"}, func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), kernel.ErrCaller) {
				t.Errorf("cause %v, want ErrCaller", context.Cause(ctx))
			}
			return kernel.Outcome{}, ctx.Err()
		})
		if err != nil || !h.Ran || h.Settled != store.Ready {
			t.Errorf("RunHere = %+v, %v; want run, and ready again", h, err)
		}
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{}, handlers{"x": doneWith("")})
		if task := kerneltest.Wait(t, k, h.ID, store.Done); task.Attempts != 0 {
			t.Errorf("%d attempts, want none", task.Attempts)
		}
	})
}

func TestAKernelThatBeginsToRunKeepsWhatRunsHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		k.Handle("y", doneWith("y"))
		began, finish := make(chan struct{}), make(chan struct{})
		var caller sync.WaitGroup
		caller.Go(func() {
			h, err := k.RunHere(t.Context(), kernel.Spec{Kind: "x"}, func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				close(began)
				<-finish
				return kernel.Done(nil), nil
			})
			if err != nil || h.Settled != store.Done {
				t.Errorf("RunHere = %+v, %v; want done", h, err)
			}
		})
		<-began
		kerneltest.Run(t, k)
		kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "y"}), store.Done)
		pass(time.Minute)
		close(finish)
		caller.Wait()
		ws, err := k.Workers(t.Context())
		if err != nil || len(ws) != 1 {
			t.Errorf("%d workers, %v; want the one", len(ws), err)
		}
	})
}

func TestARunHereObeysKeysPausesAndLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := 0
		st := storetest.Wrap(memory.New(memory.Config{}), func(_ context.Context, op string, do func() error) error {
			err := do()
			if op == "Submit" && lost > 0 {
				lost--
				return errAway
			}
			return err
		})
		k := kerneltest.New(t, st, kernel.Config{})
		runs := 0
		h := func(context.Context, *kernel.Run) (kernel.Outcome, error) { runs++; return kernel.Done(nil), nil }
		lost = 2
		if got, err := k.RunHere(t.Context(), kernel.Spec{Kind: "x"}, h); err != nil || !got.Ran || runs != 1 {
			t.Errorf("after lost answers: %+v, %v, %d runs; want one run", got, err, runs)
		}
		first := submit(t, k, kernel.Spec{Kind: "x", Unique: kernel.Unique{Key: "k"}})
		if got, err := k.RunHere(t.Context(), kernel.Spec{Kind: "x", Unique: kernel.Unique{Key: "k"}}, h); err != nil || got.Ran || got.ID != first || !got.Existed {
			t.Errorf("with a held key: %+v, %v; want the holder, not run", got, err)
		}
		if err := k.Pause(t.Context(), store.Scope{Kind: "x"}, 0, ""); err != nil {
			t.Fatal(err)
		}
		if got, err := k.RunHere(t.Context(), kernel.Spec{Kind: "x"}, h); err != nil || got.Ran || got.State != store.Ready {
			t.Errorf("paused: %+v, %v; want ready, not run", got, err)
		}
		if _, err := k.RunHere(t.Context(), kernel.Spec{}, h); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("without a kind: %v, want ErrInvalid", err)
		}
		if runs != 1 {
			t.Errorf("%d runs, want 1", runs)
		}
	})
}

// Run begins while a first run here joins: whoever comes first, there is one member, and both go on.
func TestRunAndRunHereBeginAtOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
			k.Handle("y", doneWith("y"))
			var caller sync.WaitGroup
			caller.Go(func() {
				h, err := k.RunHere(t.Context(), kernel.Spec{Kind: "y"}, doneWith("here"))
				if err != nil || h.Ran && h.Settled != store.Done {
					t.Errorf("RunHere = %+v, %v", h, err)
				}
			})
			kerneltest.Run(t, k)
			kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "y"}), store.Done)
			caller.Wait()
			if ws, err := k.Workers(t.Context()); err != nil || len(ws) != 1 {
				t.Errorf("%d workers, %v; want one", len(ws), err)
			}
		})
	}
}
