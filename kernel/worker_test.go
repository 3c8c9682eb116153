package kernel_test

import (
	"context"
	"errors"
	"sync"
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

var errAway = errors.New("connection refused")

// FT-02: the process dies while its tasks run; another goes on with them within seconds, and no attempt is spent.
func TestTasksOfADeadProcessGoOnElsewhere(t *testing.T) {
	t.Parallel()
	for _, evidence := range []store.EvidenceKind{store.EvidenceProof, store.EvidenceSession, store.EvidenceNone} {
		t.Run(string(evidence), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				first := memory.New(memory.Config{Evidence: evidence})
				second := first.Process()
				other, _ := kerneltest.StartOn(t, second, kernel.Config{Slots: map[string]int{"other": 1}}, handlers{"sleep": sleeper})
				victim := startVictim(t, first, handlers{"sleep": sleeper})
				id := submit(t, victim, kernel.Spec{Kind: "sleep", Args: []byte("60s")})
				wait(t.Context(), 10*time.Second)
				first.Crash()
				died := time.Now()
				heir, _ := kerneltest.StartOn(t, first.Process(), kernel.Config{}, handlers{"sleep": sleeper})
				task := kerneltest.Wait(t, heir, id, store.Done)
				bound := 3 * time.Second
				if evidence == store.EvidenceNone {
					bound = 20 * time.Second
				}
				if took := task.StartedAt.Sub(died); took > bound {
					t.Errorf("recovered after %v, want at most %v", took, bound)
				}
				if task.Attempts != 0 || task.Crashes != 1 || task.Epoch != 2 {
					t.Errorf("%d attempts, %d crashes, epoch %d; want 0, 1, 2", task.Attempts, task.Crashes, task.Epoch)
				}
				_ = other
			})
		})
	}
}

// startVictim runs a kernel whose process is going to die: what its Run returns does not matter.
func startVictim(t *testing.T, st store.Store, hs handlers) *kernel.Kernel {
	t.Helper()
	k := kerneltest.New(t, st, kernel.Config{ShutdownTimeout: -1})
	for kind, h := range hs {
		k.Handle(kind, h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	kernel.Real().Go(func() {
		defer close(done)
		_ = k.Run(ctx)
	})
	t.Cleanup(func() {
		cancel()
		k.Close()
		<-done
	})
	return k
}

// FT-10: a worker that is cut off cancels its runs before others take over, and goes on as another incarnation afterwards.
func TestAWorkerThatIsCutOffFencesItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{Evidence: store.EvidenceNone})
		var cut atomic.Bool
		cutStore := storetest.Wrap(mem, func(_ context.Context, _ string, do func() error) error {
			if cut.Load() {
				return errAway
			}
			return do()
		})
		kerneltest.StartOn(t, mem.Process(), kernel.Config{Slots: map[string]int{"other": 1}}, nil)
		var cancelled, restarted atomic.Int64
		begin := time.Now()
		k, _ := kerneltest.StartOn(t, cutStore, kernel.Config{}, handlers{"long": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			if r.Fence().Epoch > 1 {
				restarted.Store(int64(time.Since(begin)))
				return kernel.Outcome{}, nil
			}
			<-ctx.Done()
			if errors.Is(context.Cause(ctx), kernel.ErrFenced) {
				cancelled.Store(int64(time.Since(begin)))
			}
			return kernel.Outcome{}, ctx.Err()
		}})
		id := submit(t, k, kernel.Spec{Kind: "long"})
		wait(t.Context(), 30*time.Second)
		cut.Store(true)
		wait(t.Context(), 30*time.Second)
		if got := time.Duration(cancelled.Load()); got < 38*time.Second || got > 42*time.Second {
			t.Errorf("the run was cancelled at %v, want ten seconds after the cut at 30s", got)
		}
		if h := k.Health(); h.Problem == "" {
			t.Errorf("Health = %+v, want a problem while the store is out of reach", h)
		}
		cut.Store(false)
		task := kerneltest.Wait(t, k, id, store.Done)
		if task.Attempts != 0 || time.Duration(restarted.Load()) < 60*time.Second {
			t.Errorf("%d attempts, restarted at %v; want 0, and after the cut", task.Attempts, time.Duration(restarted.Load()))
		}
		wait(t.Context(), 3*time.Second)
		if h := k.Health(); h.Problem != "" {
			t.Errorf("Health = %+v, want no problem", h)
		}
	})
}

