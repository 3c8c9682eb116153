package fsck_test

import (
	"time"

	"github.com/outlast-go/outlast/store"
)

// excuses are worlds that look wrong and are not.
func excuses() []plant {
	return []plant{
		{"", "an OnEnd task that may have been pruned", func(w *world) {
			w.remove("after")
			w.tasks["followed"].EndedAt = ago(11 * time.Minute)
		}},
		{"", "an OnEnd task of one that expires", func(w *world) { w.remove("after, done") }},
		{"", "an OnEnd task whose unique key was held", func(w *world) {
			w.remove("after")
			w.tasks["followed"].OnEnd.Unique.Key = "key"
		}},
		{"", "an OnEnd task that was cancelled and has nothing left to run with", func(w *world) {
			t := w.tasks["after, done"]
			t.State, t.Retention, t.Stripped, t.ExpireAt = store.Cancelled, 0, true, now.Add(time.Hour)
		}},
		{"", "an OnClose task that may have been pruned", func(w *world) {
			w.remove("closing")
			w.groups["closed"].ClosedAt = ago(11 * time.Minute)
		}},
		{"", "an OnClose task whose unique key was held", func(w *world) {
			w.remove("closing")
			w.groups["closed"].OnClose.Unique.Key = "key"
		}},
		{"", "an OnClose task that its own group may have refused", func(w *world) {
			w.remove("closing")
			w.groups["closed"].OnClose.Group = store.ID{1}
		}},
		{"", "ended members that were removed", func(w *world) {
			w.remove("done member")
			w.remove("failed member")
			w.remove("kept member")
		}},
		{"", "a member that expires since the closing task ended", func(w *world) {
			w.tasks["closing"].State, w.tasks["closing"].EndedAt = store.Failed, now
			w.tasks["kept member"].ExpireAt, w.tasks["kept member"].Stripped = now.Add(time.Hour), true
		}},
		{"", "a member that expires since its parent ended before the group closed", func(w *world) {
			w.groups["open"].Parent, w.groups["open"].Keeper = w.tasks["failed"].ID, w.tasks["failed"].ID
			w.tasks["done member"].ExpireAt = now.Add(time.Hour)
		}},
		{"", "a member that expires since before its group was reopened", func(w *world) {
			w.groups["open"].Generation = 2
			w.tasks["done member"].ExpireAt = now.Add(time.Hour)
		}},
		{"", "a retried member of a group that fills", func(w *world) {
			t := w.tasks["waiting member"]
			t.State, t.Reason, t.Round = store.Ready, "", 1
		}},
		{"", "a lapsed key that nobody met since", func(w *world) {
			w.keys["timed"].Task, w.keys["timed"].Until = store.ID{1}, now
		}},
		{"", "a member without retention that is stripped before it may expire", func(w *world) { w.tasks["kept member"].Stripped = true }},
		{"", "a schedule", func(w *world) { w.entries = append(w.entries, store.Entry{Schedule: &store.Schedule{Name: "s"}}) }},
	}
}
