package job_test

import (
	"context"
	"errors"
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

func noop(context.Context, string) (string, error) { return "", nil }

func sure[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestAScheduleStartsItsJobAndIsDeclaredOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		report := job.Define("report", noop, job.Config{})
		k := kerneltest.New(t, mem, kernel.Config{})
		report.Serve(k)
		kerneltest.Run(t, k)
		when := job.Cron("*/10 * * * *", "Europe/Berlin")
		first := sure(report.Schedule(t.Context(), k, "reports", when, "daily", job.Options{Lane: "a"}))(t)
		again := sure(report.Schedule(t.Context(), k, "reports", when, "daily", job.Options{Lane: "a"}))(t)
		if again.Version != first.Version {
			t.Errorf("the same declaration made version %d of %d", again.Version, first.Version)
		}
		if err := k.PauseSchedule(t.Context(), "reports"); err != nil {
			t.Fatal(err)
		}
		changed := sure(report.Schedule(t.Context(), k, "reports", job.Every(time.Minute), "daily", job.Options{Lane: "a"}))(t)
		if changed.Rule != "every 1m0s" || !changed.Paused {
			t.Errorf("another declaration = %+v, want it stored, and the pause kept", changed)
		}
		if err := k.ResumeSchedule(t.Context(), "reports"); err != nil {
			t.Fatal(err)
		}
		<-time.After(10*time.Minute + time.Second)
		tasks := kerneltest.Tasks(t, k, "job.report")
		if len(tasks) != 10 || tasks[0].Lane != "a" || tasks[0].Labels[kernel.ScheduleLabel] != "reports" {
			t.Errorf("%d jobs in ten minutes, want 10 as they were asked for", len(tasks))
		}
	})
}

func TestABadScheduleIsRefusedWhenItIsDefined(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	j := job.Define("j", noop, job.Config{})
	for _, c := range []struct {
		when job.When
		want string
	}{
		{job.Cron("0 0 30 2 *", ""), "never comes"},
		{job.Cron("0 0 * * *", "Europe/Atlantis"), "zone"},
		{job.Cron("every now and then", ""), "at least 1s"},
		{job.Every(time.Millisecond), "at least 1s"},
		{job.At(time.Unix(0, 0)), "no tick"},
		{job.When{Rule: "@daily", Overlap: "maybe"}, "Overlap"},
		{job.When{Rule: "@daily", CatchUp: "some"}, "CatchUp"},
		{job.When{Rule: "@daily", Jitter: -1}, "Jitter"},
	} {
		_, err := j.Schedule(t.Context(), k, "s", c.when, "", job.Options{})
		if !errors.Is(err, kernel.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Schedule(%+v) = %v, want ErrInvalid about %q", c.when, err, c.want)
		}
	}
	if _, err := k.Schedule(t.Context(), "s"); !errors.Is(err, kernel.ErrNotFound) {
		t.Errorf("Schedule = %v, want nothing stored", err)
	}
}

func TestAQueuedOverlapRunsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most, ran := 0, 0, 0
		slow := job.Define("slow", func(ctx context.Context, _ string) (string, error) {
			mu.Lock()
			running, ran = running+1, ran+1
			most = max(most, running)
			mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(90 * time.Second):
			}
			mu.Lock()
			running--
			mu.Unlock()
			return "", ctx.Err()
		}, job.Config{})
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		slow.Serve(k)
		kerneltest.Run(t, k)
		when := job.Every(time.Minute)
		when.Overlap = job.OverlapQueue
		sure(slow.Schedule(t.Context(), k, "s", when, "", job.Options{}))(t)
		<-time.After(10*time.Minute + time.Second)
		if err := k.DeleteSchedule(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if most != 1 || ran != 10 {
			t.Errorf("%d at once, %d in all; want 1 and 10", most, ran)
		}
	})
}

func TestBoundsInTheConfigAreDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		var mu sync.Mutex
		start := func(st store.Store, running int, heard *[]error) *kernel.Kernel {
			j := job.Define("bound", noop, job.Config{Running: running, Rates: []kernel.Rate{{N: 5, Per: time.Second}, {N: 100, Per: time.Hour}}})
			k := kerneltest.New(t, st, kernel.Config{Observe: func(e kernel.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == kernel.LimitDiffers {
					*heard = append(*heard, e.Err)
				}
			}})
			j.Serve(k)
			kerneltest.Run(t, k)
			return k
		}
		stands := func(k *kernel.Kernel) store.LimitStatus {
			<-time.After(11 * time.Second)
			mu.Lock()
			defer mu.Unlock()
			list, err := k.Limits(t.Context(), "job.bound")
			if err != nil || len(list) != 1 {
				t.Fatalf("Limits = %v, %v", list, err)
			}
			return list[0]
		}
		var first, second []error
		a := start(mem, 3, &first)
		if l := stands(a); l.Running != 3 || len(l.Rates) != 2 || !l.Declared || len(first) != 0 {
			t.Fatalf("limit = %+v, heard %v", l, first)
		}
		b := start(mem.Process(), 7, &second)
		if l := stands(b); l.Running != 7 || len(first) != 1 || len(second) != 1 {
			t.Errorf("limit = %+v, want the later program's; heard %v and %v, want one each", l, first, second)
		}
		if _, err := a.PutLimit(t.Context(), kernel.Limit{Key: "job.bound", Running: 1}); err != nil {
			t.Fatal(err)
		}
		if l := stands(b); l.Running != 1 || l.Declared || len(first) != 2 || len(second) != 2 {
			t.Errorf("limit = %+v, want what was set at run time; heard %v and %v", l, first, second)
		}
	})
}

func TestABoundBelowOneIsAMistake(t *testing.T) {
	t.Parallel()
	for _, cfg := range []job.Config{{Running: -1}, {Rates: []kernel.Rate{{N: 0, Per: time.Second}}}, {Rates: []kernel.Rate{{N: 1}}}} {
		func() {
			defer func() {
				if p := recover(); p == nil {
					t.Errorf("Define(%+v) did not panic", cfg)
				}
			}()
			job.Define("bad", noop, cfg)
		}()
	}
}

func TestKeysThrottleDebounceKeepTheLastAndTellSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		var mu sync.Mutex
		var ran []string
		j := job.Define("j", func(_ context.Context, in string) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, in)
			return in, nil
		}, job.Config{})
		j.Serve(k)
		kerneltest.Run(t, k)
		go1 := func(in string, opts job.Options) *job.Handle[string] {
			return sure(j.Start(t.Context(), k, in, opts))(t)
		}

		first := go1("throttled 1", job.Options{Key: "t", KeyFor: time.Minute})
		if h := go1("throttled 2", job.Options{Key: "t", KeyFor: time.Minute}); !h.Existed() || h.ID() != first.ID() {
			t.Errorf("a throttled start was not told which stands")
		}
		d1 := go1("debounced 1", job.Options{Key: "d", Delay: 5 * time.Second, OnConflict: job.Replace})
		<-time.After(4 * time.Second)
		d2 := go1("debounced 2", job.Options{Key: "d", Delay: 5 * time.Second, OnConflict: job.Replace})
		if d2.Replaced() != d1.ID() || d2.Existed() {
			t.Errorf("Replaced = %v, want %v", d2.Replaced(), d1.ID())
		}
		if _, err := d1.Wait(t.Context()); !errors.Is(err, job.ErrCancelled) {
			t.Errorf("the first of the debounced = %v, want it cancelled", err)
		}
		p1 := go1("daily 1", job.Options{Key: "p", Period: 48 * time.Hour})
		<-time.After(25 * time.Hour)
		if h := go1("daily 2", job.Options{Key: "p", Period: 48 * time.Hour}); !h.Existed() || h.ID() != p1.ID() {
			t.Errorf("a second start in the period was not told which stands")
		}
		<-time.After(24 * time.Hour)
		if h := go1("daily 3", job.Options{Key: "p", Period: 48 * time.Hour}); h.Existed() {
			t.Errorf("a start after the period was kept out")
		}
		kerneltest.Drain(t, k)
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(ran, ", "); got != "throttled 1, daily 1, debounced 2, daily 3" && got != "throttled 1, debounced 2, daily 1, daily 3" {
			t.Errorf("ran %s", got)
		}
	})
}
