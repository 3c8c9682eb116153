package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func readTests() []test {
	return []test{
		{"Get of an unknown task is not found", readUnknown},
		{"queues count what waits", readQueues},
		{"counts stop at a limit", readCountLimit},
		{"lanes with ready tasks are listed by name", readLanes},
		{"a lane tells why no claim takes from it", readBlocked},
		{"statistics are listed by minute, in their bounds", readStats},
		{"Export tells every record", readExport},
		{"Export stops at an error", readExportStops},
		{"a call whose context has ended says so", readContext},
		{"what was handed out is the caller's own", readOwn},
	}
}

func readUnknown(_ *testing.T, w *world) {
	for _, id := range []store.ID{w.id(), {}} {
		_, err := w.st.Get(w.ctx(), id)
		w.refused("Get", err, store.ErrNotFound)
	}
}

func readQueues(t *testing.T, w *world) {
	k := w.join()
	w.put(func(s *store.Spec) { s.Queue = "a" })
	w.pass(2)
	k.park(k.start())
	oldest := w.now()
	w.submit(w.specs(2)...)
	w.pass(2)
	w.submit(w.spec(), w.spec(w.delay(50)))
	k.take()
	k.done(k.take())
	list, err := w.st.Queues(w.ctx())
	w.ok("Queues", err)
	if len(list) != 2 || list[0].Queue != "a" || list[1].Queue != queue {
		t.Fatalf("Queues = %+v, want a and %s", list, queue)
	}
	got := list[1]
	if got.Ready != 1 || got.Scheduled != 1 || got.Parked != 1 || got.Running != 1 || got.Paused {
		t.Errorf("Queues = %+v, want one of each", got)
	}
	if got.OldestAt.Before(oldest.Add(-w.u)) || list[0].Ready != 1 {
		t.Errorf("Queues = %+v, want the oldest ready at %v or later", list, oldest)
	}
}

func readCountLimit(t *testing.T, w *world) {
	for range store.CountLimit/1000 + 1 {
		w.submit(w.specs(1000)...)
	}
	list, err := w.st.Queues(w.ctx())
	w.ok("Queues", err)
	if len(list) != 1 || list[0].Ready != store.CountLimit || list[0].Running != 0 || list[0].OldestAt.IsZero() {
		t.Errorf("Queues = %+v, want %d ready", list, store.CountLimit)
	}
}

func readLanes(t *testing.T, w *world) {
	for i := range 5 {
		w.submit(w.specs(i+1, lane(fmt.Sprint(i)), priority(i))...)
	}
	w.put(func(s *store.Spec) { s.Queue = "other" })
	w.put(w.delay(9), lane("scheduled"))
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "3", 4))
	var got []store.LaneStatus
	page := store.PageRequest{Limit: 2}
	for {
		p, err := w.st.LaneList(w.ctx(), queue, page)
		w.ok("LaneList", err)
		got = append(got, p.Items...)
		if page.Cursor = p.Cursor; page.Cursor == "" {
			break
		}
	}
	if len(got) != 5 {
		t.Fatalf("LaneList = %d lanes, want 5", len(got))
	}
	for i, l := range got {
		weight := 1
		if i == 3 {
			weight = 4
		}
		if l.Queue != queue || l.Kind != kind || l.Lane != fmt.Sprint(i) || l.Ready != int64(i+1) || l.Priority != i || l.Weight != weight || l.Blocked != "" {
			t.Errorf("lane %d = %+v, want %d ready, priority %d, weight %d", i, l, i+1, i, weight)
		}
		if !w.near(l.OldestAt, w.now()) {
			t.Errorf("lane %d = oldest %v, want now", i, l.OldestAt)
		}
	}
}

func readBlocked(t *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "full", Running: 1})
	w.submit(w.specs(2, limited("full"), lane("a"))...)
	k.take()
	w.put(lane("b"))
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Lane: "b"}, 0, "test"))
	w.put(lane("c"), ordered(store.OrderSkip), w.delay(50))
	w.put(lane("c"), ordered(store.OrderSkip))
	p, err := w.st.LaneList(w.ctx(), queue, store.PageRequest{})
	w.ok("LaneList", err)
	want := map[string]string{"a": "limit", "b": "paused", "c": "order"}
	if len(p.Items) != 3 {
		t.Fatalf("LaneList = %+v, want 3 lanes", p.Items)
	}
	for _, l := range p.Items {
		if l.Blocked != want[l.Lane] || l.Ordered != (l.Lane == "c") {
			t.Errorf("lane %s = blocked by %q, ordered %v, want %q", l.Lane, l.Blocked, l.Ordered, want[l.Lane])
		}
	}
}