// FT-08: a process that was stopped beyond dead-after comes back: its outcome is refused, the second result stands.
func TestALateOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{Evidence: store.EvidenceNone})
		paused := make(chan struct{})
		var stopped atomic.Bool
		stoppable := storetest.Wrap(mem, func(_ context.Context, op string, do func() error) error {
			if stopped.Load() && op != "Watch" {
				<-paused // SIGSTOP: not even an error comes back
			}
			return do()
		})
		var fenced atomic.Int32
		release := make(chan struct{})
		k, _ := kerneltest.StartOn(t, stoppable, kernel.Config{Observe: func(e kernel.Event) {
			if e.Kind == kernel.TaskFenced {
				fenced.Add(1)
			}
		}}, handlers{"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			<-release
			return kernel.Done([]byte("late")), nil
		}})
		id := submit(t, k, kernel.Spec{Kind: "x"})
		wait(t.Context(), 20*time.Second)
		stopped.Store(true)
		other, _ := kerneltest.StartOn(t, mem.Process(), kernel.Config{}, handlers{"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			return kernel.Done([]byte("second")), nil
		}})
		task := kerneltest.Wait(t, other, id, store.Done)
		stopped.Store(false)
		close(paused)
		close(release)
		wait(t.Context(), 5*time.Second)
		if again, err := other.Get(t.Context(), id); err != nil || string(again.Result) != "second" || again.Version != task.Version {
			t.Errorf("Result = %q, version %d, %v; want second, %d", again.Result, again.Version, err, task.Version)
		}
		if fenced.Load() != 1 {
			t.Errorf("%d outcomes were refused, want 1", fenced.Load())
		}
	})
}

func TestACancelReachesARunWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"obey": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
				<-ctx.Done()
				return kernel.Outcome{}, context.Cause(ctx)
			},
			"finish": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
				<-ctx.Done()
				return kernel.Done([]byte("finished all the same")), nil
			},
		})
		obey, finish := submit(t, k, kernel.Spec{Kind: "obey"}), submit(t, k, kernel.Spec{Kind: "finish"})
		waits := submit(t, k, kernel.Spec{Kind: "obey", Delay: time.Hour})
		wait(t.Context(), 10*time.Second)
		begin := time.Now()
		for _, id := range []kernel.ID{obey, finish, waits} {
			if _, err := k.Cancel(t.Context(), id, "no longer wanted"); err != nil {
				t.Errorf("Cancel = %v", err)
			}
		}
		for _, id := range []kernel.ID{obey, waits} {
			if task := kerneltest.Wait(t, k, id, store.Cancelled); task.Reason != "no longer wanted" {
				t.Errorf("Reason = %q, want no longer wanted", task.Reason)
			}
		}
		kerneltest.Wait(t, k, finish, store.Done)
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v, want at most a second", took)
		}
	})
}

