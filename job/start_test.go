package job_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

func TestAKeyKeepsASecondStartOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		other := job.Define("other", func(context.Context, int) (int, error) { return 0, nil }, job.Config{})
		k := start(t, s, other)
		first := must(t, k, s, time.Minute, job.Options{Key: "k"})
		second := must(t, k, s, time.Hour, job.Options{Key: "k"})
		if second.ID() != first.ID() || !second.Existed() || first.Existed() {
			t.Errorf("second = %s, existed %v; want the first, and to be told", second.ID(), second.Existed())
		}
		if h := must(t, k, other, 1, job.Options{Key: "k"}); h.Existed() {
			t.Error("the key of one job kept another job out")
		}
		if out, err := second.Wait(t.Context()); err != nil || out != "slept" {
			t.Errorf("Wait = %q, %v; want the first's result", out, err)
		}
		if h := must(t, k, s, 0, job.Options{Key: "k"}); h.Existed() {
			t.Error("the key is held though its job has ended")
		}
	})
}

func TestAConflictIsRejectedOrReplaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		k := start(t, s)
		first := must(t, k, s, time.Minute, job.Options{Key: "k", Delay: time.Hour})
		h, err := s.Start(t.Context(), k, 0, job.Options{Key: "k", OnConflict: job.Reject})
		if !errors.Is(err, kernel.ErrDuplicate) || h == nil || h.ID() != first.ID() || !h.Existed() {
			t.Errorf("Start = %v, %v; want ErrDuplicate and the handle of the first", h, err)
		}
		second := must(t, k, s, time.Minute, job.Options{Key: "k", OnConflict: job.Replace})
		if e := failure(t, first); e.State != job.Cancelled || e.Reason != "replaced" || second.Existed() {
			t.Errorf("the first ended as %+v, second existed %v; want replaced by a new one", e, second.Existed())
		}
		synctest.Wait()
		if h := must(t, k, s, 0, job.Options{Key: "k", OnConflict: job.Replace}); h.ID() != second.ID() || !h.Existed() {
			t.Error("a job that runs was replaced; want it to stand")
		}
	})
}

func TestKeyForSaysHowLongAKeyIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{Retention: 3 * time.Hour})
		k := start(t, s)
		must(t, k, s, 0, job.Options{Key: "hour", KeyFor: time.Hour})
		must(t, k, s, 0, job.Options{Key: "kept", KeyFor: -1})
		for _, c := range []struct {
			after      time.Duration
			hour, kept bool
		}{{30 * time.Minute, true, true}, {time.Hour, false, true}, {2 * time.Hour, false, false}} {
			pass(t.Context(), c.after)
			for key, want := range map[string]bool{"hour": c.hour, "kept": c.kept} {
				h, err := s.Start(t.Context(), k, 0, job.Options{Key: key, OnConflict: job.Reject})
				if held := errors.Is(err, kernel.ErrDuplicate); held != want {
					t.Errorf("%v later: key %s is held: %v (%v), want %v", c.after, key, held, err, want)
				} else if err == nil {
					_, _ = h.Wait(t.Context())
				}
			}
		}
		for _, o := range []job.Options{{OnConflict: job.Reject}, {KeyFor: time.Hour}} {
			if _, err := s.Start(t.Context(), k, 0, o); !errors.Is(err, kernel.ErrInvalid) {
				t.Errorf("Start without a Key, %+v = %v; want ErrInvalid", o, err)
			}
		}
	})
}

func TestTheSameIDIsTheSameStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		other := job.Define("other", func(context.Context, int) (int, error) { return 0, nil }, job.Config{})
		k := start(t, s, other)
		id := k.NewID()
		first, second := must(t, k, s, 0, job.Options{ID: id}), must(t, k, s, time.Hour, job.Options{ID: id})
		if first.ID() != id || second.ID() != id || first.Existed() || !second.Existed() {
			t.Errorf("ids %s, %s, existed %v, %v; want the same, and the second to exist", first.ID(), second.ID(), first.Existed(), second.Existed())
		}
		// A handle of the wrong job does no harm to a task that is none of its own.
		wrong := other.Handle(k, id)
		_, err1 := wrong.Wait(t.Context())
		_, err2 := wrong.Status(t.Context())
		err3 := wrong.Cancel(t.Context(), "")
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, kernel.ErrNotFound) || !strings.Contains(err.Error(), "job.sleep") {
				t.Errorf("a handle of another job: %v; want ErrNotFound that names both kinds", err)
			}
		}
		if err := s.Handle(k, k.NewID()).Cancel(t.Context(), ""); !errors.Is(err, kernel.ErrNotFound) {
			t.Errorf("Cancel of nothing = %v, want ErrNotFound", err)
		}
	})
}

type inner struct {
	Rate  float64
	Calls []chan int `json:"calls"`
}

