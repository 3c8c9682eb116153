package kernel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// sleeper runs for as long as its args say, in virtual time, or until its context ends.
func sleeper(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
	d, err := time.ParseDuration(string(r.Task().Args))
	if err != nil {
		return kernel.Outcome{}, kernel.Permanent(err)
	}
	wait(ctx, d)
	return kernel.Outcome{}, ctx.Err()
}

// FT-17: short runs are delivered, long ones are released and finished elsewhere, attempts unchanged.
func TestAStopLetsShortRunsEndAndGivesLongOnesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		k, stop := kerneltest.StartOn(t, st, kernel.Config{ShutdownTimeout: 10 * time.Second}, handlers{"sleep": sleeper})
		short := submit(t, k, kernel.Spec{Kind: "sleep", Args: []byte("8s")})
		long := submit(t, k, kernel.Spec{Kind: "sleep", Args: []byte("20m")})
		wait(t.Context(), 2*time.Second) // a notice may be lost; a beat tells
		late := submit(t, k, kernel.Spec{Kind: "sleep", Args: []byte("0s"), Delay: 2 * time.Second})
		begin := time.Now()
		if err := stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if took := time.Since(begin); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("Run took %v to stop, want ShutdownTimeout", took)
		}
		for id, want := range map[kernel.ID]store.State{short: store.Done, long: store.Ready, late: store.Ready} {
			task, err := st.Get(t.Context(), id)
			if err != nil || task.State != want || task.Attempts != 0 || task.Crashes != 0 {
				t.Errorf("task %s: %s, %d attempts, %d crashes, %v; want %s, 0, 0", task.Args, task.State, task.Attempts, task.Crashes, err, want)
			}
		}
		if ws, err := st.Workers(t.Context()); err != nil || len(ws) > 1 || len(ws) == 1 && ws[0].Death != store.DeathLeft {
			t.Errorf("Workers = %+v, %v; want none but one that left", ws, err)
		}
		other, _ := kerneltest.StartOn(t, st.Process(), kernel.Config{}, handlers{"sleep": sleeper})
		kerneltest.Wait(t, other, late, store.Done)
		if task := kerneltest.Wait(t, other, long, store.Done); task.Attempts != 0 || task.Crashes != 0 || task.Epoch != 2 {
			t.Errorf("long: %d attempts, %d crashes, epoch %d; want 0, 0, 2", task.Attempts, task.Crashes, task.Epoch)
		}
	})
}

func TestHaltCutsADrainShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, stop := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, handlers{"sleep": sleeper})
		id := submit(t, k, kernel.Spec{Kind: "sleep", Args: []byte("1h")})
		wait(t.Context(), 2*time.Second)
		time.AfterFunc(time.Second, k.Halt)
		begin := time.Now()
		if err := stop(); err != nil || time.Since(begin) > 2*time.Second {
			t.Errorf("Run = %v after %v, want nil after a second", err, time.Since(begin))
		}
		if task, err := k.Get(t.Context(), id); err != nil || task.State != store.Ready {
			t.Errorf("State = %s, %v; want ready", task.State, err)
		}
	})
}

func TestQuietClaimsNoMoreAndStaysAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"sleep": sleeper})
		first := submit(t, k, kernel.Spec{Kind: "sleep", Args: []byte("30s")})
		wait(t.Context(), 2*time.Second)
		k.Quiet()
		second := submit(t, k, kernel.Spec{Kind: "sleep", Args: []byte("0s")})
		kerneltest.Wait(t, k, first, store.Done)
		wait(t.Context(), time.Minute)
		if task, err := k.Get(t.Context(), second); err != nil || task.State != store.Ready {
			t.Errorf("State = %s, %v; want ready", task.State, err)
		}
		if h := k.Health(); h.State != kernel.Draining || h.Problem != "" || h.Beat > 2*time.Second {
			t.Errorf("Health = %+v, want draining, alive, without a problem", h)
		}
	})
}

func TestAHandlerThatNeverReturnsIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		k := kerneltest.New(t, st, kernel.Config{ShutdownTimeout: -1})
		forever := make(chan struct{})
		k.Handle("hang", func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			<-forever
			return kernel.Outcome{}, nil
		})
		id := submit(t, k, kernel.Spec{Kind: "hang"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := k.Run(ctx); !errors.Is(err, kernel.ErrStuck) {
			t.Errorf("Run = %v, want ErrStuck", err)
		}
		if task, err := st.Get(t.Context(), id); err != nil || task.State != store.Ready {
			t.Errorf("State = %s, %v; want ready", task.State, err)
		}
		close(forever)
	})
}

func TestAKernelRunsOnceAndIsClosedForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, stop := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, nil)
		synctest.Wait()
		if err := k.Run(t.Context()); !errors.Is(err, store.ErrState) {
			t.Errorf("second Run = %v, want ErrState", err)
		}
		if err := stop(); err != nil || k.State() != kernel.Stopped {
			t.Errorf("Run = %v, state %s; want nil, stopped", err, k.State())
		}
		if _, err := k.Submit(t.Context(), kernel.Spec{Kind: "x"}); err != nil {
			t.Errorf("Submit after Run = %v, want nil: the kernel is a client still", err)
		}
		k.Close()
		k.Close()
		if _, err := k.Submit(t.Context(), kernel.Spec{Kind: "x"}); !errors.Is(err, kernel.ErrClosed) {
			t.Errorf("Submit after Close = %v, want ErrClosed", err)
		}
		if err := k.Run(t.Context()); !errors.Is(err, kernel.ErrClosed) {
			t.Errorf("Run after Close = %v, want ErrClosed", err)
		}
	})
}
