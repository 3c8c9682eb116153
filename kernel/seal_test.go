package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// logTo is a log whose lines are in order: slog holds a lock while it writes one.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

func newRing(t testing.TB, lines ...string) *seal.Ring {
	t.Helper()
	if len(lines) == 0 {
		lines = []string{seal.NewKey()}
	}
	ring, err := seal.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// What a process cannot open is not lost, it waits for one that can.
func TestATaskWaitsForAProcessThatHasItsKey(t *testing.T) {
	t.Parallel()
	for name, sealer := range map[string]kernel.Sealer{"no sealer": nil, "another key": newRing(t)} {
		synctest.Test(t, func(t *testing.T) {
			mem, ring := memory.New(memory.Config{}), newRing(t)
			client := kerneltest.New(t, mem, kernel.Config{Sealer: ring})
			id := submit(t, client, kernel.Spec{Kind: "x", Args: []byte("hunter2"), Retry: kernel.Retry{Max: 1}})
			kerneltest.StartOn(t, mem.Process(), kernel.Config{Sealer: sealer}, handlers{"x": ok})
			wait(t.Context(), time.Minute)
			got, err := client.Get(t.Context(), id)
			if err != nil || got.State.Terminal() || got.Attempts != 0 || got.Error == nil || got.Error.Type != "seal" {
				t.Errorf("%s: the task is %s after %d attempts, error %+v, %v; want it to wait and to say why", name, got.State, got.Attempts, got.Error, err)
			}
			able, _ := kerneltest.StartOn(t, mem.Process(), kernel.Config{Sealer: ring}, handlers{"x": ok})
			if got := kerneltest.Wait(t, able, id, store.Done); string(got.Args) != "hunter2" {
				t.Errorf("%s: args %q, want them opened", name, got.Args)
			}
		})
	}
}

func TestWhatWasPutIntoAnotherPlaceFailsForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Sealer: newRing(t)}, handlers{"x": ok})
		a, err1 := k.Prepare(kernel.Spec{Kind: "x", Args: []byte("mine"), OnEnd: &kernel.Spec{Kind: "x", Args: []byte("next")}})
		b, err2 := k.Prepare(kernel.Spec{Kind: "x", Args: []byte("yours")})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		swapped := *a.OnEnd
		a.Args, swapped.Args, b.Args = swapped.Args, a.Args, a.Args // within a task, and across tasks
		a.OnEnd = &swapped
		if _, err := mem.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{a, b}}); err != nil {
			t.Fatal(err)
		}
		for _, id := range []store.ID{a.ID, b.ID, store.OnEndID(a.ID, 0)} {
			for state := store.Ready; !state.Terminal(); {
				wait(t.Context(), time.Second)
				got, err := mem.Get(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if state = got.State; state.Terminal() && (state != store.Failed || got.Attempts != 1 || got.Error.Type != "seal") {
					t.Errorf("the task is %s after %d attempts, error %+v; want failed at once by its seal", state, got.Attempts, got.Error)
				}
			}
		}
	})
}

func TestAMessageIsSealedIfItsTaskIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem, ring := memory.New(memory.Config{}), newRing(t)
		read := func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			list, err := r.Messages(ctx)
			if err != nil || len(list) == 0 {
				return r.Park(0), err
			}
			return kernel.Done(list[0].Body), nil
		}
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Sealer: ring}, handlers{"x": read})
		plain := kerneltest.New(t, mem.Process(), kernel.Config{})
		open, shut := submit(t, plain, kernel.Spec{Kind: "x"}), submit(t, k, kernel.Spec{Kind: "x"})
		if _, err := plain.Send(t.Context(), kernel.Message{Task: shut, Name: "m", Body: []byte("body")}); err == nil {
			t.Error("Send without a sealer to a sealed task = nil, want an error that says so")
		}
		for _, id := range []kernel.ID{open, shut} {
			if _, err := k.Send(t.Context(), kernel.Message{Task: id, Name: "m", Body: []byte("body")}); err != nil {
				t.Errorf("Send = %v", err)
			}
			if got := kerneltest.Wait(t, k, id, store.Done); string(got.Result) != "body" {
				t.Errorf("the handler read %q, want the message", got.Result)
			}
		}
	})
}

