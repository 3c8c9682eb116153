package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func inboxTests() []test {
	return []test{
		{"messages are listed in the order they came", inboxOrder},
		{"a message sent twice is seen once", inboxTwice},
		{"a message sent again after it was consumed is not seen", inboxConsumed},
		{"a message consumed and sent again does not wake", inboxNoWake},
		{"an outcome consumes with the rest of it", inboxOutcome},
		{"messages may come before the task is started", inboxEarly},
		{"messages outlive the crash of the owner", inboxCrash},
		{"the ending empties it, and a terminal task takes none", inboxEnded},
		{"the ending forgets what was not consumed, and only that", inboxForgets},
		{"an unknown task is not found", inboxUnknown},
		{"the same id for two tasks is two messages", inboxTwoTasks},
		{"a refused outcome consumes nothing", inboxFencedOutcome},
	}
}

func (w *world) messages(id store.ID) []store.ID {
	w.t.Helper()
	list, err := w.st.Messages(w.ctx(), id)
	w.ok("Messages", err)
	out := make([]store.ID, len(list))
	for i, m := range list {
		out[i] = m.ID
	}
	return out
}

func inboxOrder(t *testing.T, w *world) {
	id := w.put()
	// Ids that sort against the order in which they come.
	c, b, a := w.id(), w.id(), w.id()
	for _, m := range []store.ID{a, b, c} {
		w.ok("Send", w.st.Send(w.ctx(), store.Message{ID: m, Task: id, Name: "name", Body: []byte("\x00body")}))
	}
	w.sameIDs("Messages", w.messages(id), []store.ID{a, b, c})
	list, err := w.st.Messages(w.ctx(), id)
	w.ok("Messages", err)
	if m := list[0]; m.Name != "name" || string(m.Body) != "\x00body" || m.Task != id || !w.near(m.SentAt, w.now()) {
		t.Errorf("Messages = %+v, want it as it was sent, now", m)
	}
}

func inboxTwice(t *testing.T, w *world) {
	id := w.put()
	m := store.Message{ID: w.id(), Task: id, Name: "n", Body: []byte("first")}
	w.ok("Send", w.st.Send(w.ctx(), m))
	m.Body = []byte("second")
	w.ok("Send again", w.st.Send(w.ctx(), m))
	list, err := w.st.Messages(w.ctx(), id)
	w.ok("Messages", err)
	if len(list) != 1 || string(list[0].Body) != "first" {
		t.Errorf("Messages = %+v, want the first alone", list)
	}
	if got := w.get(id).Wakes; got != 1 {
		t.Errorf("wakes = %d, want 1", got)
	}
}

func inboxConsumed(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	m := store.Message{ID: w.id(), Task: task.ID, Name: "n"}
	w.ok("Send", w.st.Send(w.ctx(), m))
	_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: task.Fence(), Consume: []store.ID{m.ID}})
	w.ok("Save", err)
	w.ok("Send again", w.st.Send(w.ctx(), m))
	w.sameIDs("Messages", w.messages(task.ID), []store.ID{})
}

// FT-22
func inboxNoWake(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	m := store.Message{ID: w.id(), Task: task.ID, Name: "n"}
	w.ok("Send", w.st.Send(w.ctx(), m))
	k.park(task)
	task = k.take()
	k.end(task, store.Outcome{Kind: store.OutcomePark, Wakes: task.Wakes, Consume: []store.ID{m.ID}})
	w.pass(50)
	w.ok("Send again", w.st.Send(w.ctx(), m))
	w.in(task.ID, store.Parked)
}

func inboxOutcome(t *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{store.OutcomePark, store.OutcomeRetry, store.OutcomeSnooze, store.OutcomeHold} {
		task := k.start(func(s *store.Spec) { s.Kind = "of." + string(out) })
		one, two := w.send(task.ID, "one"), w.send(task.ID, "two")
		k.end(task, store.Outcome{Kind: out, Reason: "look", Wakes: task.Wakes + 2, Consume: []store.ID{one}, Entries: map[string][]byte{"used": []byte("one")}})
		w.sameIDs("Messages after "+string(out), w.messages(task.ID), []store.ID{two})
		if got := w.load(task.ID); string(got["used"]) != "one" {
			t.Errorf("Load after %s = %q, want the use recorded", out, got)
		}
	}
}

func inboxEarly(_ *testing.T, w *world) {
	k := w.join()
	id := w.put(w.delay(5))
	m := w.send(id, "early")
	w.pass(6)
	k.take()
	w.sameIDs("Messages", w.messages(id), []store.ID{m})
}

func inboxCrash(_ *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	m := w.send(task.ID, "m")
	k.die(by)
	by.take()
	w.sameIDs("Messages", w.messages(task.ID), []store.ID{m})
}

func inboxEnded(_ *testing.T, w *world) {
	k := w.join()
	for _, out := range []store.OutcomeKind{store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel} {
		task := k.start()
		w.send(task.ID, "unread")
		k.end(task, store.Outcome{Kind: out})
		before := w.get(task.ID)
		err := w.st.Send(w.ctx(), store.Message{ID: w.id(), Task: task.ID, Name: "late"})
		w.refused("Send", err, store.ErrState)
		w.same(before)
		w.sameIDs("Messages of an ended task", w.messages(task.ID), []store.ID{})
	}
}

func inboxUnknown(_ *testing.T, w *world) {
	w.refused("Send", w.st.Send(w.ctx(), store.Message{ID: w.id(), Task: w.id(), Name: "n"}), store.ErrNotFound)
	_, err := w.st.Messages(w.ctx(), w.id())
	w.refused("Messages", err, store.ErrNotFound)
}

func inboxTwoTasks(_ *testing.T, w *world) {
	a, b, m := w.put(), w.put(), w.id()
	for _, task := range []store.ID{a, b} {
		w.ok("Send", w.st.Send(w.ctx(), store.Message{ID: m, Task: task, Name: "n"}))
	}
	w.sameIDs("Messages of a", w.messages(a), []store.ID{m})
	w.sameIDs("Messages of b", w.messages(b), []store.ID{m})
}

func inboxFencedOutcome(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	m := w.send(task.ID, "m")
	bad := task.Fence()
	bad.Epoch++
	w.refused("Complete", k.try(bad, store.Outcome{Kind: store.OutcomeDone, Consume: []store.ID{m}}).Err, store.ErrFenced)
	w.sameIDs("Messages", w.messages(task.ID), []store.ID{m})
}

func inboxForgets(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	used, unread := w.send(task.ID, "used"), w.send(task.ID, "unread")
	k.end(task, store.Outcome{Kind: store.OutcomeFail, Consume: []store.ID{used}})
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	for _, id := range []store.ID{used, unread} {
		w.ok("Send again", w.st.Send(w.ctx(), store.Message{ID: id, Task: task.ID, Name: "n"}))
	}
	w.sameIDs("Messages", w.messages(task.ID), []store.ID{unread})
}
