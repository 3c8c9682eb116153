package kernel_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

func TestAScheduleIsEditedPausedAndResumedAtRunTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"tick": ok})
		ticks := func() int { return len(kerneltest.Tasks(t, k, "tick")) }
		passed := func(d time.Duration) int {
			before := ticks()
			wait(t.Context(), d)
			return ticks() - before
		}
		_, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: "s", Rule: "* * * * *", CatchUp: kernel.CatchUpAll, Task: kernel.Spec{Kind: "tick", Timeout: kernel.NoTimeout}})
		if err != nil {
			t.Fatal(err)
		}
		wait(t.Context(), time.Second)
		if n := passed(10 * time.Minute); n != 10 {
			t.Errorf("%d ticks in ten minutes, want 10", n)
		}
		if err := k.PauseSchedule(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if n := passed(10 * time.Minute); n != 0 {
			t.Errorf("%d ticks while it was paused, want none", n)
		}
		if err := k.ResumeSchedule(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if n := passed(5 * time.Minute); n != 5 {
			t.Errorf("%d ticks after it was resumed, want 5: a pause is not an outage", n)
		}
		s, err := k.EditSchedule(t.Context(), "s", func(s *kernel.Schedule) error {
			s.Rule = "*/5 * * * *"
			return nil
		})
		if err != nil || s.Task.Timeout != 0 {
			t.Errorf("EditSchedule = %+v, %v, want the task as it was", s.Task, err)
		}
		if n := passed(10 * time.Minute); n != 2 {
			t.Errorf("%d ticks after it was edited, want 2", n)
		}
		refuse := errors.New("no")
		if _, err := k.EditSchedule(t.Context(), "s", func(*kernel.Schedule) error { return refuse }); !errors.Is(err, refuse) {
			t.Errorf("EditSchedule = %v, want the editor's error", err)
		}
		if _, err := k.EditSchedule(t.Context(), "none", nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("EditSchedule = %v, want ErrNotFound", err)
		}
	})
}

func TestTheNextTicksAreShownAndWhetherAnybodyServes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"tick": ok})
		wait(t.Context(), time.Second)
		for name, kind := range map[string]string{"served": "tick", "not": "nobody"} {
			_, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: name, Rule: "0 12 * * *", Zone: "Asia/Tokyo", Task: kernel.Spec{Kind: kind}})
			if err != nil {
				t.Fatal(err)
			}
			st, err := k.ScheduleStatus(t.Context(), name, 3)
			if err != nil || len(st.Next) != 3 || st.Next[1].Sub(st.Next[0]) != 24*time.Hour || st.Next[0].Hour() != 3 || st.Served != (name == "served") {
				t.Errorf("ScheduleStatus(%s) = next %v, served %v, %v", name, st.Next, st.Served, err)
			}
		}
		wait(t.Context(), 24*time.Hour)
		if n := len(kerneltest.Tasks(t, k, "nobody")); n != 1 {
			t.Errorf("%d tasks of a kind that nobody serves, want 1 that is kept", n)
		}
		if _, err := kernel.Ticks("@daily", "", time.Now(), 0); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("Ticks = %v, want ErrInvalid", err)
		}
	})
}

func TestAScheduleTicksOnceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"tick": ok})
		at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		if _, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: "once", Rule: "at " + at, Task: kernel.Spec{Kind: "tick"}}); err != nil {
			t.Fatal(err)
		}
		wait(t.Context(), 3*time.Hour)
		if n := len(kerneltest.Tasks(t, k, "tick")); n != 1 {
			t.Errorf("%d ticks, want 1", n)
		}
		if s, err := k.Schedule(t.Context(), "once"); err != nil || !s.NextAt.IsZero() {
			t.Errorf("Schedule = next at %v, %v, want none", s.NextAt, err)
		}
		if err := k.PauseSchedule(t.Context(), "once"); err != nil {
			t.Errorf("PauseSchedule of one that is over = %v", err)
		}
	})
}

func TestLimitsOfTheConfigAreDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{Limits: []kernel.Limit{{Key: "api", Running: 2}}}, handlers{"tick": ok})
		wait(t.Context(), time.Second)
		if list, err := k.Limits(t.Context(), "api"); err != nil || len(list) != 1 || list[0].Running != 2 || !list[0].Declared {
			t.Errorf("Limits = %+v, %v, want what the config says", list, err)
		}
		if err := k.DeclareLimit(kernel.Limit{Key: "api", Running: 3}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("DeclareLimit of another bound = %v, want ErrInvalid", err)
		}
		if err := k.DeclareLimit(kernel.Limit{Key: "none"}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("DeclareLimit without a bound = %v, want ErrInvalid", err)
		}
		if _, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Limits: []kernel.Limit{{Key: "api", Running: -1}}}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("New = %v, want ErrInvalid", err)
		}
	})
}

// Who waits for what, and since when.
func TestLanesTellWhoWaitsForWhat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		if _, err := k.PutLimit(t.Context(), kernel.Limit{Key: "shut", Rates: []kernel.Rate{{N: 1, Per: time.Hour}}}); err != nil {
			t.Fatal(err)
		}
		kerneltest.Run(t, k)
		since := time.Now()
		for range 3 {
			if _, err := k.Submit(t.Context(), kernel.Spec{Kind: "x", Lane: "a", Limit: "shut"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(k.Pause(t.Context(), kernel.Scope{Lane: "a"}, 0, "look"), k.PutWeight(t.Context(), "default", "a", 4)); err != nil {
			t.Fatal(err)
		}
		page, err := k.Lanes(t.Context(), "default", kernel.PageRequest{})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("Lanes = %+v, %v", page.Items, err)
		}
		if l := page.Items[0]; l.Ready != 3 || l.Limit != "shut" || l.Blocked != "paused" || l.Weight != 4 || !l.OldestAt.Equal(since) {
			t.Errorf("lane = %+v, want what waits there, for what, since when", l)
		}
	})
}

// What is stored sealed stays so, and is sealed once, whatever is edited beside it.
func TestAnEditLeavesASealedTaskAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ring, err := seal.Parse(seal.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		mem := memory.New(memory.Config{})
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Sealer: ring}, handlers{"tick": ok})
		_, err = k.PutSchedule(t.Context(), kernel.Schedule{Name: "s", Rule: "every 1m", Task: kernel.Spec{Kind: "tick", Args: []byte("secret")}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.EditSchedule(t.Context(), "s", func(s *kernel.Schedule) error { s.Rule = "every 2m"; return nil }); err != nil {
			t.Fatal(err)
		}
		wait(t.Context(), 3*time.Minute)
		for _, task := range kerneltest.Tasks(t, k, "tick") {
			if got, err := k.Get(t.Context(), task.ID); err != nil || string(got.Args) != "secret" {
				t.Errorf("args = %q, %v, want what was put", got.Args, err)
			}
		}
	})
}