// A sealer of the user's may be a service that is away for a while: that must not cost the task.
type moodySealer struct {
	*seal.Ring
	opens, seals atomic.Int64 // still to fail
}

func (s *moodySealer) Open(about string, text []byte) ([]byte, error) {
	if s.opens.Add(-1) >= 0 {
		return nil, errors.New("key service is away")
	}
	return s.Ring.Open(about, text)
}

func (s *moodySealer) Seal(about string, text []byte) ([]byte, error) {
	if strings.HasSuffix(about, "/result") && s.seals.Add(-1) >= 0 {
		return nil, errors.New("key service is away")
	}
	return s.Ring.Seal(about, text)
}

func TestASealerThatFailsCostsAttemptsAndNotTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sealer := &moodySealer{Ring: newRing(t)}
		k := kerneltest.Start(t, kernel.Config{Sealer: sealer}, handlers{
			"x": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) { return kernel.Done(r.Task().Args), nil },
		})
		sealer.opens.Store(2)
		sealer.seals.Store(3)
		id := submit(t, k, kernel.Spec{Kind: "x", Args: []byte("a")})
		kerneltest.Drain(t, k) // Wait would ask the sealer, too
		if got := kerneltest.Wait(t, k, id, store.Done); string(got.Result) != "a" || got.Attempts != 5 {
			t.Errorf("result %q after %d failed attempts, want a after 5", got.Result, got.Attempts)
		}
	})
}

func TestTextsOfASealedTaskAreShownToThoseWhoCanOpenThemAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		mem := memory.New(memory.Config{})
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Sealer: newRing(t), Logger: logTo(&log)}, handlers{
			"x": func(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
				r.Progress(1, 2, "note hunter2")
				return kernel.Outcome{}, kernel.Typed("odd", errors.New("error hunter2"))
			},
			"panic": func(context.Context, *kernel.Run) (kernel.Outcome, error) { panic("panic hunter2") },
		})
		x := submit(t, k, kernel.Spec{Kind: "x", Retry: kernel.Retry{Max: 2}})
		p := submit(t, k, kernel.Spec{Kind: "panic", Retry: kernel.Retry{Max: 1}})
		got := kerneltest.Wait(t, k, x, store.Failed)
		if got.Error.Message != "error hunter2" || got.Error.Type != "odd" || got.Error.Detail != nil || got.Progress.Note != "note hunter2" || got.Progress.Done != 1 {
			t.Errorf("Get = error %+v, progress %+v, want both as they were told", got.Error, got.Progress)
		}
		if got := kerneltest.Wait(t, k, p, store.Failed); got.Error.Message != "panic: panic hunter2" || !bytes.Contains(got.Error.Detail, []byte("goroutine")) {
			t.Errorf("Get = error %+v, want the panic and its stack", got.Error)
		}
		page, err := k.List(t.Context(), store.Filter{}, store.PageRequest{Payload: true})
		if err != nil || len(page.Items) != 2 || page.Items[1].Progress.Note != "(sealed)" || page.Items[1].Error.Message != "(sealed)" {
			t.Errorf("List = %+v, %v, want the texts hidden", page.Items, err)
		}
		synctest.Wait() // who has written an outcome logs it afterwards
		if strings.Contains(log.String(), "hunter2") || !strings.Contains(log.String(), "attempt failed") {
			t.Errorf("the log repeats what is sealed, or says nothing: %s", &log)
		}
		for _, id := range []kernel.ID{x, p} {
			raw, err := mem.Get(t.Context(), id)
			if err != nil || strings.Contains(raw.Error.Message+string(raw.Error.Detail)+raw.Progress.Note+raw.History[1].Text, "hunter2") {
				t.Errorf("stored %+v %+v %+v, %v, want nothing in the clear", raw.Error, raw.Progress, raw.History, err)
			}
		}
	})
}

func TestARingThatIsNilIsRefused(t *testing.T) { // PH-005
	t.Parallel()
	var none *seal.Ring
	if _, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Sealer: none}); !errors.Is(err, kernel.ErrInvalid) {
		t.Errorf("New with a nil ring = %v, want ErrInvalid", err)
	}
}
