package job_test

import (
	"context"
	"errors"
	"slices"
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

// diary is a job that writes down its inputs in the order of their runs, and when.
type diary struct {
	*job.Job[string, struct{}]
	mu    sync.Mutex
	lines []string
	times []time.Time
	most  int // at once
	now   int
}

func newDiary(takes time.Duration, cfg job.Config) *diary {
	d := &diary{}
	d.Job = job.Define("diary", func(ctx context.Context, line string) (struct{}, error) {
		d.mu.Lock()
		d.lines, d.times, d.now = append(d.lines, line), append(d.times, time.Now()), d.now+1
		d.most = max(d.most, d.now)
		d.mu.Unlock()
		pass(ctx, takes)
		d.mu.Lock()
		d.now--
		d.mu.Unlock()
		if strings.HasPrefix(line, "bad") {
			return struct{}{}, job.Permanent(errors.New(line))
		}
		return struct{}{}, nil
	}, cfg)
	return d
}

func (d *diary) read() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, " ")
}

func TestDelayAndAtLetAJobWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(0, job.Config{})
		k := start(t, d)
		begin := time.Now()
		must(t, k, d.Job, "at", job.Options{At: begin.Add(3 * time.Hour)})
		must(t, k, d.Job, "later", job.Options{At: begin.Add(time.Hour), Delay: 2 * time.Hour})
		h := must(t, k, d.Job, "delay", job.Options{Delay: time.Hour})
		must(t, k, d.Job, "past", job.Options{At: begin.Add(-time.Hour)})
		if s := status(t, h); s.State != job.Scheduled || !s.DueAt.Equal(begin.Add(time.Hour)) {
			t.Errorf("Status = %+v, want scheduled, due in an hour", s)
		}
		kerneltest.Drain(t, k)
		if got := d.read(); got != "past delay later at" {
			t.Errorf("ran %q, want past delay later at", got)
		}
		for i, want := range []time.Duration{0, time.Hour, 2 * time.Hour, 3 * time.Hour} {
			if got := d.times[i].Sub(begin); got < want || got > want+time.Second {
				t.Errorf("%s ran after %v, want %v", d.lines[i], got, want)
			}
		}
	})
}

func TestPriorityGoesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(time.Second, job.Config{Priority: 5})
		st := memory.New(memory.Config{})
		client := kerneltest.New(t, st.Process(), kernel.Config{})
		must(t, client, d.Job, "low", job.Options{Priority: 1})
		must(t, client, d.Job, "own", job.Options{})
		must(t, client, d.Job, "high", job.Options{Priority: 9})
		startOn(t, st, kernel.Config{Slots: map[string]int{"default": 1}}, d)
		kerneltest.Drain(t, client)
		if got := d.read(); got != "high own low" {
			t.Errorf("ran %q, want high own low", got)
		}
	})
}

func TestAQueueIsServedByThoseWhoNameIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(0, job.Config{Queue: "mail"})
		st := memory.New(memory.Config{})
		k := startOn(t, st, kernel.Config{}, d)
		h := must(t, k, d.Job, "letter", job.Options{})
		pass(t.Context(), time.Minute)
		if s := status(t, h); s.State != job.Ready {
			t.Errorf("State = %s where no process serves the queue, want ready", s.State)
		}
		startOn(t, st.Process(), kernel.Config{Slots: map[string]int{"mail": 1}}, d)
		if _, err := h.Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v, want nil", err)
		}
	})
}

func TestRetrySaysHowOftenAndHowSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		exact := kernel.Retry{Max: 3, Base: time.Minute, Exact: true}
		f := fail(job.Config{Retry: exact})
		k := start(t, f)
		begin := time.Now()
		if e := failure(t, must(t, k, f, "no", job.Options{})); e.Attempts != 3 || e.Reason != "attempts" || e.Message != "no" {
			t.Errorf("error = %+v, want 3 attempts", e)
		}
		if took := time.Since(begin); took < 3*time.Minute || took > 3*time.Minute+time.Second {
			t.Errorf("took %v, want 1 + 2 minutes", took)
		}
		if e := failure(t, must(t, k, f, "no", job.Options{Retry: kernel.Retry{Max: 1}})); e.Attempts != 1 {
			t.Errorf("%d attempts, want the start's own 1", e.Attempts)
		}
		begin = time.Now()
		failure(t, must(t, k, f, "no", job.Options{Retry: kernel.Retry{Max: 4, Exact: true}}))
		if took := time.Since(begin); took < 7*time.Second || took > 8*time.Second {
			t.Errorf("with Max alone it took %v, want 1 + 2 + 4 seconds", took)
		}
		h := must(t, k, f, "no", job.Options{Retry: kernel.Retry{Base: 20 * time.Minute, Exact: true}, Delay: time.Hour})
		task, err := k.Get(t.Context(), h.ID())
		if r := task.Retry; err != nil || r.Max != 25 || r.Cap != 20*time.Minute {
			t.Errorf("Retry = %+v, %v; want 25 attempts, capped at no less than Base", r, err)
		}
	})
}

func TestAnAttemptEndsWithItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{Timeout: time.Minute, Retry: kernel.Retry{Max: 1}})
		k := start(t, s)
		begin := time.Now()
		if e := failure(t, must(t, k, s, time.Hour, job.Options{})); e.Type != "timeout" || time.Since(begin) > 2*time.Minute {
			t.Errorf("error = %+v after %v, want a timeout after a minute", e, time.Since(begin))
		}
		for _, timeout := range []time.Duration{2 * time.Hour, job.NoTimeout} {
			if out, err := must(t, k, s, time.Hour, job.Options{Timeout: timeout}).Wait(t.Context()); err != nil || out != "slept" {
				t.Errorf("with timeout %v Wait = %v, %v; want slept", timeout, out, err)
			}
		}
	})
}

func TestAJobThatIsNotStartedInTimeExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{StartBy: time.Minute})
		k := startOn(t, memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"default": 1}}, s)
		must(t, k, s, 10*time.Minute, job.Options{})
		synctest.Wait()
		begin := time.Now()
		late, patient := must(t, k, s, 0, job.Options{}), must(t, k, s, 0, job.Options{StartBy: time.Hour})
		e := failure(t, late)
		if e.State != job.Cancelled || e.Reason != "expired" || !errors.Is(e, job.ErrCancelled) {
			t.Errorf("error = %+v, want cancelled, expired", e)
		}
		if took := time.Since(begin); took > 65*time.Second {
			t.Errorf("expired after %v, want a minute", took)
		}
		if _, err := patient.Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v, want nil: it had an hour", err)
		}
	})
}

func TestRetentionSaysHowLongTheResultIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{Retention: time.Hour})
		quiet := job.Define("quiet", func(context.Context, int) (struct{}, error) { return struct{}{}, nil }, job.Config{Retention: job.Forget})
		slow := kernel.Config{Beat: time.Minute, DeadAfter: 10 * time.Minute, RecoverEvery: time.Minute} // days pass sooner
		k := startOn(t, memory.New(memory.Config{}), slow, s, quiet)
		hour := must(t, k, s, 0, job.Options{})
		half := must(t, k, s, 0, job.Options{Retention: 12 * time.Hour})
		ever := must(t, k, s, 0, job.Options{Retention: -1})
		forgotten := must(t, k, s, 0, job.Options{Retention: job.Forget})
		silent := must(t, k, quiet, 1, job.Options{})
		kerneltest.Drain(t, k)
		if _, err := forgotten.Wait(t.Context()); !errors.Is(err, job.ErrForgotten) {
			t.Errorf("Wait = %v, want ErrForgotten", err)
		}
		if _, err := silent.Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v, want nil: there is no result to forget", err)
		}
		pass(t.Context(), 30*time.Minute)
		if _, err := hour.Wait(t.Context()); err != nil {
			t.Errorf("after half an hour Wait = %v, want nil", err)
		}
		pass(t.Context(), time.Hour)
		if _, err := hour.Wait(t.Context()); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("after more than an hour Wait = %v, want ErrNotFound", err)
		}
		pass(t.Context(), 8*time.Hour)
		if _, err := half.Wait(t.Context()); err != nil {
			t.Errorf("after nine hours Wait = %v, want nil", err)
		}
		pass(t.Context(), 20*time.Hour)
		if _, err := half.Status(t.Context()); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("after a day Status = %v, want ErrNotFound", err)
		}
		if out, err := ever.Wait(t.Context()); err != nil || out != "slept" {
			t.Errorf("kept for ever: Wait = %q, %v; want slept", out, err)
		}
	})
}

func TestLabelsAreSearchedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		k := start(t, s)
		labels := map[string]string{"tenant": "acme"}
		h := must(t, k, s, 0, job.Options{Labels: labels, Correlation: "request-1"})
		spec, err := s.Spec(0, job.Options{Labels: labels})
		labels["tenant"] = "changed"
		if err != nil || spec.Labels["tenant"] != "acme" {
			t.Errorf("Spec = %v, %v; want labels of its own", spec.Labels, err)
		}
		must(t, k, s, 0, job.Options{Labels: map[string]string{"tenant": "other"}})
		page, err := k.List(t.Context(), store.Filter{Labels: map[string]string{"tenant": "acme"}}, store.PageRequest{Limit: 10})
		if err != nil || len(page.Items) != 1 || page.Items[0].ID != h.ID() || page.Items[0].Correlation != "request-1" {
			t.Errorf("List = %+v, %v; want the one of acme", page.Items, err)
		}
	})
}

func TestALimitHoldsAcrossProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(time.Second, job.Config{Limit: "api"})
		st := memory.New(memory.Config{})
		k := startOn(t, st, kernel.Config{}, d)
		startOn(t, st.Process(), kernel.Config{}, d)
		if _, err := k.PutLimit(t.Context(), kernel.Limit{Key: "api", Running: 2}); err != nil {
			t.Fatalf("PutLimit = %v", err)
		}
		if _, err := k.PutLimit(t.Context(), kernel.Limit{Key: "slow", Running: 1}); err != nil {
			t.Fatalf("PutLimit = %v", err)
		}
		begin := time.Now()
		if _, err := d.StartMany(t.Context(), k, make([]string, 10)); err != nil {
			t.Fatalf("StartMany = %v", err)
		}
		kerneltest.Drain(t, k)
		if took := time.Since(begin); d.most != 2 || took < 5*time.Second {
			t.Errorf("%d at once, %v in all; want 2, 5 s", d.most, took)
		}
		d.most = 0
		if _, err := d.StartMany(t.Context(), k, make([]string, 4), job.Options{Limit: "slow"}); err != nil {
			t.Fatalf("StartMany = %v", err)
		}
		kerneltest.Drain(t, k)
		if d.most != 1 {
			t.Errorf("%d at once under the start's own limit, want 1", d.most)
		}
	})
}

func TestLanesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(time.Second, job.Config{})
		st := memory.New(memory.Config{})
		client := kerneltest.New(t, st.Process(), kernel.Config{})
		for range 20 {
			must(t, client, d.Job, "big", job.Options{Lane: "big"})
		}
		must(t, client, d.Job, "small", job.Options{Lane: "small"})
		startOn(t, st, kernel.Config{Slots: map[string]int{"default": 1}}, d)
		kerneltest.Drain(t, client)
		if at := slices.Index(d.lines, "small"); at > 2 {
			t.Errorf("the small tenant's job was number %d, want one of the first", at+1)
		}
	})
}

func TestAnOrderedLaneRunsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(time.Second, job.Config{Order: job.Skip})
		st := memory.New(memory.Config{})
		k := startOn(t, st, kernel.Config{}, d)
		startOn(t, st.Process(), kernel.Config{}, d)
		inputs := strings.Fields("a b bad c d e f g h i j k l m n o p")
		if _, err := d.StartMany(t.Context(), k, inputs, job.Options{Lane: "acme"}); err != nil {
			t.Fatalf("StartMany = %v", err)
		}
		kerneltest.Drain(t, k)
		if got := d.read(); got != strings.Join(inputs, " ") || d.most != 1 {
			t.Errorf("ran %q, %d at once; want them in order, one at a time", got, d.most)
		}
		d.lines = nil
		all, err := d.StartMany(t.Context(), k, []string{"x", "bad", "y"}, job.Options{Lane: "other", Order: job.Block})
		if err != nil {
			t.Fatalf("StartMany = %v", err)
		}
		pass(t.Context(), time.Minute)
		if s := status(t, all[2].Handle); d.read() != "x bad" || s.State != job.Ready {
			t.Errorf("ran %q, the last is %s; want it to wait behind the one that failed", d.read(), s.State)
		}
		if err := k.Delete(t.Context(), all[1].Handle.ID()); err != nil {
			t.Fatalf("Delete = %v", err)
		}
		if _, err := all[2].Handle.Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v, want nil", err)
		}
	})
}

func TestOnEndComesByWhicheverRoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{Retry: kernel.Retry{Max: 1}})
		seen := make(chan string, 10)
		var after *job.Job[string, struct{}]
		var k *kernel.Kernel
		after = job.Define("after", func(ctx context.Context, in string) (struct{}, error) {
			ended, err := s.Handle(k, job.From(ctx).Task().Parent).Status(ctx)
			seen <- in + " " + string(ended.State)
			return struct{}{}, err
		}, job.Config{})
		k = start(t, s, after)
		next := func(in string) job.Options {
			spec, err := after.Spec(in, job.Options{})
			if err != nil {
				t.Fatalf("Spec = %v", err)
			}
			return job.Options{OnEnd: &spec}
		}
		must(t, k, s, 0, next("a"))
		long := must(t, k, s, time.Hour, next("b"))
		pass(t.Context(), time.Second)
		if err := long.Cancel(t.Context(), "enough"); err != nil {
			t.Fatalf("Cancel = %v", err)
		}
		pass(t.Context(), time.Minute)
		close(seen)
		if got := <-seen + ", " + <-seen; got != "a done, b cancelled" {
			t.Errorf("saw %q, want a done, b cancelled", got)
		}
	})
}
