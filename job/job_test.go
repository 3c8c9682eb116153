package job_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

type server interface{ Serve(k *kernel.Kernel) }

// start runs a kernel on an empty memory store that serves the jobs, until the test ends.
func start(t *testing.T, jobs ...server) *kernel.Kernel {
	t.Helper()
	return startOn(t, memory.New(memory.Config{}), kernel.Config{}, jobs...)
}

// startOn is start on a given store. Its process may be made to crash, so what Run returns does not matter.
func startOn(t *testing.T, st store.Store, cfg kernel.Config, jobs ...server) *kernel.Kernel {
	t.Helper()
	k := kerneltest.New(t, st, cfg)
	for _, j := range jobs {
		j.Serve(k)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = k.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		k.Halt()
		k.Close()
		group.Wait()
	})
	// What happens before the kernel listens is heard of a beat later: let tests of times begin when it does.
	if _, err := k.Wait(t.Context(), k.NewID()); !errors.Is(err, kernel.ErrNotFound) {
		t.Fatalf("Wait for nothing = %v, want ErrNotFound", err)
	}
	synctest.Wait()
	return k
}

// must starts a job and fails the test if that fails.
func must[In, Out any](t *testing.T, k *kernel.Kernel, j *job.Job[In, Out], in In, opts job.Options) *job.Handle[Out] {
	t.Helper()
	h, err := j.Start(t.Context(), k, in, opts)
	if err != nil {
		t.Fatalf("Start = %v", err)
	}
	return h
}

// status reads the status of a job and fails the test if that fails.
func status[Out any](t *testing.T, h *job.Handle[Out]) job.Status {
	t.Helper()
	s, err := h.Status(t.Context())
	if err != nil {
		t.Fatalf("Status = %v", err)
	}
	return s
}

// failure waits for a job that is to end badly.
func failure[Out any](t *testing.T, h *job.Handle[Out]) *job.Error {
	t.Helper()
	out, err := h.Wait(t.Context())
	var e *job.Error
	if !errors.As(err, &e) {
		t.Fatalf("Wait = %v, %v; want a *job.Error", out, err)
	}
	return e
}

// pass lets virtual time pass.
func pass(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// sleep is a job that runs for as long as it is told, or until its context ends.
func sleep(cfg job.Config) *job.Job[time.Duration, string] {
	return job.Define("sleep", func(ctx context.Context, d time.Duration) (string, error) {
		pass(ctx, d)
		return "slept", context.Cause(ctx)
	}, cfg)
}

// fail is a job that fails with the text it is given.
func fail(cfg job.Config) *job.Job[string, struct{}] {
	return job.Define("fail", func(_ context.Context, text string) (struct{}, error) {
		return struct{}{}, errors.New(text)
	}, cfg)
}

type user struct {
	ID   int
	Name string
}

type receipt struct {
	To string
	At time.Time
}

func TestAJobTakesItsInputAndGivesItsResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		welcome := job.Define("welcome", func(_ context.Context, in user) (receipt, error) {
			return receipt{To: fmt.Sprint(in.Name, in.ID), At: time.Now()}, nil
		}, job.Config{})
		k := start(t, welcome)
		begin := time.Now()
		h := must(t, k, welcome, user{7, "ann"}, job.Options{})
		got, err := h.Wait(t.Context())
		if err != nil || got.To != "ann7" || !got.At.Equal(begin) {
			t.Errorf("Wait = %+v, %v; want ann7 at %v", got, err, begin)
		}
		task, err := k.Get(t.Context(), h.ID())
		if err != nil || task.Kind != "job.welcome" || string(task.Args) != `{"ID":7,"Name":"ann"}` || h.Existed() {
			t.Errorf("task = %s %s, %v, existed %v; want job.welcome with JSON, new", task.Kind, task.Args, err, h.Existed())
		}
		again, err := welcome.Handle(k, h.ID()).Wait(t.Context())
		if err != nil || again.To != "ann7" {
			t.Errorf("Wait of a handle by id = %+v, %v; want the same", again, err)
		}
	})
}

func TestNothingIsAnInputAndAResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		nothing := job.Define("nothing", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }, job.Config{})
		pointer := job.Define("pointer", func(_ context.Context, in *user) (*user, error) { return in, nil }, job.Config{})
		k := start(t, nothing, pointer)
		if _, err := must(t, k, nothing, struct{}{}, job.Options{}).Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v, want nil", err)
		}
		if out, err := must(t, k, pointer, nil, job.Options{}).Wait(t.Context()); err != nil || out != nil {
			t.Errorf("Wait = %v, %v; want nil, nil", out, err)
		}
	})
}

func TestDefineRefusesWhatNoJobCanHave(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil }
	for _, c := range []struct {
		name string
		fn   func(context.Context, struct{}) (struct{}, error)
		cfg  job.Config
		want string
	}{
		{"", fn, job.Config{}, "name is empty"},
		{"two words", fn, job.Config{}, "use ASCII letters"},
		{strings.Repeat("x", 200), fn, job.Config{}, "at most 200"},
		{"x", nil, job.Config{}, "function is nil"},
		{"x", fn, job.Config{Queue: "a b"}, "Queue"},
		{"x", fn, job.Config{Limit: "\x00"}, "Limit"},
		{"x", fn, job.Config{StartBy: -1}, "StartBy"},
		{"x", fn, job.Config{Order: "sideways"}, "Order"},
		{"x", fn, job.Config{Retry: kernel.Retry{Base: -1}}, "Retry.Base"},
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, "job.Define") || !strings.Contains(p, c.want) {
					t.Errorf("Define(%.20q, %+v) panicked with %q, want job.Define and %q", c.name, c.cfg, p, c.want)
				}
			}()
			job.Define(c.name, c.fn, c.cfg)
		}()
	}
	job.Define("mail/welcome:v2.x_y-z", fn, job.Config{Timeout: job.NoTimeout, Retention: job.Forget})
}
