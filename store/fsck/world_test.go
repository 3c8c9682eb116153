package fsck_test

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// ago is a time before now; all that is younger than the horizon of ten minutes must still be there.
func ago(d time.Duration) time.Time { return now.Add(-d) }

// fake is a store that has nothing but its content: the only way to a world that no engine would make.
type fake struct {
	store.Store
	entries   []store.Entry
	err       error
	clockless error
}

func (f *fake) Info() store.Info { return store.Info{Engine: "fake"} }

func (f *fake) Now(context.Context) (time.Time, error) { return now, f.clockless }

func (f *fake) Export(_ context.Context, fn func(store.Entry) error) error {
	for _, e := range f.entries {
		if err := fn(e); err != nil {
			return err
		}
	}
	return f.err
}

// world holds the records of a store by their names, so that a test can break one of them.
type world struct {
	fake
	seed   string // goes before every name, so that worlds can be put together
	tasks  map[string]*store.Task
	groups map[string]*store.Group
	limit  *store.LimitStatus
	worker *store.Worker
	keys   map[string]*store.Key
}

func (w *world) id(name string) store.ID { return store.DeriveID("test", w.seed, name) }

// add stores a task under an id made of its name.
func (w *world) add(name string, t store.Task) *store.Task {
	if t.ID.IsZero() {
		t.ID = w.id(name)
	}
	if t.Kind == "" {
		t.Kind = "kind"
	}
	t.Queue = "queue"
	t.CreatedAt = ago(time.Hour)
	w.tasks[name] = &t
	w.entries = append(w.entries, store.Entry{Task: &t})
	return &t
}

func (w *world) addGroup(name string, g store.Group) *store.Group {
	g.ID = w.id(name)
	g.Generation = max(g.Generation, 1)
	g.Sealed = g.State != store.GroupFilling
	w.groups[name] = &g
	w.entries = append(w.entries, store.Entry{Group: &g})
	return &g
}

func (w *world) addKey(t *store.Task, until time.Time) {
	k := &store.Key{Kind: t.Kind, Key: t.Unique.Key, Task: t.ID, Until: until}
	w.keys[t.Unique.Key] = k
	w.entries = append(w.entries, store.Entry{Key: k})
}

func (w *world) addMessage(task store.ID) {
	w.entries = append(w.entries, store.Entry{Message: &store.Message{ID: w.id("message"), Task: task}})
}

// remove takes a task away, and nothing else.
func (w *world) remove(name string) {
	for i, e := range w.entries {
		if e.Task != nil && e.Task == w.tasks[name] {
			w.entries = append(w.entries[:i], w.entries[i+1:]...)
			return
		}
	}
	panic("no task " + name)
}

// removeKey takes a key away, and nothing else.
func (w *world) removeKey(name string) {
	for i, e := range w.entries {
		if e.Key != nil && e.Key == w.keys[name] {
			w.entries = append(w.entries[:i], w.entries[i+1:]...)
			return
		}
	}
	panic("no key " + name)
}

// newWorld makes a world in which everything is as it should be, and of everything there is one.
func newWorld(seed string) *world {
	w := &world{seed: seed, tasks: map[string]*store.Task{}, groups: map[string]*store.Group{}, keys: map[string]*store.Key{}}
	w.addFleet()
	w.addWaiting()
	w.addEnded()
	w.addKeyed()
	w.addFilling()
	w.addOpen()
	w.addClosed()
	return w
}

func (w *world) addFleet() {
	w.worker = &store.Worker{ID: w.seed + "worker"}
	w.limit = &store.LimitStatus{Limit: store.Limit{Key: w.seed + "limit", Running: 3}, InUse: 2}
	w.entries = append(w.entries, store.Entry{Worker: w.worker}, store.Entry{Limit: w.limit},
		store.Entry{Worker: &store.Worker{ID: w.seed + "dead", DeadAt: ago(time.Second), Death: store.DeathGone}})
	for i, owner := range []string{"worker", "dead"} {
		name := fmt.Sprint("running ", i)
		w.add(name, store.Task{
			Spec:  store.Spec{Limit: w.seed + "limit", Lane: w.seed + owner, Order: store.OrderSkip},
			State: store.Running, Worker: w.seed + owner, Nonce: w.id("nonce"), Epoch: 2, Settled: store.Settled{Epoch: 1}, Asked: "cancelled",
		})
	}
	w.add("running unlimited", store.Task{
		Spec: store.Spec{Limit: "no record"}, State: store.Running, Worker: w.seed + "worker", Nonce: w.id("nonce"), Epoch: 1,
		Staged: &store.Outcome{Kind: store.OutcomeDone},
	})
}

