package job_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

func TestARunKnowsWhereItStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		keys := map[string]int{}
		j := job.Define("j", func(ctx context.Context, _ struct{}) (string, error) {
			r := job.From(ctx)
			keys[r.Key()]++
			r.Logger().Info("here")
			if r.Attempt() < 3 {
				return "", errors.New("again")
			}
			return fmt.Sprintf("%d %d %d %s %q", r.Attempt(), r.MaxAttempts(), r.Crashes(), r.Task().Labels["a"], r.Asked()), nil
		}, job.Config{Retry: kernel.Retry{Max: 7}})
		k := startOn(t, memory.New(memory.Config{}), kernel.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, j)
		h := must(t, k, j, struct{}{}, job.Options{Labels: map[string]string{"a": "x"}})
		if out, err := h.Wait(t.Context()); err != nil || out != `3 7 0 x ""` {
			t.Errorf("Wait = %q, %v; want 3 7 0 x and nothing", out, err)
		}
		if len(keys) != 1 || keys[h.ID().String()] != 3 {
			t.Errorf("keys = %v, want one on all three attempts", keys)
		}
		if want := "msg=here task=" + h.ID().String() + " kind=job.j queue=default attempt=2"; !strings.Contains(log.String(), want) {
			t.Errorf("the log does not contain %q:\n%s", want, &log)
		}
	})
}

func TestOutsideARunNothingBreaks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	r := job.From(ctx)
	r.Progress(1, 2, "")
	r.Logger().Debug("nothing")
	if r != nil || r.Attempt() != 1 || r.MaxAttempts() != 1 || r.Crashes() != 0 || r.Key() != "" || r.Asked() != "" || !r.ID().IsZero() {
		t.Error("a run outside of one is not as nothing")
	}
	if err := r.Save(ctx, "a", 1); !errors.Is(err, job.ErrNoRun) {
		t.Errorf("Save = %v, want ErrNoRun", err)
	}
	if found, err := r.Load(ctx, "a", new(int)); found || err != nil {
		t.Errorf("Load = %v, %v; want nothing", found, err)
	}
	if err := job.Then(ctx, sleep(job.Config{}), 0, job.Options{}); !errors.Is(err, job.ErrNoRun) {
		t.Errorf("Then = %v, want ErrNoRun", err)
	}
}

func TestSnoozeIsNoAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		j := job.Define("poll", func(ctx context.Context, _ struct{}) (int, error) {
			if runs++; runs < 4 {
				return 0, fmt.Errorf("not there yet: %w", job.Snooze(time.Minute))
			}
			return job.From(ctx).Attempt(), nil
		}, job.Config{Retry: kernel.Retry{Max: 1}})
		k := start(t, j)
		begin := time.Now()
		h := must(t, k, j, struct{}{}, job.Options{})
		synctest.Wait()
		if s := status(t, h); s.State != job.Scheduled || s.Attempts != 0 || s.Error != "" {
			t.Errorf("Status = %+v, want scheduled, no attempt, no error", s)
		}
		out, err := h.Wait(t.Context())
		if took := time.Since(begin); err != nil || out != 1 || runs != 4 || took < 3*time.Minute || took > 3*time.Minute+time.Second {
			t.Errorf("Wait = %d, %v after %d runs and %v; want 1 after 4 and 3 minutes", out, err, runs, took)
		}
	})
}

func TestErrorsSayHowToGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := job.Define("err", func(ctx context.Context, in string) (string, error) {
			switch err := errors.New("no"); {
			case in == "permanent":
				return "", fmt.Errorf("wrapped: %w", job.Permanent(kernel.Typed("gone", err)))
			case in == "panic":
				panic("oh")
			case job.From(ctx).Attempt() == 1:
				return "", job.RetryAfter(time.Hour, err)
			}
			return in, errors.Join(job.Permanent(nil), job.RetryAfter(time.Second, nil))
		}, job.Config{Retry: kernel.Retry{Max: 2}})
		k := start(t, j)
		h := must(t, k, j, "permanent", job.Options{})
		e := failure(t, h)
		want := job.Error{Job: "err", ID: h.ID(), State: job.Failed, Reason: "permanent", Message: "wrapped: no", Type: "gone", Attempts: 1}
		if *e != want || !errors.Is(e, job.ErrFailed) || errors.Is(e, job.ErrCancelled) {
			t.Errorf("error = %+v, want %+v, ErrFailed", *e, want)
		}
		if got := e.Error(); got != "job err (task "+h.ID().String()+") failed (permanent) after 1 failed attempts: wrapped: no" {
			t.Errorf("text = %q", got)
		}
		if s := status(t, h); s.State != job.Failed || s.Error != "wrapped: no" || s.ErrorType != "gone" || s.Attempts != 1 || s.MaxAttempts != 2 || s.EndedAt.IsZero() {
			t.Errorf("Status = %+v, want the same", s)
		}
		if e := failure(t, must(t, k, j, "panic", job.Options{})); e.Type != "panic" || e.Message != "panic: oh" || e.Attempts != 2 {
			t.Errorf("error = %+v, want a panic after 2 attempts", e)
		}
		begin := time.Now()
		if out, err := must(t, k, j, "after", job.Options{}).Wait(t.Context()); err != nil || out != "after" || time.Since(begin) < time.Hour {
			t.Errorf("Wait = %q, %v after %v; want an hour", out, err, time.Since(begin))
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		k := start(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := must(t, k, s, time.Hour, job.Options{}).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "job sleep") {
			t.Errorf("Wait = %v, want DeadlineExceeded that names the job", err)
		}
	})
}