func readStats(t *testing.T, w *world) {
	w.put(func(s *store.Spec) { s.Kind = "b" })
	w.put(func(s *store.Spec) { s.Kind = "a" })
	first := w.now().Truncate(time.Minute)
	if w.e.Virtual {
		w.Pass(2 * time.Minute)
		w.put(func(s *store.Spec) { s.Kind = "a" })
	}
	all, err := w.st.Stats(w.ctx(), first, w.now().Add(time.Minute))
	w.ok("Stats", err)
	var sum int64
	for i, m := range all {
		sum += m.Submitted
		if !m.At.Equal(m.At.Truncate(time.Minute)) || i > 0 && m.At.Before(all[i-1].At) {
			t.Errorf("Stats = %v after %v, want minutes, oldest first", m.At, all[max(i-1, 0)].At)
		}
	}
	if want := int64(len(w.list(store.Filter{}))); sum != want {
		t.Errorf("Stats = %d submitted, want %d", sum, want)
	}
	early, err := w.st.Stats(w.ctx(), first.Add(-time.Hour), first)
	w.ok("Stats", err)
	if len(early) != 0 {
		t.Errorf("Stats of the hour before = %+v, want none", early)
	}
}

func readExport(t *testing.T, w *world) {
	k := w.join()
	waiting(w, k)
	task := k.start(unique(store.Keep, 0), func(s *store.Spec) { s.Kind = "runs" })
	k.save(task, map[string][]byte{"e": []byte("1")})
	w.send(task.ID, "m")
	w.limit(store.Limit{Key: "l", Running: 1})
	w.schedule("s")
	k.done(k.start(func(s *store.Spec) { s.Kind = "done" }))
	got := map[string]int{}
	var tasks []store.Task
	err := w.st.Export(w.ctx(), func(e store.Entry) error {
		set := 0
		for name, there := range map[string]bool{
			"task": e.Task != nil, "group": e.Group != nil, "worker": e.Worker != nil, "limit": e.Limit != nil,
			"schedule": e.Schedule != nil, "key": e.Key != nil, "message": e.Message != nil,
		} {
			if there {
				got[name]++
				set++
			}
		}
		if set != 1 {
			t.Errorf("an entry has %d records, want 1", set)
		}
		if e.Task != nil {
			tasks = append(tasks, e.Task.Clone())
		}
		if e.Key != nil && (e.Key.Task != task.ID || e.Key.Kind != "runs" || e.Key.Key != "key") {
			t.Errorf("key = %+v, want the one of the running task", e.Key)
		}
		return nil
	})
	w.ok("Export", err)
	for _, exported := range tasks {
		if want := w.get(exported.ID); !sameTask(&exported, &want) {
			t.Errorf("Export = %+v, want as Get: %+v", exported, want)
		}
	}
	for name, want := range map[string]int{"task": 7, "group": 1, "worker": 1, "limit": 1, "schedule": 1, "key": 1, "message": 1} {
		if got[name] != want {
			t.Errorf("Export = %d of %s, want %d", got[name], name, want)
		}
	}
}

func readExportStops(t *testing.T, w *world) {
	w.submit(w.specs(5)...)
	stop := errors.New("enough")
	calls := 0
	err := w.st.Export(w.ctx(), func(store.Entry) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("Export = %v after %d calls, want the error after 1", err, calls)
	}
}

func readContext(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(w.ctx())
	cancel()
	if _, err := w.st.Get(ctx, w.id()); !errors.Is(err, context.Canceled) {
		t.Errorf("Get = %v, want %v", err, context.Canceled)
	}
	if _, err := w.st.Submit(ctx, store.SubmitRequest{Specs: w.specs(1)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Submit = %v, want %v", err, context.Canceled)
	}
}

// An engine in the same process must not hand out what it keeps.
func readOwn(t *testing.T, w *world) {
	k := w.join()
	labels := map[string]string{"a": "b"}
	task := k.start(func(s *store.Spec) { s.Labels = labels; s.OnEnd = &store.Spec{Kind: "after", Queue: queue} })
	labels["a"] = "changed by the submitter"
	task.Labels["a"] = "changed by the claimer"
	got := w.get(task.ID)
	got.Labels["a"] = "changed by a reader"
	got.History[0].Text = "changed by a reader"
	if got := w.get(task.ID); got.Labels["a"] != "b" || got.History[0].Text != "" {
		t.Errorf("Get = labels %v, event %q, want them as stored", got.Labels, got.History[0].Text)
	}
}
