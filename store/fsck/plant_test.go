package fsck_test

import (
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// plant makes a world that is in order into another one.
type plant struct {
	rule  string // the one that finds it
	name  string
	plant func(w *world)
}

// on plants a fault in one task.
func on(rule, task, name string, change func(t *store.Task)) plant {
	return plant{rule, task + " " + name, func(w *world) { change(w.tasks[task]) }}
}

// in plants a fault in one group.
func in(group, name string, change func(g *store.Group)) plant {
	return plant{"group", group + " " + name, func(w *world) { change(w.groups[group]) }}
}

func plants() []plant {
	return slices.Concat(ownerPlants(), recordPlants(), endPlants(), groupPlants(), crossPlants(), keyPlants())
}

func ownerPlants() []plant {
	return []plant{
		on("driver", "scheduled", "without a time", func(t *store.Task) { t.DueAt = time.Time{} }),
		on("driver", "held", "without a reason", func(t *store.Task) { t.Reason = "" }),
		on("driver", "ready", "in no state", func(t *store.Task) { t.State = "" }),
		on("driver", "ready", "stored as ending", func(t *store.Task) { t.State = store.Ending }),
		{"driver", "ready, twice", func(w *world) { w.entries = append(w.entries, store.Entry{Task: w.tasks["ready"]}) }},
		on("owner", "running 0", "without a worker", func(t *store.Task) { t.Worker = "" }),
		on("owner", "running 0", "without a nonce", func(t *store.Task) { t.Nonce = store.ID{} }),
		on("owner", "running unlimited", "without an epoch", func(t *store.Task) { t.Epoch = 0 }),
		on("owner", "ready", "with a worker", func(t *store.Task) { t.Worker = "worker" }),
		on("owner", "parked", "with a nonce", func(t *store.Task) { t.Nonce = store.ID{1} }),
		on("owner", "held", "with a staged outcome", func(t *store.Task) { t.Staged = &store.Outcome{} }),
		on("orphan", "running 0", "under a worker that is not there", func(t *store.Task) { t.Worker = "nobody" }),
		{"worker", "dead of nothing", func(w *world) { w.worker.DeadAt = now }},
		{"worker", "dead at no time", func(w *world) { w.worker.Death = store.DeathLeft }},
	}
}

func recordPlants() []plant {
	return []plant{
		on("asked", "ready", "asked", func(t *store.Task) { t.Asked = "cancelled" }),
		on("suspects", "ready", "a suspect for nothing", func(t *store.Task) { t.Suspect = true }),
		on("suspects", "done", "a suspect for nothing", func(t *store.Task) { t.Suspect = true }),
		on("suspects", "ready", "solo for nothing", func(t *store.Task) { t.Solo = true }),
		on("suspects", "suspect", "not suspected by its run", func(t *store.Task) { t.Suspect, t.Solo = false, false }),
		on("suspects", "spent", "not suspected by its budget", func(t *store.Task) { t.Suspect = false }),
		on("history", "failed", "too long", func(t *store.Task) { t.History = append(t.History, store.Event{}) }),
		on("fence", "ready", "settled in the future", func(t *store.Task) { t.Settled.Epoch = 2 }),
		on("fence", "running 0", "settled under its own epoch", func(t *store.Task) { t.Settled.Epoch = 2 }),
		on("count", "ready", "negative attempts", func(t *store.Task) { t.Attempts = -1 }),
		on("count", "ready", "negative crashes", func(t *store.Task) { t.Crashes, t.CrashRun = -1, -1 }),
		on("count", "ready", "a run beyond all crashes", func(t *store.Task) { t.CrashRun = 1 }),
		on("time", "failed", "ended before it began", func(t *store.Task) { t.EndedAt = ago(2 * time.Hour) }),
	}
}

func endPlants() []plant {
	return []plant{
		on("terminal", "failed", "without an end", func(t *store.Task) { t.EndedAt = time.Time{} }),
		on("terminal", "ready", "with an end", func(t *store.Task) { t.EndedAt = now }),
		on("terminal", "done", "with a worker", func(t *store.Task) { t.Worker = "worker" }),
		on("terminal", "done", "with a nonce", func(t *store.Task) { t.Nonce = store.ID{1} }),
		on("terminal", "done", "with a staged outcome", func(t *store.Task) { t.Staged = &store.Outcome{} }),
		on("expiry", "ready", "with an expiry", func(t *store.Task) { t.ExpireAt = now }),
		on("expiry", "failed", "with an expiry", func(t *store.Task) { t.ExpireAt = ago(-time.Hour) }),
		on("expiry", "done", "without an expiry", func(t *store.Task) { t.ExpireAt = time.Time{} }),
		on("expiry", "done", "before its retention", func(t *store.Task) { t.ExpireAt = now.Add(58 * time.Minute) }),
		on("expiry", "stripped", "before the horizon", func(t *store.Task) { t.ExpireAt = now }),
		on("expiry", "for ever", "with an expiry", func(t *store.Task) { t.ExpireAt = now.Add(time.Hour) }),
		on("expiry", "after, done", "not done", func(t *store.Task) { t.State, t.EndedAt = store.Ready, time.Time{} }),
		on("expiry", "after, done", "failed", func(t *store.Task) { t.State = store.Failed }),
		on("expiry", "after, done", "cancelled", func(t *store.Task) { t.State = store.Cancelled }),
		on("stripped", "stripped", "with args", func(t *store.Task) { t.Args = []byte("a") }),
		on("stripped", "stripped", "with a result", func(t *store.Task) { t.Result = []byte("a") }),
		on("stripped", "stripped", "with a history", func(t *store.Task) { t.History = make([]store.Event, 1) }),
		on("stripped", "stripped", "not stripped", func(t *store.Task) { t.Stripped = false }),
		on("stripped", "done", "stripped", func(t *store.Task) { t.Stripped, t.Args = true, nil }),
		on("stripped", "ready", "stripped", func(t *store.Task) { t.Stripped = true }),
		{"onend", "lost", func(w *world) { w.remove("after") }},
		on("onend", "followed", "of another round", func(t *store.Task) { t.Round++ }),
		{"onend", "lost long ago, kept for ever", func(w *world) {
			w.remove("after")
			w.tasks["followed"].EndedAt = ago(time.Hour)
			w.tasks["followed"].OnEnd.Retention = -1
		}},
		{"close", "lost", func(w *world) { w.remove("closing") }},
		{"close", "of another generation", func(w *world) { w.groups["closed"].Generation++ }},
	}
}

func groupPlants() []plant {
	return []plant{
		in("open", "with too few members", func(g *store.Group) { g.Total-- }),
		in("open", "with a member that went", func(g *store.Group) { g.Total++ }),
		in("open", "with a done one too few", func(g *store.Group) { g.Done, g.Total = 0, 3 }),
		in("open", "with a failed one too few", func(g *store.Group) { g.Failed, g.Total = 0, 4 }),
		in("filling", "with a cancelled one too few", func(g *store.Group) { g.Cancelled, g.Total = 0, 2 }),
		in("filling", "and sealed", func(g *store.Group) { g.Sealed = true }),
		in("open", "and not sealed", func(g *store.Group) { g.Sealed = false }),
		in("open", "in no state", func(g *store.Group) { g.State = "" }),
		in("open", "and closed", func(g *store.Group) { g.State, g.ClosedAt = store.GroupClosed, now }),
		in("closed", "at no time", func(g *store.Group) { g.ClosedAt = time.Time{} }),
		in("closed", "and open", func(g *store.Group) { g.State = store.GroupOpen }),
		{"group", "open without live members", func(w *world) {
			t := w.tasks["ready member"]
			t.State, t.EndedAt = store.Failed, now
			w.groups["open"].Failed++
		}},
		on("group", "ready member", "of no group", func(t *store.Task) { t.Group = store.ID{1} }),
		on("held", "held", "by no group", func(t *store.Task) { t.Reason = store.ReasonGroup }),
		on("held", "waiting member", "not held", func(t *store.Task) { t.State, t.Reason = store.Ready, "" }),
		on("held", "waiting member", "held by another", func(t *store.Task) { t.Reason = "look" }),
		{"held", "not held in a held group", func(w *world) {
			w.groups["filling"].State, w.groups["filling"].Sealed = store.GroupHeld, true
			w.tasks["waiting member"].State = store.Ready
		}},
		on("expiry", "done member", "before its group closed", func(t *store.Task) { t.ExpireAt = now.Add(time.Hour) }),
		on("expiry", "kept member", "before its keeper ended", func(t *store.Task) {
			t.ExpireAt, t.Stripped = now.Add(time.Hour), true
		}),
	}
}

func crossPlants() []plant {
	return []plant{
		{"slots", "one too many", func(w *world) { w.limit.InUse++ }},
		{"slots", "one too few", func(w *world) { w.limit.InUse-- }},
		{"slots", "none runs", func(w *world) { w.limit.Key = "other" }},
		on("order", "running 0", "with another one", func(t *store.Task) { t.Lane = "dead" }),
		{"order", "two of a suspect's line", func(w *world) {
			w.tasks["running 1"].Lane, w.tasks["running 1"].Order = "worker", store.OrderBlock
			w.tasks["running 1"].Suspect, w.tasks["running 1"].Crashes = true, store.CrashBudget
		}},
		{"inbox", "of nobody", func(w *world) { w.addMessage(store.ID{1}) }},
		{"inbox", "of one that ended", func(w *world) { w.addMessage(w.tasks["done"].ID) }},
	}
}

func keyPlants() []plant {
	key := func(key, name string, change func(k *store.Key)) plant {
		return plant{"keys", key + " " + name, func(w *world) { change(w.keys[key]) }}
	}
	return []plant{
		key("live", "of another kind", func(k *store.Key) { k.Kind = "other" }),
		key("live", "of another name", func(k *store.Key) { k.Key = "other" }),
		key("timed", "held by nobody", func(k *store.Key) { k.Task = store.ID{1} }),
		key("timed", "without its time", func(k *store.Key) { k.Until = time.Time{} }),
		key("kept", "with a time", func(k *store.Key) { k.Until = now.Add(time.Hour) }),
		{"keys", "held by one that has none", func(w *world) { w.keys["timed"].Task = w.tasks["ready"].ID }},
		{"keys", "held by one that failed", func(w *world) { w.addKey(w.tasks["keyed, failed"], time.Time{}) }},
		{"keys", "held by one that ended", func(w *world) {
			t := w.tasks["keyed"]
			t.State, t.EndedAt = store.Done, ago(time.Minute)
		}},
		{"keys", "held twice", func(w *world) { w.addKey(w.tasks["keyed"], time.Time{}) }},
		{"keys", "let go too early", func(w *world) { w.removeKey("live") }},
		{"keys", "let go with the failure", func(w *world) { w.removeKey("stays") }},
		{"keys", "let go with the end", func(w *world) { w.removeKey("kept") }},
	}
}
