package storetest

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func scheduleTests() []test {
	return []test{
		{"a schedule is stored as it was said", scheduleStored},
		{"replacing needs the version that stands", scheduleVersion},
		{"creating what stands is a change", scheduleCreateTwice},
		{"a new version forgets the last tick unless rule and zone stand", scheduleForgets},
		{"schedules are listed by name", scheduleList},
		{"deleting leaves its tasks", scheduleDelete},
		{"those that are due are listed, soonest first", scheduleDue},
		{"a paused one is not due", schedulePaused},
		{"a tick submits its task and advances in one step", scheduleTick},
		{"a tick fires once", scheduleTickOnce},
		{"a tick of an old version is a change", scheduleTickVersion},
		{"a tick of a paused schedule is a change", scheduleTickPaused},
		{"a tick in the future is refused", scheduleTickFuture},
		{"a tick not after the last is refused", scheduleTickBack},
		{"a tick of an unknown schedule is not found", scheduleTickUnknown},
		{"a skipped tick advances without a task", scheduleSkip},
		{"the delay of a tick is added to the task's", scheduleTickDelay},
		{"Beat tells that a schedule is due", scheduleBeat},
		{"an overlapping tick passes without a task", scheduleOverlap},
		{"an overlapping tick may be allowed", scheduleOverlapAllow},
		{"an overlapping tick may wait its turn", scheduleOverlapQueue},
		{"waiting its turn needs an ordered task", scheduleOverlapUnordered},
		{"a change that comes after a tick does not take it back", schedulePutStale},
	}
}

// tickTime is a time that every engine keeps exactly.
func (w *world) tickTime(units int) time.Time {
	return w.now().Add(w.units(units)).UTC().Truncate(time.Millisecond)
}

func (w *world) schedule(name string, edits ...func(s *store.Schedule)) store.Schedule {
	w.t.Helper()
	s := store.Schedule{Name: name, Rule: "every 5m", Zone: "UTC", Task: store.Spec{Kind: kind, Queue: queue, Args: []byte("tick")}, NextAt: w.tickTime(0)}
	for _, e := range edits {
		e(&s)
	}
	got, err := w.st.PutSchedule(w.ctx(), s)
	w.ok("PutSchedule", err)
	return got
}

func (w *world) readSchedule(name string) store.Schedule {
	w.t.Helper()
	s, err := w.st.Schedule(w.ctx(), name)
	w.ok("Schedule", err)
	return s
}

// tick fires a schedule at a time that has come.
func (w *world) tick(s store.Schedule, tick time.Time) store.TickResult {
	w.t.Helper()
	res, err := w.st.Tick(w.ctx(), store.TickRequest{
		Name: s.Name, Version: s.Version, Last: s.LastTick, Tick: tick, Next: tick.Add(w.units(5)),
	})
	w.ok("Tick", err)
	return res
}

func scheduleStored(t *testing.T, w *world) {
	next := w.tickTime(9)
	put := w.schedule("nightly", func(s *store.Schedule) {
		s.Rule, s.Zone, s.CatchUp, s.Overlap, s.Jitter, s.NextAt = "0 3 * * *", "Europe/Berlin", "last", store.OverlapAllow, w.units(2), next
		s.Task.Labels = map[string]string{"a": "b"}
	})
	got := w.readSchedule("nightly")
	for _, s := range []store.Schedule{put, got} {
		if s.Rule != "0 3 * * *" || s.Zone != "Europe/Berlin" || s.CatchUp != "last" || s.Overlap != store.OverlapAllow || s.Jitter != w.units(2) {
			t.Errorf("schedule = %+v, want it as it was put", s)
		}
		if !s.NextAt.Equal(next) || s.Task.Kind != kind || string(s.Task.Args) != "tick" || s.Task.Labels["a"] != "b" || s.Version == 0 || s.CreatedAt.IsZero() {
			t.Errorf("schedule = %+v, want it as it was put", s)
		}
	}
	_, err := w.st.Schedule(w.ctx(), "other")
	w.refused("Schedule", err, store.ErrNotFound)
}