type outer struct {
	Inner  map[string]*inner
	Any    any
	Next   *outer
	hidden chan int
	Skip   chan int `json:"-"`
}

type stubborn struct{ Inner chan int }

func (stubborn) MarshalJSON() ([]byte, error) { return nil, errors.New("i will not") }

func TestAnInputThatDoesNotEncodeIsRefusedByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := job.Define("any", func(context.Context, any) (any, error) { return nil, nil }, job.Config{})
		k := start(t, j)
		cycle := &outer{}
		cycle.Next = cycle
		ring, loop := map[string]any{}, make([]any, 1)
		ring["a"], loop[0] = ring, loop
		for _, c := range []struct {
			in   any
			want []string
		}{
			{outer{Any: make(chan int)}, []string{"at Any:", "chan int"}},
			{outer{Inner: map[string]*inner{"a": {Calls: make([]chan int, 1)}}}, []string{"at Inner[a].Calls[0]:", "chan int"}},
			{outer{Inner: map[string]*inner{"a": {Rate: math.NaN()}}}, []string{"at Inner[a].Rate:", "NaN"}},
			{[]any{1, func() {}}, []string{"at [1]:", "func()"}},
			{cycle, []string{"at Next:", "cycle"}},
			{ring, []string{"at [a]:", "cycle"}},
			{loop, []string{"at [0]:", "cycle"}},
			{struct {
				Skip chan int `json:"-"`
				Bad  chan int
			}{}, []string{"at Bad:", "chan int"}},
			{&struct{ S *stubborn }{&stubborn{}}, []string{"at S:", "i will not"}},
			{math.Inf(1), []string{"does not encode as JSON:", "+Inf"}},
		} {
			h, err := j.Start(t.Context(), k, c.in, job.Options{})
			if !errors.Is(err, kernel.ErrInvalid) || h != nil {
				t.Errorf("Start = %v, %v; want ErrInvalid", h, err)
				continue
			}
			for _, want := range append(c.want, "job any") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Start = %v, want it to contain %q", err, want)
				}
			}
		}
		if _, err := j.Start(t.Context(), k, outer{hidden: make(chan int), Skip: make(chan int)}, job.Options{}); err != nil {
			t.Errorf("Start = %v, want nil: hidden fields are not sent", err)
		}
		if n := len(kerneltest.Tasks(t, k, "job.any")); n != 1 {
			t.Errorf("%d tasks are stored, want the good one alone", n)
		}
	})
}

func TestOptionsThatCannotBeStoredAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		k := start(t, s)
		for want, o := range map[string]job.Options{
			"Delay":      {Delay: -1},
			"StartBy":    {StartBy: -1},
			"Lane":       {Lane: "\n"},
			"Unique.Key": {Key: strings.Repeat("x", 600)},
			"label":      {Labels: map[string]string{"a b": ""}},
			"OnConflict": {Key: "k", OnConflict: "maybe"},
			"OnEnd":      {OnEnd: &kernel.Spec{}},
		} {
			if h, err := s.Start(t.Context(), k, 0, o); !errors.Is(err, kernel.ErrInvalid) || !strings.Contains(err.Error(), want) || h != nil {
				t.Errorf("Start(%+v) = %v, %v; want ErrInvalid that names %s", o, h, err, want)
			}
		}
		kerneltest.NotSubmitted(t, k, "job.sleep")
		must(t, k, s, 0, job.Options{OnEnd: &kernel.Spec{Kind: "by.hand", Timeout: job.NoTimeout}})
	})
}

func TestStartManyStartsAllButTheBad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		double := job.Define("double", func(_ context.Context, in any) (string, error) { return fmt.Sprint(in, in), nil }, job.Config{})
		k := startOn(t, memory.New(memory.Config{}), kernel.Config{MaxPayload: 1000}, double)
		inputs := make([]any, 1203)
		for i := range inputs {
			inputs[i] = i
		}
		bad := map[int]string{7: "chan", 600: "1000", 601: "1000", 1202: "NaN"}
		inputs[7], inputs[600], inputs[601], inputs[1202] = make(chan int), strings.Repeat("x", 2000), strings.Repeat("y", 2000), math.NaN()
		all, err := double.StartMany(t.Context(), k, inputs, job.Options{Labels: map[string]string{"a": "b"}})
		if !errors.Is(err, kernel.ErrInvalid) || !strings.Contains(err.Error(), "4 of 1203") || !strings.Contains(err.Error(), "input 7") {
			t.Errorf("StartMany = %v, want ErrInvalid of 4 of 1203, the first being input 7", err)
		}
		for i, s := range all {
			if want, isBad := bad[i]; isBad {
				if s.Handle != nil || !errors.Is(s.Err, kernel.ErrInvalid) || !strings.Contains(s.Err.Error(), want) {
					t.Errorf("input %d: %v, %v; want ErrInvalid with %q", i, s.Handle, s.Err, want)
				}
				continue
			}
			if s.Err != nil || s.Handle.Existed() {
				t.Fatalf("input %d: %v, want it to be started, once", i, s.Err)
			}
			if out, err := s.Handle.Wait(t.Context()); err != nil || out != fmt.Sprint(float64(i), float64(i)) {
				t.Errorf("input %d: Wait = %q, %v", i, out, err)
			}
		}
		tasks := kerneltest.Tasks(t, k, "job.double")
		if len(tasks) != 1199 || tasks[0].Labels["a"] != "b" {
			t.Errorf("%d tasks with labels %v, want 1199 with a=b", len(tasks), tasks[0].Labels)
		}
	})
}

func TestStartManyTakesOptionsForEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sleep(job.Config{})
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		in := make([]time.Duration, 3)
		all, err := s.StartMany(t.Context(), k, in, job.Options{Key: "a"}, job.Options{Key: "b"}, job.Options{Key: "a", OnConflict: job.Reject})
		if !errors.Is(err, kernel.ErrDuplicate) || all[0].Err != nil || all[1].Err != nil || !errors.Is(all[2].Err, kernel.ErrDuplicate) {
			t.Fatalf("StartMany = %+v, %v; want the third to be a duplicate", all, err)
		}
		if all[2].Handle.ID() != all[0].Handle.ID() || !all[2].Handle.Existed() || all[1].Handle.Existed() {
			t.Error("the third does not tell that the first stands")
		}
		if _, err := s.StartMany(t.Context(), k, in, job.Options{Key: "a"}); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("StartMany with one key for three = %v, want ErrInvalid", err)
		}
		if _, err := s.StartMany(t.Context(), k, in, job.Options{}, job.Options{}); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("StartMany with two options for three = %v, want ErrInvalid", err)
		}
		if all, err := s.StartMany(t.Context(), k, nil, job.Options{}); err != nil || len(all) != 0 {
			t.Errorf("StartMany of nothing = %v, %v; want nothing", all, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		all, err = s.StartMany(ctx, k, make([]time.Duration, 1001))
		if !errors.Is(err, context.Canceled) || !strings.Contains(fmt.Sprint(all[1000].Err), "not tried") {
			t.Errorf("StartMany after the end = %v, the last: %v; want Canceled, and not tried", err, all[1000].Err)
		}
	})
}

// silent is a store that does not answer a Submit.
type silent struct{ *memory.Store }

func (silent) Submit(context.Context, store.SubmitRequest) (store.SubmitResult, error) {
	return store.SubmitResult{}, errors.New("connection refused")
}

func TestAStartThatIsNotAnsweredIsInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := memory.New(memory.Config{})
		s := sleep(job.Config{})
		away := kerneltest.New(t, silent{st}, kernel.Config{})
		h, err := s.Start(t.Context(), away, 0, job.Options{})
		if !errors.Is(err, kernel.ErrInDoubt) || h == nil {
			t.Fatalf("Start = %v, %v; want ErrInDoubt and a handle", h, err)
		}
		all, err := s.StartMany(t.Context(), away, make([]time.Duration, 501))
		if !errors.Is(err, kernel.ErrInDoubt) || all[0].Handle == nil || !strings.Contains(fmt.Sprint(all[500].Err), "not tried") {
			t.Errorf("StartMany = %v, the last: %v; want ErrInDoubt, and not tried", err, all[500].Err)
		}
		k := startOn(t, st.Process(), kernel.Config{}, s)
		again := must(t, k, s, 0, job.Options{ID: h.ID()})
		if _, err := again.Wait(t.Context()); err != nil || again.ID() != h.ID() {
			t.Errorf("Wait = %v, want the same job to run", err)
		}
	})
}

func TestTheWordsAreThoseOfTheStore(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[any]any{
		job.Scheduled: store.Scheduled, job.Ready: store.Ready, job.Running: store.Running, job.Ending: store.Ending,
		job.Parked: store.Parked, job.Held: store.Held, job.Done: store.Done, job.Failed: store.Failed, job.Cancelled: store.Cancelled,
		job.Keep: store.Keep, job.Reject: store.Reject, job.Replace: store.Replace, job.Skip: store.OrderSkip, job.Block: store.OrderBlock,
	} {
		if ours != theirs {
			t.Errorf("%T %v is not the store's %v", ours, ours, theirs)
		}
	}
}

func TestASpecIsGivenToASchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(0, job.Config{})
		k := start(t, d)
		spec, err := d.Spec("tick", job.Options{})
		if err != nil {
			t.Fatalf("Spec = %v", err)
		}
		if _, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: "minutely", Rule: "every 1m", Task: spec}); err != nil {
			t.Fatalf("PutSchedule = %v", err)
		}
		pass(t.Context(), 3*time.Minute+30*time.Second)
		if got := d.read(); got != "tick tick tick" {
			t.Errorf("ran %q, want tick three times", got)
		}
	})
}
