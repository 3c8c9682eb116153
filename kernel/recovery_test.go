package kernel_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
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

// orphan leaves a running task of a worker that has died, and returns the store it lies in.
func orphan(t *testing.T) (*memory.Store, kernel.ID) {
	t.Helper()
	st := memory.New(memory.Config{Evidence: store.EvidenceProof})
	dead := st.Process()
	k := kerneltest.New(t, dead, kernel.Config{})
	id := submit(t, k, kernel.Spec{Kind: "work"})
	ctx := t.Context()
	if err := dead.Join(ctx, store.JoinRequest{ID: "dead:1:x", Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
		t.Fatal(err)
	}
	res, err := dead.Claim(ctx, store.ClaimRequest{Worker: "dead:1:x", Nonce: k.NewID(), Queues: []store.QueueSlots{{Queue: "default", Slots: 1}}, Kinds: []string{"work"}})
	if err != nil || len(res.Tasks) != 1 {
		t.Fatalf("Claim = %d tasks, %v; want 1", len(res.Tasks), err)
	}
	dead.Crash()
	return st, id
}

func works(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil }

// AE-050: recovery is on by default, and can be switched off; what is due is promoted all the same.
func TestRecoveryThatIsSwitchedOffPutsNothingBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, id := orphan(t)
		var passes atomic.Int64
		k, _ := kerneltest.StartOn(t, st, kernel.Config{RecoverEvery: -1, Observe: func(e kernel.Event) {
			if e.Kind == kernel.RecoveryRan {
				passes.Add(1)
			}
		}}, handlers{"work": works})
		later := submit(t, k, kernel.Spec{Kind: "work", Delay: time.Minute})
		kerneltest.Wait(t, k, later, store.Done)
		if task, err := k.Get(t.Context(), id); err != nil || task.State != store.Running || passes.Load() != 0 {
			t.Errorf("the orphan is %s (%v) after %d passes, want it left alone", task.State, err, passes.Load())
		}
		if h := k.Health(); h.Problem != "" {
			t.Errorf("Health = %q, want no problem: it was asked for", h.Problem)
		}
		kerneltest.StartOn(t, st.Process(), kernel.Config{}, handlers{"work": works})
		kerneltest.Wait(t, k, id, store.Done)
	})
}

// In a fleet so large that the store wants fewer beats, who is idle looks for the dead less often, too.
func TestInALargeFleetAnIdleWorkerLooksForTheDeadLessOften(t *testing.T) {
	t.Parallel()
	for fleet, most := range map[int]int64{0: 70, 1000: 25} {
		synctest.Test(t, func(t *testing.T) {
			mem := memory.New(memory.Config{})
			for i := range fleet {
				if err := mem.Join(t.Context(), store.JoinRequest{ID: fmt.Sprint("other:", i), Beat: time.Hour, DeadAfter: 5 * time.Hour}); err != nil {
					t.Fatal(err)
				}
			}
			var beats, passes atomic.Int64
			st := storetest.Wrap(mem.Process(), func(_ context.Context, op string, do func() error) error {
				switch op {
				case "Beat":
					beats.Add(1)
				case "Recover":
					passes.Add(1)
				}
				return do()
			})
			kerneltest.StartOn(t, st, kernel.Config{}, handlers{"work": works})
			<-time.After(time.Minute)
			if beats.Load() > most || passes.Load() > most || passes.Load() == 0 {
				t.Errorf("beside %d others it beat %d times and looked %d times in a minute, want at most %d of each", fleet, beats.Load(), passes.Load(), most)
			}
		})
	}
}

// AE-051: a store that cannot outlive its process says so at start. R003-2
func TestRecoveryTellsWhatItDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st, id := orphan(t)
		var log bytes.Buffer
		var passes, found atomic.Int64
		k, stop := kerneltest.StartOn(t, st, kernel.Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Observe: func(e kernel.Event) {
				if e.Kind == kernel.RecoveryRan {
					passes.Add(1)
					found.Add(int64(e.Count))
				}
			},
		}, handlers{"work": works})
		kerneltest.Wait(t, k, id, store.Done)
		timer := time.NewTimer(time.Minute)
		<-timer.C
		if passes.Load() < 40 || found.Load() != 1 {
			t.Errorf("%d passes found %d tasks in a minute, want about 50 and 1", passes.Load(), found.Load())
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"recovery started", "does not outlive this process", "task put back", "msg=recovered tasks=1"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, &log)
			}
		}
	})
}

func TestAFollowerIsToldOfAChangeAndReadsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		id, other := submit(t, k, kernel.Spec{Kind: "a"}), submit(t, k, kernel.Spec{Kind: "a"})
		f := k.Follow(id)
		defer f.Close()
		f.Wait(t.Context(), time.Second) // that the watch has begun
		if _, err := k.Cancel(t.Context(), other, ""); err != nil || f.Wait(t.Context(), time.Second) {
			t.Errorf("Wait = true after another task has changed (%v), want false", err)
		}
		if _, err := k.Cancel(t.Context(), id, ""); err != nil || !f.Wait(t.Context(), time.Second) {
			t.Errorf("Wait = false after the task has changed (%v), want true", err)
		}
	})
}