// A claim whose answer is lost for good leaves a task running that nobody runs: the worker gives it back by itself.
func TestWhatALostAnswerHadClaimedIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		late := make(chan func() error, 1)
		var claims atomic.Int32
		lossy := storetest.Wrap(mem, func(_ context.Context, op string, do func() error) error {
			if op == "Claim" && claims.Add(1) == 2 {
				late <- do // the packet is under way; the caller gives up
				return errAway
			}
			return do()
		})
		k, _ := kerneltest.StartOn(t, lossy, kernel.Config{}, handlers{"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil }})
		wait(t.Context(), time.Second)
		id := submit(t, k, kernel.Spec{Kind: "x"})
		do := <-late
		synctest.Wait()
		_ = do() // now it arrives, and nobody reads the answer
		begin := time.Now()
		task := kerneltest.Wait(t, k, id, store.Done)
		if took := time.Since(begin); took > 31*time.Second || task.Crashes != 0 || task.Attempts != 0 {
			t.Errorf("done after %v, %d crashes, %d attempts; want two rounds of fifteen beats at most, 0, 0", took, task.Crashes, task.Attempts)
		}
	})
}

// I10: three workers die of a poison task, four at most, and nothing that ran beside it fails.
func TestAPoisonTaskFailsAndTheInnocentDoNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		client := kerneltest.New(t, mem, kernel.Config{})
		deaths := 0
		died := make(chan *memory.Store, 1)
		start := func() {
			st := mem.Process()
			startVictim(t, st, handlers{
				"poison": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
					wait(ctx, 100*time.Millisecond)
					died <- st
					<-ctx.Done()
					return kernel.Outcome{}, ctx.Err()
				},
				"fine": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
					wait(ctx, time.Second)
					return kernel.Outcome{}, ctx.Err()
				},
			})
		}
		poison := submit(t, client, kernel.Spec{Kind: "poison"})
		var fine []kernel.ID
		for range 300 {
			fine = append(fine, submit(t, client, kernel.Spec{Kind: "fine"}))
		}
		start()
		ended := make(chan kernel.Task, 1)
		kernel.Real().Go(func() {
			task, _ := client.Wait(t.Context(), poison)
			ended <- task
		})
		for task := (kernel.Task{}); task.State == ""; {
			select {
			case st := <-died:
				deaths++
				st.Crash()
				start()
			case task = <-ended:
				if task.State != store.Failed || task.Reason != store.ReasonCrashed {
					t.Errorf("poison ended as %s, %q; want failed, crashed", task.State, task.Reason)
				}
			}
		}
		for _, id := range fine {
			kerneltest.Wait(t, client, id, store.Done)
		}
		if deaths < 3 || deaths > 4 {
			t.Errorf("%d workers died, want 3 or 4", deaths)
		}
	})
}

// A worker that has nothing to do asks the store twice a second at most: a fleet of them is no load.
func TestAnIdleWorkerLeavesTheStoreAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := map[string]int{}
		var mu sync.Mutex
		st := storetest.Wrap(memory.New(memory.Config{}), func(_ context.Context, op string, do func() error) error {
			mu.Lock()
			calls[op]++
			mu.Unlock()
			return do()
		})
		kerneltest.StartOn(t, st, kernel.Config{}, handlers{"x": ok})
		wait(t.Context(), 10*time.Minute)
		mu.Lock()
		defer mu.Unlock()
		total := 0
		for _, n := range calls {
			total += n
		}
		if perSecond := float64(total) / 600; perSecond > 2 {
			t.Errorf("%.2f calls per second, want at most 2: %v", perSecond, calls)
		}
	})
}

// A queue whose slots are all taken is claimed from again when one is free, also while another queue has slots to spare.
func TestAFullQueueIsClaimedFromAgainBesideOneWithRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		instant := func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil }
		cfg := kernel.Config{Slots: map[string]int{"narrow": 2, "wide": 100}}
		k := kerneltest.Start(t, cfg, handlers{"k": instant})
		synctest.Wait()
		begin := time.Now()
		var ids []kernel.ID
		for range 20 {
			ids = append(ids, submit(t, k, kernel.Spec{Kind: "k", Queue: "narrow"}))
		}
		for _, id := range ids {
			kerneltest.Wait(t, k, id, store.Done)
		}
		if took := time.Since(begin); took > 500*time.Millisecond {
			t.Errorf("twenty instant tasks took %v: the worker waited for a beat", took)
		}
	})
}
