package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// I2: the commit was applied and its answer lost; the repeat makes no second task.
func TestASubmitWhoseAnswerIsLostIsOneTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		lost := 0
		st := storetest.Wrap(mem, func(_ context.Context, op string, do func() error) error {
			err := do()
			if op == "Submit" && lost < 3 {
				lost++
				return errAway
			}
			return err
		})
		k := kerneltest.New(t, st, kernel.Config{})
		submit(t, k, kernel.Spec{Kind: "x"})
		if n := len(kerneltest.Tasks(t, k, "x")); n != 1 || lost != 3 {
			t.Errorf("%d tasks after %d lost answers, want 1 after 3", n, lost)
		}
	})
}

func TestASubmitThatIsNeverAnsweredIsInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := storetest.Wrap(memory.New(memory.Config{}), func(context.Context, string, func() error) error { return errAway })
		k := kerneltest.New(t, st, kernel.Config{})
		begin := time.Now()
		s, err := k.Submit(t.Context(), kernel.Spec{Kind: "x"})
		if !errors.Is(err, kernel.ErrInDoubt) || !errors.Is(err, errAway) || s.ID.IsZero() {
			t.Errorf("Submit = %+v, %v; want an id and ErrInDoubt with its cause", s, err)
		}
		if took := time.Since(begin); took < 5*time.Minute || took > 6*time.Minute {
			t.Errorf("gave up after %v, want half of the horizon", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := k.Submit(ctx, kernel.Spec{Kind: "x"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Submit with a deadline = %v, want DeadlineExceeded", err)
		}
	})
}

func TestSubmitsThatArriveTogetherGoTogetherAndALoneOneDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls, together atomic.Int32
		st := storetest.Wrap(memory.New(memory.Config{}), func(ctx context.Context, op string, do func() error) error {
			if op == "Submit" {
				calls.Add(1)
				wait(ctx, 10*time.Millisecond) // the time of a commit
			}
			return do()
		})
		k := kerneltest.New(t, st, kernel.Config{})
		begin := time.Now()
		submit(t, k, kernel.Spec{Kind: "x"})
		if took := time.Since(begin); took != 10*time.Millisecond {
			t.Errorf("a lone submit took %v, want one commit", took)
		}
		var group sync.WaitGroup
		for i := range 200 {
			group.Go(func() {
				spec := kernel.Spec{Kind: "x", Unique: kernel.Unique{Key: fmt.Sprint(i / 2), OnConflict: store.Reject}}
				if _, err := k.Submit(t.Context(), spec); err == nil {
					together.Add(1)
				} else if !errors.Is(err, store.ErrDuplicate) {
					t.Errorf("Submit = %v, want nil or ErrDuplicate", err)
				}
			})
		}
		group.Wait()
		if calls.Load() > 4 || together.Load() != 100 {
			t.Errorf("%d calls for 201 submits, %d accepted; want a handful, and one of each pair", calls.Load(), together.Load())
		}
	})
}

func TestTheCallerIsToldWhichTaskStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		key := func(c store.Conflict) kernel.Spec {
			return kernel.Spec{Kind: "x", Unique: kernel.Unique{Key: "k", OnConflict: c}, Fingerprint: "f"}
		}
		first := submit(t, k, key(store.Keep))
		if s, err := k.Submit(t.Context(), key(store.Keep)); err != nil || s.ID != first || !s.Existed || s.Fingerprint != "f" {
			t.Errorf("Submit keep = %+v, %v; want the first", s, err)
		}
		if s, err := k.Submit(t.Context(), key(store.Reject)); !errors.Is(err, store.ErrDuplicate) || s.ID != first {
			t.Errorf("Submit reject = %+v, %v; want ErrDuplicate and the first", s, err)
		}
		if s, err := k.Submit(t.Context(), key(store.Replace)); err != nil || s.ID == first || s.Existed {
			t.Errorf("Submit replace = %+v, %v; want a new one", s, err)
		}
		if task, err := k.Get(t.Context(), first); err != nil || task.State != store.Cancelled || task.Reason != store.ReasonReplaced {
			t.Errorf("the first is %s, %q, %v; want cancelled, replaced", task.State, task.Reason, err)
		}
	})
}

// No local buffer, no oversubscription: a worker claims what it can start, and another finds the rest.
func TestAWorkerClaimsOnlyWhatItCanStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		k := kerneltest.Start(t, kernel.Config{Slots: map[string]int{"default": 3}}, handlers{"x": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			wait(ctx, time.Second)
			return kernel.Outcome{}, nil
		}})
		begin := time.Now()
		for range 30 {
			submit(t, k, kernel.Spec{Kind: "x"})
		}
		wait(t.Context(), 1100*time.Millisecond) // a notice may be lost; a beat tells
		page, err := k.List(t.Context(), store.Filter{States: []store.State{store.Running}}, store.PageRequest{})
		if err != nil || len(page.Items) != 3 {
			t.Errorf("%d tasks run, %v; want 3", len(page.Items), err)
		}
		for _, task := range kerneltest.Tasks(t, k, "x") {
			kerneltest.Wait(t, k, task.ID, store.Done)
		}
		if most.Load() != 3 || time.Since(begin) > 12*time.Second {
			t.Errorf("%d at once, %v in all; want 3, and no pause between", most.Load(), time.Since(begin))
		}
	})
}

