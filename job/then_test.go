package job_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
)

func TestThenStartsIfAndOnlyIfTheRunEndsWell(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(0, job.Config{})
		var late context.Context
		j := job.Define("first", func(ctx context.Context, in string) (struct{}, error) {
			late = ctx
			r := job.From(ctx)
			if err := job.Then(ctx, d.Job, fmt.Sprint(in, r.Attempt()), job.Options{Delay: time.Minute}); err != nil {
				return struct{}{}, err
			}
			if r.Attempt() == 1 {
				return struct{}{}, errors.New("again")
			}
			return struct{}{}, nil
		}, job.Config{Retry: kernel.Retry{Max: 2}})
		k := start(t, j, d)
		if _, err := must(t, k, j, "x", job.Options{Correlation: "c"}).Wait(t.Context()); err != nil {
			t.Fatalf("Wait = %v", err)
		}
		tasks := kerneltest.Submitted(t, k, "job.diary")
		if len(tasks) != 1 || tasks[0].Correlation != "c" {
			t.Errorf("%d follow-ups, correlation %q; want one, of the run that ended well", len(tasks), tasks[0].Correlation)
		}
		kerneltest.Drain(t, k)
		if got := d.read(); got != "x2" {
			t.Errorf("ran %q, want x2", got)
		}
		if err := job.Then(late, d.Job, "late", job.Options{}); !errors.Is(err, job.ErrNoRun) {
			t.Errorf("Then after the run = %v, want ErrNoRun", err)
		}
	})
}

func TestThenRefusesWhatWouldFailTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(0, job.Config{})
		j := job.Define("first", func(ctx context.Context, _ int) (string, error) {
			if err := job.Then(ctx, d.Job, "", job.Options{Lane: "\n"}); !errors.Is(err, kernel.ErrInvalid) {
				return "", fmt.Errorf("Then with a bad lane = %w, want ErrInvalid", err)
			}
			for i := range kernel.FollowLimit {
				if err := job.Then(ctx, d.Job, "", job.Options{Delay: time.Minute}); err != nil {
					return "", fmt.Errorf("Then %d = %w", i, err)
				}
			}
			err := job.Then(ctx, d.Job, "", job.Options{})
			return fmt.Sprint(err), nil
		}, job.Config{Retry: kernel.Retry{Max: 1}})
		k := start(t, j, d)
		if out, err := must(t, k, j, 0, job.Options{}).Wait(t.Context()); err != nil || !strings.Contains(out, "at most 1000") {
			t.Errorf("Wait = %q, %v; want one too many to be refused", out, err)
		}
		if n := len(kerneltest.Tasks(t, k, "job.diary")); n != kernel.FollowLimit {
			t.Errorf("%d follow-ups, want %d", n, kernel.FollowLimit)
		}
	})
}