func (w *world) addWaiting() {
	w.add("ready", store.Task{State: store.Ready, Epoch: 1, Settled: store.Settled{Epoch: 1}})
	w.add("scheduled", store.Task{Spec: store.Spec{DueAt: now}, State: store.Scheduled})
	w.addMessage(w.add("parked", store.Task{State: store.Parked}).ID)
	w.add("held", store.Task{State: store.Held, Reason: "look at it"})
	w.add("suspect", store.Task{State: store.Ready, Suspect: true, Solo: true, Crashes: 3, CrashRun: 2})
	w.add("spent", store.Task{State: store.Ready, Suspect: true, Crashes: store.CrashBudget})
	w.add("owned", store.Task{Spec: store.Spec{Owned: true}, State: store.Ready, Asked: "cancelled"})
}

func (w *world) addEnded() {
	at := ago(time.Minute)
	expire := at.Add(time.Hour)
	payload := store.Spec{Args: []byte("args"), Retention: time.Hour}
	w.add("done", store.Task{Spec: payload, State: store.Done, EndedAt: at, ExpireAt: expire, Epoch: 1, Settled: store.Settled{Epoch: 1}})
	w.add("cancelled", store.Task{Spec: payload, State: store.Cancelled, EndedAt: at, ExpireAt: expire})
	w.add("failed", store.Task{State: store.Failed, EndedAt: at, Crashes: 5, CrashRun: 5, History: make([]store.Event, store.HistoryLimit)})
	w.add("for ever", store.Task{Spec: store.Spec{Retention: -1}, State: store.Done, EndedAt: at})
	w.add("stripped", store.Task{State: store.Done, EndedAt: at, ExpireAt: at.Add(10 * time.Minute), Stripped: true})

	followed := store.Spec{OnEnd: &store.Spec{Kind: "after", Queue: "queue"}}
	t := w.add("followed", store.Task{Spec: followed, State: store.Failed, EndedAt: at, Round: 2})
	w.add("after", store.Task{Spec: store.Spec{ID: store.OnEndID(t.ID, 2)}, State: store.Ready})
	followed.Retention = time.Hour
	t = w.add("followed, kept", store.Task{Spec: followed, State: store.Done, EndedAt: at, ExpireAt: expire})
	w.add("after, done", store.Task{Spec: store.Spec{ID: store.OnEndID(t.ID, 0), Retention: -1}, State: store.Done, EndedAt: at})
}

func (w *world) addKeyed() {
	key := func(name string, span time.Duration) store.Spec {
		return store.Spec{Unique: store.Unique{Key: w.seed + name, For: span}, Retention: -1}
	}
	w.addKey(w.add("keyed", store.Task{Spec: key("live", 0), State: store.Ready}), time.Time{})
	w.addKey(w.add("keyed for ever", store.Task{Spec: key("kept", -1), State: store.Done, EndedAt: ago(time.Minute)}), time.Time{})
	w.addKey(w.add("keyed for long", store.Task{Spec: key("timed", 2*time.Hour), State: store.Ready}), ago(-time.Hour))
	w.add("keyed once", store.Task{Spec: key("lapsed", time.Minute), State: store.Ready})
	w.add("keyed, failed", store.Task{Spec: key("live", -1), State: store.Failed, EndedAt: ago(time.Minute)})
	w.addKey(w.add("keyed, failed, and stays", store.Task{Spec: key("stays", store.KeyStays), State: store.Failed, EndedAt: ago(time.Minute)}), time.Time{})
	w.add("keyed, replaced", store.Task{
		Spec: key("live", -1), State: store.Cancelled, Reason: store.ReasonReplaced, EndedAt: ago(time.Minute),
	})
}

func (w *world) addFilling() {
	g := w.addGroup("filling", store.Group{State: store.GroupFilling, Total: 3, Cancelled: 1})
	member := store.Spec{Group: g.ID, Retention: -1}
	w.add("waiting member", store.Task{Spec: member, State: store.Held, Reason: store.ReasonGroup})
	w.add("cancelled member", store.Task{Spec: member, State: store.Cancelled, EndedAt: ago(time.Minute)})
	member.Owned = true
	w.add("asked member", store.Task{Spec: member, State: store.Ready, Asked: "cancelled"})
}

func (w *world) addOpen() {
	g := w.addGroup("open", store.Group{State: store.GroupOpen, Total: 5, Done: 2, Failed: 1, Cancelled: 1})
	member := store.Spec{Group: g.ID, Retention: time.Hour}
	w.add("ready member", store.Task{Spec: member, State: store.Ready})
	w.add("done member", store.Task{Spec: member, State: store.Done, EndedAt: ago(time.Minute)})
	w.add("failed member", store.Task{Spec: member, State: store.Failed, EndedAt: ago(time.Minute)})
}

func (w *world) addClosed() {
	g := w.addGroup("closed", store.Group{
		State: store.GroupClosed, ClosedAt: ago(time.Minute), Total: 1, Done: 1, Keeper: store.CloseID(w.id("closed"), 1),
		NewGroup: store.NewGroup{OnClose: &store.Spec{Kind: "closing", Queue: "queue"}},
	})
	w.add("closing", store.Task{Spec: store.Spec{ID: g.Keeper}, State: store.Ready})
	w.add("kept member", store.Task{Spec: store.Spec{Group: g.ID}, State: store.Done, EndedAt: ago(time.Minute)})
}