func TestCancelEndsWhatWaitsAndAsksWhatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		deaf := job.Define("deaf", func(ctx context.Context, _ int) (string, error) {
			<-ctx.Done()
			return job.From(ctx).Asked() + "? done all the same", nil
		}, job.Config{})
		k := start(t, s, deaf)
		waits, runs := must(t, k, s, 0, job.Options{Delay: time.Hour}), must(t, k, s, time.Hour, job.Options{})
		wins := must(t, k, deaf, 0, job.Options{})
		pass(t.Context(), 10*time.Second)
		begin := time.Now()
		err := errors.Join(waits.Cancel(t.Context(), "enough"), runs.Cancel(t.Context(), ""), wins.Cancel(t.Context(), "stop"))
		if err != nil {
			t.Fatalf("Cancel = %v", err)
		}
		if st := status(t, waits); st.State != job.Cancelled || st.Reason != "enough" {
			t.Errorf("Status = %+v, want cancelled at once, enough", st)
		}
		if e := failure(t, runs); !errors.Is(e, job.ErrCancelled) || e.Reason != "cancelled" {
			t.Errorf("error = %+v, want cancelled", e)
		}
		if out, err := wins.Wait(t.Context()); err != nil || out != "stop? done all the same" {
			t.Errorf("Wait = %q, %v; want done all the same", out, err)
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %v, want at most a second", took)
		}
		if err := wins.Cancel(t.Context(), "late"); err != nil || status(t, wins).State != job.Done {
			t.Errorf("Cancel of a done job = %v, %s; want it left done", err, status(t, wins).State)
		}
	})
}

// I3: what was saved before the process died is there for the next run; the crash spends no attempt.
func TestWhatWasSavedOutlastsACrash(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type cursor struct{ Row int }
		first := memory.New(memory.Config{})
		var keys []string
		j := job.Define("rows", func(ctx context.Context, rows int) (string, error) {
			r, c := job.From(ctx), cursor{}
			keys = append(keys, r.Key())
			found, err := r.Load(ctx, "cursor", &c)
			if err != nil {
				return "", err
			}
			from := c.Row
			for c.Row < rows {
				if c.Row++; c.Row == 5 && r.Crashes() == 0 {
					first.Crash()
				}
				if err := r.Save(ctx, "cursor", c); err != nil {
					return "", err
				}
			}
			return fmt.Sprintf("found %v, rows %d to %d, attempt %d, crashes %d", found, from, c.Row, r.Attempt(), r.Crashes()), nil
		}, job.Config{})
		client := kerneltest.New(t, first.Process(), kernel.Config{})
		h := must(t, client, j, 10, job.Options{})
		startOn(t, first, kernel.Config{}, j)
		pass(t.Context(), time.Second)
		startOn(t, first.Process(), kernel.Config{}, j)
		out, err := h.Wait(t.Context())
		if err != nil || out != "found true, rows 4 to 10, attempt 1, crashes 1" {
			t.Errorf("Wait = %q, %v; want it to go on at row 4", out, err)
		}
		if len(keys) != 2 || keys[0] != keys[1] {
			t.Errorf("keys = %v, want the same twice", keys)
		}
		if s := status(t, h); s.Crashes != 1 || s.Attempts != 0 {
			t.Errorf("Status = %+v, want a crash and no attempt", s)
		}
	})
}

func TestSavedValuesAreReplacedRemovedAndChecked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := job.Define("save", func(ctx context.Context, _ struct{}) (struct{}, error) {
			r, n := job.From(ctx), 0
			if err := errors.Join(r.Save(ctx, "a", 1), r.Save(ctx, "a", 2)); err != nil {
				return struct{}{}, err
			}
			if found, err := r.Load(ctx, "a", &n); !found || err != nil || n != 2 {
				return struct{}{}, fmt.Errorf("Load = %v, %w, %d; want 2", found, err, n)
			}
			found, err := r.Load(ctx, "a", new(struct{}))
			if !found || err == nil || !strings.Contains(err.Error(), "load a: the value does not decode: it is a JSON number") {
				return struct{}{}, fmt.Errorf("Load into another type = %v, %w", found, err)
			}
			if err := r.Save(ctx, "bad", make(chan int)); !errors.Is(err, kernel.ErrInvalid) {
				return struct{}{}, fmt.Errorf("Save of a channel = %w, want ErrInvalid", err)
			}
			if err := r.Save(ctx, "a", nil); err != nil {
				return struct{}{}, err
			}
			if found, err := r.Load(ctx, "a", &n); found || err != nil || n != 2 {
				return struct{}{}, fmt.Errorf("Load of what was removed = %v, %w, %d; want nothing", found, err, n)
			}
			return struct{}{}, nil
		}, job.Config{Retry: kernel.Retry{Max: 1}})
		k := start(t, j)
		if _, err := must(t, k, j, struct{}{}, job.Options{}).Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestProgressIsSeenWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := job.Define("long", func(ctx context.Context, _ struct{}) (struct{}, error) {
			job.From(ctx).Progress(3, 10, "third")
			pass(ctx, 10*time.Second)
			return struct{}{}, nil
		}, job.Config{})
		k := start(t, j)
		begin := time.Now()
		h := must(t, k, j, struct{}{}, job.Options{})
		pass(t.Context(), 2*time.Second)
		s := status(t, h)
		if s.State != job.Running || s.Progress.Done != 3 || s.Progress.Total != 10 || s.Progress.Note != "third" {
			t.Errorf("Status = %+v, want running, 3 of 10", s)
		}
		if !s.CreatedAt.Equal(begin) || s.StartedAt.Before(begin) || !s.EndedAt.IsZero() {
			t.Errorf("times = %v, %v, %v; want created, started, not ended", s.CreatedAt, s.StartedAt, s.EndedAt)
		}
	})
}