func scheduleVersion(t *testing.T, w *world) {
	first := w.schedule("s")
	second := first
	second.Rule = "every 7m"
	got, err := w.st.PutSchedule(w.ctx(), second)
	w.ok("PutSchedule", err)
	if got.Version <= first.Version || got.Rule != "every 7m" || !got.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("PutSchedule = %+v, want a later version", got)
	}
	first.Rule = "every 9m"
	_, err = w.st.PutSchedule(w.ctx(), first)
	w.refused("PutSchedule of an old version", err, store.ErrChanged)
	if got := w.readSchedule("s"); got.Rule != "every 7m" {
		t.Errorf("rule = %q, want the second", got.Rule)
	}
	missing := store.Schedule{Name: "none", Rule: "r", Version: 3, Task: first.Task}
	_, err = w.st.PutSchedule(w.ctx(), missing)
	w.refused("PutSchedule of a version that never was", err, store.ErrChanged)
}

func scheduleCreateTwice(_ *testing.T, w *world) {
	w.schedule("s")
	_, err := w.st.PutSchedule(w.ctx(), store.Schedule{Name: "s", Rule: "r", Task: store.Spec{Kind: kind, Queue: queue}})
	w.refused("PutSchedule", err, store.ErrChanged)
}

func scheduleForgets(t *testing.T, w *world) {
	s := w.schedule("s")
	tick := w.tickTime(0)
	w.tick(s, tick)
	s = w.readSchedule("s")
	s.CatchUp = "all"
	s, err := w.st.PutSchedule(w.ctx(), s)
	w.ok("PutSchedule", err)
	if !s.LastTick.Equal(tick) {
		t.Errorf("LastTick = %v, want it kept: the rule stands", s.LastTick)
	}
	s.Zone = "Asia/Tokyo"
	s, err = w.st.PutSchedule(w.ctx(), s)
	w.ok("PutSchedule", err)
	if !s.LastTick.IsZero() {
		t.Errorf("LastTick = %v, want it forgotten: the zone changed", s.LastTick)
	}
}

func scheduleList(t *testing.T, w *world) {
	for _, name := range []string{"c", "a", "d", "b", "e"} {
		w.schedule(name)
	}
	got := ""
	page := store.PageRequest{Limit: 2}
	for {
		p, err := w.st.ScheduleList(w.ctx(), page)
		w.ok("ScheduleList", err)
		for _, s := range p.Items {
			got += s.Name
		}
		if page.Cursor = p.Cursor; page.Cursor == "" {
			break
		}
	}
	if got != "abcde" {
		t.Errorf("ScheduleList = %q, want abcde", got)
	}
}

func scheduleDelete(_ *testing.T, w *world) {
	s := w.schedule("s")
	res := w.tick(s, w.tickTime(0))
	w.ok("DeleteSchedule", w.st.DeleteSchedule(w.ctx(), "s"))
	w.ok("DeleteSchedule again", w.st.DeleteSchedule(w.ctx(), "s"))
	_, err := w.st.Schedule(w.ctx(), "s")
	w.refused("Schedule", err, store.ErrNotFound)
	w.in(res.Task, store.Ready)
}

func scheduleDue(t *testing.T, w *world) {
	w.schedule("late", func(s *store.Schedule) { s.NextAt = w.tickTime(2) })
	w.schedule("soon", func(s *store.Schedule) { s.NextAt = w.tickTime(1) })
	w.schedule("never", func(s *store.Schedule) { s.NextAt = time.Time{} })
	w.schedule("far", func(s *store.Schedule) { s.NextAt = w.tickTime(50) })
	due, wait, err := w.st.DueSchedules(w.ctx(), 9)
	w.ok("DueSchedules", err)
	if len(due) != 0 || wait <= 0 || wait > w.u {
		t.Errorf("DueSchedules = %d, wait %v, want none, wait %v", len(due), wait, w.u)
	}
	w.pass(3)
	due, wait, err = w.st.DueSchedules(w.ctx(), 9)
	w.ok("DueSchedules", err)
	if len(due) != 2 || due[0].Name != "soon" || due[1].Name != "late" {
		t.Fatalf("DueSchedules = %+v, want soon, late", due)
	}
	// What is due now is next, or what comes after it: both tell a driver the truth.
	if wait != 0 && (wait <= w.units(45) || wait > w.units(47)) {
		t.Errorf("wait = %v, want 0 or %v", wait, w.units(47))
	}
	due, _, err = w.st.DueSchedules(w.ctx(), 1)
	w.ok("DueSchedules", err)
	if len(due) != 1 || due[0].Name != "soon" {
		t.Errorf("DueSchedules of 1 = %+v, want soon", due)
	}
}

