package job_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

func TestAnInputThatDoesNotDecodeFailsTheJobVisibly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type old struct {
			ID, Plan string
			Count    float64
			At       string
			More     int
		}
		type later struct {
			ID    string
			Count int
			At    time.Time
		}
		ran := 0
		j := job.Define("j", func(context.Context, later) (string, error) { ran++; return "ran", nil }, job.Config{})
		before := job.Define("j", func(context.Context, old) (string, error) { return "", nil }, job.Config{})
		k := start(t, j)
		for _, c := range []struct {
			in   old
			want string // empty: it runs
		}{
			{old{ID: "a", Plan: "gone", Count: 3, At: "2026-01-02T03:04:05Z", More: 1}, ""},
			{old{Count: 1234.5, At: "2026-01-02T03:04:05Z"}, "Count is a JSON number and the program has int"},
			{old{Count: 1, At: "yesterday"}, "yesterday"},
		} {
			h := must(t, k, before, c.in, job.Options{})
			if c.want == "" {
				if out, err := h.Wait(t.Context()); err != nil || out != "ran" {
					t.Errorf("Wait = %q, %v; want unknown fields to be ignored", out, err)
				}
				continue
			}
			e := failure(t, h)
			if e.Type != "decode" || e.Reason != "permanent" || e.Attempts != 1 || !strings.Contains(e.Message, c.want) || strings.Contains(e.Message, "1234") {
				t.Errorf("error = %+v, want decode with %q and no value", e, c.want)
			}
		}
		sent, err := k.Submit(t.Context(), kernel.Spec{Kind: "job.j", Args: []byte("<xml>")})
		if e := failure(t, j.Handle(k, sent.ID)); err != nil || e.Type != "decode" || !strings.Contains(e.Message, "not JSON") || ran != 1 {
			t.Errorf("error = %+v, %v after %d runs; want decode, and the function not called", e, err, ran)
		}
	})
}

func TestAResultThatDoesNotEncodeFailsTheJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		j := job.Define("j", func(ctx context.Context, _ int) (outer, error) {
			runs++
			return outer{Any: make(chan int)}, nil
		}, job.Config{})
		text := job.Define("text", func(context.Context, int) (string, error) { return "words", nil }, job.Config{})
		number := job.Define("text", func(context.Context, int) (int, error) { return 0, nil }, job.Config{})
		k := start(t, j, text)
		if e := failure(t, must(t, k, j, 0, job.Options{})); e.Type != "encode" || e.Reason != "permanent" || !strings.Contains(e.Message, "at Any") || runs != 1 {
			t.Errorf("error = %+v after %d runs, want encode after one", e, runs)
		}
		if _, err := must(t, k, number, 0, job.Options{}).Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "is done; its result does not decode") {
			t.Errorf("Wait for a result of another type = %v, want it to say so", err)
		}
	})
}

// plainSealer seals by a mark alone: the tests look at what is told of sealed tasks.
type plainSealer struct{}

func (plainSealer) Seal(_ string, plain []byte) ([]byte, error) {
	return append([]byte("s"), plain...), nil
}
func (plainSealer) Open(_ string, text []byte) ([]byte, error) { return text[1:], nil }

func TestAnErrorTellsNothingOfASealedInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := job.Define("j", func(context.Context, time.Time) (int, error) { return 0, nil }, job.Config{})
		before := job.Define("j", func(context.Context, string) (int, error) { return 0, nil }, job.Config{})
		k := startOn(t, memory.New(memory.Config{}), kernel.Config{Sealer: plainSealer{}}, j)
		if e := failure(t, must(t, k, before, "hunter2", job.Options{})); e.Type != "decode" || strings.Contains(e.Message, "hunter2") {
			t.Errorf("error = %+v, want decode without the input", e)
		}
	})
}