// xorSealer is no cipher: it shows that what is stored is not what was handed over, and that each text is bound to its place.
type xorSealer struct{}

func (xorSealer) Seal(about string, plain []byte) ([]byte, error) {
	return append([]byte("sealed:"+about+":"), flip(plain)...), nil
}

func (xorSealer) Open(about string, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte("sealed:"+about+":"))
	if !ok {
		return nil, fmt.Errorf("not sealed for %s", about)
	}
	return flip(rest), nil
}

func flip(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = b[i] ^ 0xff
	}
	return out
}

func TestASealerSeesToItThatNoPayloadIsStoredInTheClear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		secret := []byte("hunter2")
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Sealer: xorSealer{}}, handlers{
			"x": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
				seen, err := r.Load(ctx, "entry")
				if err != nil {
					return kernel.Outcome{}, err
				}
				if seen["entry"] == nil {
					out := r.Park(0)
					out.Entries = map[string][]byte{"entry": r.Task().Args}
					return out, nil
				}
				messages, err := r.Messages(ctx)
				if err != nil || len(messages) != 1 {
					return kernel.Outcome{}, fmt.Errorf("%d messages, %w", len(messages), err)
				}
				if !bytes.Equal(messages[0].Body, secret) || !bytes.Equal(seen["entry"], secret) {
					return kernel.Outcome{}, errors.New("wrongly opened")
				}
				return kernel.Done(secret), nil
			},
			"after": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) { return kernel.Done(r.Task().Args), nil },
		})
		id := submit(t, k, kernel.Spec{Kind: "x", Args: secret, OnEnd: &kernel.Spec{Kind: "after", Args: secret}})
		wait(t.Context(), time.Second)
		if _, err := k.Send(t.Context(), kernel.Message{Task: id, Name: "go", Body: secret}); err != nil {
			t.Fatalf("Send = %v", err)
		}
		if messages, _ := mem.Messages(t.Context(), id); len(messages) > 0 && bytes.Contains(messages[0].Body, secret) {
			t.Error("the message is stored in the clear")
		}
		if task := kerneltest.Wait(t, k, id, store.Done); !bytes.Equal(task.Result, secret) || !bytes.Equal(task.Args, secret) {
			t.Errorf("args %q, result %q; want both opened", task.Args, task.Result)
		}
		after := kerneltest.Wait(t, k, store.OnEndID(id, 0), store.Done)
		if !bytes.Equal(after.Result, secret) {
			t.Errorf("OnEnd's result %q, want it opened", after.Result)
		}
		entries, err := mem.Load(t.Context(), id)
		if err != nil {
			t.Fatalf("Load = %v", err)
		}
		raw, err := mem.Get(t.Context(), id)
		for name, stored := range map[string][]byte{"args": raw.Args, "result": raw.Result, "entry": entries["entry"]} {
			if err != nil || len(stored) == 0 || bytes.Contains(stored, secret) {
				t.Errorf("%s is stored as %q, %v; want it sealed", name, stored, err)
			}
		}
		plain := kerneltest.New(t, mem.Process(), kernel.Config{})
		if _, err := plain.Get(t.Context(), id); err == nil {
			t.Error("Get without a sealer = nil, want an error that says so")
		}
	})
}

func TestOneBadItemFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{MaxPayload: 10})
		all, err := k.SubmitMany(t.Context(), []kernel.Spec{{Kind: "x"}, {Kind: "x", Args: make([]byte, 11)}, {Kind: "x"}, {Kind: ""}})
		if err != nil {
			t.Fatalf("SubmitMany = %v", err)
		}
		for i, want := range []error{nil, store.ErrInvalid, nil, store.ErrInvalid} {
			if !errors.Is(all[i].Err, want) || want == nil && all[i].State != store.Ready {
				t.Errorf("item %d = %+v, want %v", i, all[i], want)
			}
		}
	})
}

func TestIDsOfOneKernelGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		before := kernel.ID{}
		for i := range 20_000 { // more than a millisecond can count
			id := k.NewID()
			if id.String() <= before.String() {
				t.Fatalf("id %d: %s is not after %s", i, id, before)
			}
			before = id
		}
	})
}

// A delay, a retry and a snooze are as exact as the clock: nobody waits for the next beat.
func TestWhatIsDueSoonRunsSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var again atomic.Bool
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"x": ok,
			"again": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				if again.CompareAndSwap(false, true) {
					return kernel.Snooze(20 * time.Millisecond), nil
				}
				return kernel.Outcome{}, nil
			},
		})
		wait(t.Context(), 10*time.Second+300*time.Millisecond) // in the middle between two beats
		for _, spec := range []kernel.Spec{{Kind: "x", Delay: 20 * time.Millisecond}, {Kind: "again"}, {Kind: "x"}} {
			begin := time.Now()
			kerneltest.Wait(t, k, submit(t, k, spec), store.Done)
			if took := time.Since(begin); took > 25*time.Millisecond {
				t.Errorf("%s with a delay of %v took %v", spec.Kind, spec.Delay, took)
			}
		}
	})
}