func schedulePaused(t *testing.T, w *world) {
	w.schedule("s", func(s *store.Schedule) { s.Paused, s.NextAt = true, w.tickTime(-5) })
	due, wait, err := w.st.DueSchedules(w.ctx(), 9)
	w.ok("DueSchedules", err)
	if len(due) != 0 || wait != 0 {
		t.Errorf("DueSchedules = %d, wait %v, want none", len(due), wait)
	}
}

// I25
func scheduleTick(t *testing.T, w *world) {
	s := w.schedule("s")
	tick := w.tickTime(0)
	res := w.tick(s, tick)
	if want := store.TickID("s", s.Version, tick); res.Task != want || res.Overlapped {
		t.Errorf("Tick = %+v, want task %v", res, want)
	}
	if got := w.in(res.Task, store.Ready); string(got.Args) != "tick" || got.Kind != kind {
		t.Errorf("task = %+v, want the schedule's", got.Spec)
	}
	got := w.readSchedule("s")
	if !got.LastTick.Equal(tick) || !got.NextAt.Equal(tick.Add(w.units(5))) || got.LastTask != res.Task || got.Version != s.Version {
		t.Errorf("schedule = %+v, want it advanced in the same version", got)
	}
}

func scheduleTickOnce(t *testing.T, w *world) {
	s := w.schedule("s", func(s *store.Schedule) { s.Overlap = store.OverlapAllow })
	tick := w.tickTime(0)
	w.tick(s, tick)
	before := w.readSchedule("s")
	for range 3 {
		_, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Tick: tick, Next: tick.Add(w.units(50))})
		w.refused("Tick again", err, store.ErrChanged)
	}
	if got := w.list(store.Filter{}); len(got) != 1 {
		t.Errorf("the tick fired %d times, want once", len(got))
	}
	if got := w.readSchedule("s"); !got.NextAt.Equal(before.NextAt) {
		t.Errorf("NextAt = %v, want %v", got.NextAt, before.NextAt)
	}
}

func scheduleTickVersion(t *testing.T, w *world) {
	old := w.schedule("s")
	changed := old
	changed.Rule = "every 9m"
	_, err := w.st.PutSchedule(w.ctx(), changed)
	w.ok("PutSchedule", err)
	_, err = w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: old.Version, Tick: w.tickTime(0)})
	w.refused("Tick", err, store.ErrChanged)
	if got := w.list(store.Filter{}); len(got) != 0 {
		t.Errorf("a refused tick stored %d tasks", len(got))
	}
}

func scheduleTickPaused(_ *testing.T, w *world) {
	s := w.schedule("s", func(s *store.Schedule) { s.Paused = true })
	_, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Tick: w.tickTime(0)})
	w.refused("Tick", err, store.ErrChanged)
}

// FT-13: a driver whose clock is ahead cannot fire early.
func scheduleTickFuture(_ *testing.T, w *world) {
	s := w.schedule("s")
	_, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Tick: w.tickTime(20)})
	w.refused("Tick", err, store.ErrInvalid)
	if got := w.readSchedule("s"); !got.LastTick.IsZero() {
		w.t.Errorf("LastTick = %v, want none", got.LastTick)
	}
}

func scheduleTickBack(_ *testing.T, w *world) {
	s := w.schedule("s")
	tick := w.tickTime(0)
	w.tick(s, tick)
	w.pass(5)
	for _, back := range []time.Time{tick, tick.Add(-w.u)} {
		_, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Last: tick, Tick: back})
		w.refused("Tick", err, store.ErrInvalid)
	}
}

func scheduleTickUnknown(_ *testing.T, w *world) {
	_, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "none", Version: 1, Tick: w.tickTime(0)})
	w.refused("Tick", err, store.ErrNotFound)
}

func scheduleSkip(t *testing.T, w *world) {
	s := w.schedule("s")
	tick := w.tickTime(0)
	res, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Tick: tick, Next: tick.Add(w.u), Skip: true})
	w.ok("Tick", err)
	if !res.Task.IsZero() || len(w.list(store.Filter{})) != 0 {
		t.Errorf("Tick = %+v, want no task", res)
	}
	if got := w.readSchedule("s"); !got.LastTick.Equal(tick) {
		t.Errorf("LastTick = %v, want %v", got.LastTick, tick)
	}
}

