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

// elsewhere lets a worker join that has no process here.
func elsewhere(t *testing.T, k *kernel.Kernel) *kernel.Remote {
	t.Helper()
	r, err := k.JoinRemote(t.Context(), kernel.RemoteInfo{Name: "py"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wants(wait time.Duration) kernel.RemoteClaim {
	return kernel.RemoteClaim{Queues: map[string]int{"away": 2}, Kinds: []string{"work"}, Wait: wait}
}

// claimOne claims one task that has to be there.
func claimOne(t *testing.T, r *kernel.Remote, wait time.Duration) kernel.Task {
	t.Helper()
	tasks, err := r.Claim(t.Context(), wants(wait))
	if err != nil || len(tasks) != 1 {
		t.Fatalf("Claim = %d tasks, %v; want 1", len(tasks), err)
	}
	return tasks[0]
}

func TestAWorkerElsewhereRunsTasksOfASealedStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{Sealer: newRing(t)}, nil)
		r := elsewhere(t, k)
		id := submit(t, k, kernel.Spec{Kind: "work", Queue: "away", Args: []byte(`{"n":1}`)})
		task := claimOne(t, r, 0)
		if task.ID != id || string(task.Args) != `{"n":1}` {
			t.Errorf("Claim = %v with %q, want the args opened", task.ID, task.Args)
		}
		if _, err := k.Checkpoint(t.Context(), task.Fence(), 1, map[string][]byte{"half": []byte("1")}, &kernel.Progress{Done: 1, Total: 2, Note: "half"}); err != nil {
			t.Errorf("Checkpoint = %v", err)
		}
		if entries, err := k.Load(t.Context(), task); err != nil || string(entries["half"]) != "1" {
			t.Errorf("Load = %q, %v", entries, err)
		}
		state, err := k.Report(t.Context(), task.Fence(), kernel.Report{Verdict: kernel.VerdictDone, Result: []byte(`"ok"`)})
		if err != nil || state != store.Done {
			t.Errorf("Report = %s, %v, want done", state, err)
		}
		if state, err = k.Report(t.Context(), task.Fence(), kernel.Report{Verdict: kernel.VerdictDone, Result: []byte(`"ok"`)}); err != nil || state != store.Done {
			t.Errorf("Report again = %s, %v, want done", state, err)
		}
		if got, err := k.Get(t.Context(), id); err != nil || string(got.Result) != `"ok"` || got.Progress.Note != "half" {
			t.Errorf("Get = %q, %q, %v", got.Result, got.Progress.Note, err)
		}
	})
}

func TestAClaimFromElsewhereWaitsAndBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, nil)
		r := elsewhere(t, k)
		begin := time.Now()
		if tasks, err := r.Claim(t.Context(), wants(2*time.Minute)); err != nil || len(tasks) != 0 || time.Since(begin) < 2*time.Minute {
			t.Errorf("Claim = %d tasks, %v after %v; want none after two minutes: it was kept alive", len(tasks), err, time.Since(begin))
		}
		begin = time.Now()
		submit(t, k, kernel.Spec{Kind: "work", Queue: "away", Delay: 10 * time.Second})
		claimOne(t, r, time.Minute)
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("the claim came %v after the submit, want it as soon as the task was due", took)
		}
	})
}

// FT-08: a worker elsewhere that falls silent loses its task, and what it says later changes nothing.
func TestALateReportFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, nil)
		first, second := elsewhere(t, k), elsewhere(t, k)
		id := submit(t, k, kernel.Spec{Kind: "work", Queue: "away"})
		task := claimOne(t, first, 0)
		again := claimOne(t, second, 5*time.Minute)
		if again.ID != id || again.Epoch != task.Epoch+1 || again.Crashes != 1 {
			t.Errorf("the second claim = %v, epoch %d, crashes %d; want %v, %d, 1", again.ID, again.Epoch, again.Crashes, id, task.Epoch+1)
		}
		if _, err := k.Report(t.Context(), task.Fence(), kernel.Report{Verdict: kernel.VerdictDone}); !errors.Is(err, kernel.ErrFenced) {
			t.Errorf("a late report = %v, want ErrFenced", err)
		}
		if _, err := k.Checkpoint(t.Context(), task.Fence(), 0, map[string][]byte{"a": nil}, nil); !errors.Is(err, kernel.ErrFenced) {
			t.Errorf("a late save = %v, want ErrFenced", err)
		}
		if _, err := first.Beat(t.Context(), kernel.Load{}); !errors.Is(err, kernel.ErrDead) {
			t.Errorf("a late beat = %v, want ErrDead", err)
		}
		if _, err := k.Report(t.Context(), again.Fence(), kernel.Report{Verdict: kernel.VerdictDone}); err != nil {
			t.Errorf("the report of who holds it = %v", err)
		}
	})
}

