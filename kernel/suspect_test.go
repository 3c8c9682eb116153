package kernel_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// suspectsOf leaves n tasks of a kind in a store that have each killed as many workers as it takes to be suspected.
func suspectsOf(t *testing.T, st *memory.Store, kind string, n int) {
	t.Helper()
	k := kerneltest.New(t, st, kernel.Config{})
	for range n {
		submit(t, k, kernel.Spec{Kind: kind, Args: []byte("10s")})
	}
	for _, id := range []string{"dead:1:x", "dead:2:x"} {
		dead := st.Process()
		if err := dead.Join(t.Context(), store.JoinRequest{ID: id, Beat: time.Second, DeadAfter: 15 * time.Second}); err != nil {
			t.Fatal(err)
		}
		res, err := dead.Claim(t.Context(), store.ClaimRequest{Worker: id, Nonce: k.NewID(), Queues: []store.QueueSlots{{Queue: "default", Slots: n}}, Kinds: []string{kind}})
		if err != nil || len(res.Tasks) != n {
			t.Fatalf("Claim = %d tasks, %v; want %d", len(res.Tasks), err, n)
		}
		dead.Crash()
		if res, err := st.Recover(t.Context(), store.RecoverRequest{Force: true}); err != nil || len(res.Tasks) != n {
			t.Fatalf("Recover = %d tasks, %v; want %d", len(res.Tasks), err, n)
		}
	}
}

// However many suspects there are, other work goes on between them; and suspects run beside nothing else.
func TestOtherWorkGoesOnBetweenSuspects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{Evidence: store.EvidenceProof})
		const suspects, others = 7, 1000
		suspectsOf(t, st, "sleep", suspects)
		var mu sync.Mutex
		running, begun, between := map[string]int{}, 0, 0
		watched := func(h kernel.Handler) kernel.Handler {
			return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
				kind := r.Task().Kind
				mu.Lock()
				running[kind]++
				if running["sleep"] > 0 && running["other"] > 0 {
					t.Errorf("a suspect runs beside other work: %v", running)
				}
				if kind == "sleep" {
					begun++
				} else if begun < suspects {
					between++
				}
				mu.Unlock()
				out, err := h(ctx, r)
				mu.Lock()
				running[kind]--
				mu.Unlock()
				return out, err
			}
		}
		k, _ := kerneltest.StartOn(t, st, kernel.Config{Slots: map[string]int{"default": 10}, Around: []func(kernel.Handler) kernel.Handler{watched}}, handlers{"sleep": sleeper, "other": sleeper})
		var last kernel.ID
		for range others {
			last = submit(t, k, kernel.Spec{Kind: "other", Args: []byte("1s")})
		}
		kerneltest.Wait(t, k, last, store.Done)
		mu.Lock()
		defer mu.Unlock()
		if begun != suspects || between < others/10 {
			t.Errorf("%d of %d suspects were tried, and %d other tasks begun meanwhile; want all, and at least %d", begun, suspects, between, others/10)
		}
	})
}

// cutBeats is a store whose connection is cut now and then: the next beat gets no answer.
type cutBeats struct {
	store.Store
	mu    sync.Mutex
	at    []time.Time
	fails int
}

func (c *cutBeats) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = append(c.at, time.Now())
	if c.fails > 0 {
		c.fails--
		return store.BeatResult{}, errAway
	}
	return c.Store.Beat(ctx, req)
}

// Others wait for 1.5 s for one whose session is gone. One beat that met a connection that was cut must not make it two seconds.
func TestABeatThatGotNoAnswerIsSentAgainSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &cutBeats{Store: memory.New(memory.Config{})}
		kerneltest.StartOn(t, st, kernel.Config{}, nil)
		wait(t.Context(), 10*time.Second+500*time.Millisecond)
		st.mu.Lock()
		st.fails = 1
		before := len(st.at)
		st.mu.Unlock()
		wait(t.Context(), 3*time.Second)
		st.mu.Lock()
		defer st.mu.Unlock()
		if gap := st.at[before+1].Sub(st.at[before-1]); gap > 1500*time.Millisecond {
			t.Errorf("%v passed between two beats that were answered, want less than 1.5 s", gap)
		}
	})
}

// toldClaims notes what claims of suspects tell of the process.
type toldClaims struct {
	store.Store
	mu      sync.Mutex
	company []bool
}

func (c *toldClaims) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	res, err := c.Store.Claim(ctx, req)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(res.Tasks) > 0 && req.Suspects > 0 {
		c.company = append(c.company, req.Company)
	}
	return res, err
}

// The store may have taken the task of a run that goes on: that a suspect is not alone, only the process knows.
func TestAClaimOfASuspectTellsOfRunsThatGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{Evidence: store.EvidenceProof})
		suspectsOf(t, st, "sleep", 1)
		if err := st.Pause(t.Context(), store.Scope{Queue: "default", Kind: "sleep"}, 10*time.Second, "until the other one runs"); err != nil {
			t.Fatal(err)
		}
		told := &toldClaims{Store: st}
		k, _ := kerneltest.StartOn(t, told, kernel.Config{Slots: map[string]int{"default": 10}}, handlers{"sleep": sleeper, "other": sleeper})
		submit(t, k, kernel.Spec{Kind: "other", Args: []byte("5m")})
		wait(t.Context(), 2*time.Minute)
		told.mu.Lock()
		defer told.mu.Unlock()
		if len(told.company) != 1 || !told.company[0] {
			t.Errorf("claims of suspects told of company %v, want one that did", told.company)
		}
	})
}