func scheduleOverlap(t *testing.T, w *world) {
	k := w.join()
	s := w.schedule("s")
	first := w.tick(s, w.tickTime(0))
	w.pass(5)
	second := w.tickTime(0)
	res := w.tick(w.readSchedule("s"), second)
	if !res.Overlapped || !res.Task.IsZero() {
		t.Errorf("Tick = %+v, want it overlapped", res)
	}
	got := w.readSchedule("s")
	if !got.LastTick.Equal(second) || got.LastTask != first.Task {
		t.Errorf("schedule = %+v, want it advanced, its last task the first", got)
	}
	k.done(k.take())
	w.pass(5)
	if res := w.tick(got, w.tickTime(0)); res.Overlapped || res.Task.IsZero() {
		t.Errorf("Tick after the end = %+v, want a task", res)
	}
}

func scheduleOverlapAllow(t *testing.T, w *world) {
	s := w.schedule("s", func(s *store.Schedule) { s.Overlap = store.OverlapAllow })
	w.tick(s, w.tickTime(0))
	w.pass(5)
	if res := w.tick(w.readSchedule("s"), w.tickTime(0)); res.Task.IsZero() {
		t.Errorf("Tick = %+v, want a second task", res)
	}
	if got := w.list(store.Filter{}); len(got) != 2 {
		t.Errorf("List = %d tasks, want 2", len(got))
	}
}

func queued(s *store.Schedule) {
	s.Overlap, s.Task.Order, s.Task.Lane = store.OverlapQueue, store.OrderSkip, "own"
}

func scheduleOverlapQueue(_ *testing.T, w *world) {
	k := w.join()
	w.schedule("s", queued)
	var ticked []store.ID
	for range 4 {
		ticked = append(ticked, w.tick(w.readSchedule("s"), w.tickTime(0)).Task)
		w.pass(5)
	}
	for _, id := range ticked {
		tasks := k.claim(9)
		w.sameIDs("Claim", ids(tasks), []store.ID{id})
		k.done(tasks[0])
	}
}

func scheduleOverlapUnordered(_ *testing.T, w *world) {
	_, err := w.st.PutSchedule(w.ctx(), store.Schedule{Name: "s", Rule: "r", Overlap: store.OverlapQueue, Task: store.Spec{Kind: kind, Queue: queue}})
	w.refused("PutSchedule", err, store.ErrInvalid)
	_, err = w.st.PutSchedule(w.ctx(), store.Schedule{Name: "s", Rule: "r", Jitter: -1, Task: store.Spec{Kind: kind, Queue: queue}})
	w.refused("PutSchedule", err, store.ErrInvalid)
}

func schedulePutStale(t *testing.T, w *world) {
	seen := w.schedule("s")
	tick := w.tickTime(0)
	w.tick(seen, tick)
	seen.CatchUp, seen.Declared = "all", "digest"
	got, err := w.st.PutSchedule(w.ctx(), seen)
	w.ok("PutSchedule", err)
	if want := tick.Add(w.units(5)); !got.NextAt.Equal(want) || !got.LastTick.Equal(tick) || got.CatchUp != "all" || got.Declared != "digest" {
		t.Errorf("schedule = %+v, want it changed, and next at %v", got, want)
	}
	if due, _, err := w.st.DueSchedules(w.ctx(), 9); err != nil || len(due) != 0 {
		t.Errorf("DueSchedules = %d, %v, want none: the tick has come", len(due), err)
	}
}

func scheduleTickDelay(t *testing.T, w *world) {
	s := w.schedule("s", func(s *store.Schedule) { s.Task.Delay = w.units(2) })
	res, err := w.st.Tick(w.ctx(), store.TickRequest{Name: "s", Version: s.Version, Tick: w.tickTime(0), Delay: w.units(3)})
	w.ok("Tick", err)
	if got, want := w.in(res.Task, store.Scheduled).DueAt, w.now().Add(w.units(5)); !w.near(got, want) {
		t.Errorf("DueAt = %v, want %v", got, want)
	}
}

func scheduleBeat(t *testing.T, w *world) {
	k := w.join()
	s := w.schedule("s", func(s *store.Schedule) { s.NextAt = w.tickTime(5) })
	if k.beat().Ticks {
		t.Errorf("Beat told of a tick before it is due")
	}
	w.pass(6)
	if !k.beat().Ticks {
		t.Errorf("Beat told of no tick, want one due")
	}
	w.tick(s, w.tickTime(0))
	if k.beat().Ticks {
		t.Errorf("Beat told of a tick after it fired")
	}
}