func TestAReportedErrorIsTriedAgainAndTellsTheSameTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, nil)
		r := elsewhere(t, k)
		id := submit(t, k, kernel.Spec{Kind: "work", Queue: "away", Retry: kernel.Retry{Max: 2, Base: time.Second}})
		bad := kernel.Report{Verdict: kernel.VerdictError, Message: "no luck", Type: "luck"}
		task := claimOne(t, r, 0)
		for range 2 { // the answer to the first was lost
			if state, err := k.Report(t.Context(), task.Fence(), bad); err != nil || state != store.Scheduled {
				t.Errorf("Report = %s, %v, want scheduled", state, err)
			}
		}
		task = claimOne(t, r, time.Minute)
		for range 2 {
			if state, err := k.Report(t.Context(), task.Fence(), bad); err != nil || state != store.Failed {
				t.Errorf("Report = %s, %v, want failed", state, err)
			}
		}
		if got, err := k.Get(t.Context(), id); err != nil || got.Attempts != 2 || got.Error.Message != "no luck" || got.Error.Type != "luck" {
			t.Errorf("Get = %d attempts, %+v, %v", got.Attempts, got.Error, err)
		}
		if _, err := k.Report(t.Context(), task.Fence(), kernel.Report{Verdict: "odd"}); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("an odd verdict = %v, want ErrInvalid", err)
		}
	})
}

func TestAClaimWhoseCallerIsGoneIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		k, _ := kerneltest.StartOn(t, st, kernel.Config{}, nil)
		r := elsewhere(t, k)
		id := submit(t, k, kernel.Spec{Kind: "work", Queue: "away"})
		c := wants(0)
		c.Nonce = k.NewID()
		task := claimOne(t, r, 0)
		c.Nonce, c.Repeat = task.Nonce, true
		if tasks, err := r.Claim(t.Context(), c); err != nil || len(tasks) != 1 || tasks[0].Fence() != task.Fence() {
			t.Errorf("a repeated claim = %v, %v; want what the first one took", tasks, err)
		}
		r.Release([]kernel.Task{task})
		if got, err := k.Get(t.Context(), id); err != nil || got.State != store.Ready || got.Attempts+got.Crashes != 0 {
			t.Errorf("Get = %s, %d attempts, %v; want it as it was", got.State, got.Attempts, err)
		}
		ctx, gone := context.WithCancel(t.Context())
		k2 := kerneltest.New(t, leaving{st.Process(), gone}, kernel.Config{})
		r2, err := k2.Remote(r.ID())
		if err != nil {
			t.Fatal(err)
		}
		if tasks, err := r2.Claim(ctx, wants(0)); err != nil || len(tasks) != 0 {
			t.Errorf("Claim = %v, %v; want nothing: nobody is there", tasks, err)
		}
		if got, err := k.Get(t.Context(), id); err != nil || got.State != store.Ready || got.Epoch != 2 {
			t.Errorf("Get = %s, epoch %d, %v; want it given back", got.State, got.Epoch, err)
		}
	})
}

// leaving is a store whose caller goes away while a claim is made.
type leaving struct {
	store.Store
	gone context.CancelFunc
}

func (l leaving) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	l.gone()
	return l.Store.Claim(ctx, req)
}

func TestSuspectsAreTriedElsewhereToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, nil)
		id := submit(t, k, kernel.Spec{Kind: "work", Queue: "away"})
		for range 4 { // a poison task kills one worker after the other
			r := elsewhere(t, k)
			tasks, err := r.Claim(t.Context(), wants(5*time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if len(tasks) == 0 {
				break
			}
		}
		if got := kerneltest.Wait(t, k, id, store.Failed); got.Reason != store.ReasonCrashed {
			t.Errorf("reason = %q, want crashed", got.Reason)
		}
	})
}

func TestNobodyElsewhereSpeaksForAProcessHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, nil)
		if _, err := k.Remote(k.Health().Worker); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("Remote = %v, want ErrNotFound", err)
		}
		for _, info := range []kernel.RemoteInfo{{Name: "~x"}, {Beat: time.Second, DeadAfter: 2 * time.Second}, {Beat: time.Nanosecond}, {Queues: map[string]int{"a b": 1}}} {
			if _, err := k.JoinRemote(t.Context(), info); !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("JoinRemote(%+v) = %v, want ErrInvalid", info, err)
			}
		}
		r := elsewhere(t, k)
		if err := r.Leave(t.Context()); err != nil {
			t.Errorf("Leave = %v", err)
		}
		if _, err := r.Claim(t.Context(), wants(0)); !errors.Is(err, kernel.ErrDead) {
			t.Errorf("Claim after Leave = %v, want ErrDead", err)
		}
	})
}

// Who follows the ending of a run elsewhere sees what was reported, not what this process happens to know.
func TestWhatFollowsARunElsewhereSeesItsResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan kernel.Task, 1)
		k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{Sealer: newRing(t)}, handlers{"after": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			ended, err := r.Ended(ctx)
			if err == nil {
				seen <- *ended
			}
			return kernel.Outcome{}, err
		}})
		r := elsewhere(t, k)
		submit(t, k, kernel.Spec{Kind: "work", Queue: "away", Args: []byte("in"), OnEnd: &kernel.Spec{Kind: "after"}})
		task := claimOne(t, r, 0)
		if _, err := k.Report(t.Context(), task.Fence(), kernel.Report{Verdict: kernel.VerdictDone, Result: []byte("out")}); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; string(got.Result) != "out" || string(got.Args) != "in" {
			t.Errorf("Ended = args %q, result %q; want in, out", got.Args, got.Result)
		}
	})
}
