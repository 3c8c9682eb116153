package storetest

import (
	"strings"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// invalidTests hand over what can never be stored, field by field.
func invalidTests() []test {
	long, control := strings.Repeat("x", store.KeyLimit+1), "a\nb"
	name := strings.Repeat("x", store.NameLimit+1)
	var tests []test
	for _, c := range []struct {
		field string
		edit  edit
	}{
		{"an empty kind", func(s *store.Spec) { s.Kind = "" }},
		{"a kind with a blank", func(s *store.Spec) { s.Kind = "a b" }},
		{"a kind outside ASCII", func(s *store.Spec) { s.Kind = "é" }},
		{"a kind too long", func(s *store.Spec) { s.Kind = name }},
		{"an empty queue", func(s *store.Spec) { s.Queue = "" }},
		{"a queue with a control character", func(s *store.Spec) { s.Queue = "a\x00" }},
		{"a queue too long", func(s *store.Spec) { s.Queue = name }},
		{"a lane too long", func(s *store.Spec) { s.Lane = long }},
		{"a lane with a control character", func(s *store.Spec) { s.Lane = "a\x00b" }},
		{"a limit that is not UTF-8", func(s *store.Spec) { s.Limit = "\xff" }},
		{"a limit too long", func(s *store.Spec) { s.Limit = long }},
		{"a unique key too long", func(s *store.Spec) { s.Unique.Key = long }},
		{"a unique key with a control character", func(s *store.Spec) { s.Unique.Key = control }},
		{"a fingerprint too long", func(s *store.Spec) { s.Fingerprint = long }},
		{"a correlation with a control character", func(s *store.Spec) { s.Correlation = control }},
		{"a trace too long", func(s *store.Spec) { s.Trace = long }},
		{"a label without a name", func(s *store.Spec) { s.Labels = map[string]string{"": "v"} }},
		{"a label whose value is too long", func(s *store.Spec) { s.Labels = map[string]string{"l": long} }},
		{"a negative delay", func(s *store.Spec) { s.Delay = -1 }},
		{"a negative start-by", func(s *store.Spec) { s.StartBy = -1 }},
		{"a negative timeout", func(s *store.Spec) { s.Timeout = -1 }},
		{"a negative base", func(s *store.Spec) { s.Retry.Base = -1 }},
		{"a negative cap", func(s *store.Spec) { s.Retry.Cap = -1 }},
		{"an unknown order", func(s *store.Spec) { s.Order = "sideways" }},
		{"an unknown conflict", func(s *store.Spec) { s.Unique.OnConflict = "fight" }},
		{"an OnEnd without a kind", func(s *store.Spec) { s.OnEnd = &store.Spec{Queue: queue} }},
		{"an OnEnd of an OnEnd", func(s *store.Spec) {
			s.OnEnd = &store.Spec{Kind: kind, Queue: queue, OnEnd: &store.Spec{Kind: kind, Queue: queue}}
		}},
	} {
		tests = append(tests, test{c.field, func(t *testing.T, w *world) { refuseSpec(t, w, c.edit) }})
	}
	return append(tests,
		test{"a task without id", invalidNoID},
		test{"a message without id", invalidMessage},
		test{"a group without id", invalidGroup},
		test{"a schedule without a name", invalidSchedule},
		test{"a worker without id", invalidWorker},
		test{"the longest names and keys are stored", invalidNot},
	)
}

// refuseSpec hands a bad Spec over on every way that a Spec can go.
func refuseSpec(t *testing.T, w *world, bad edit) {
	k := w.join()
	holder := k.start()
	s := w.spec(bad)
	w.refused("Submit", w.try(s).Err, store.ErrInvalid)
	for _, out := range []store.Outcome{
		{Kind: store.OutcomeDone, Follow: []store.Spec{s}},
		{Kind: store.OutcomeRetry, Follow: []store.Spec{w.spec(), s}},
	} {
		w.refused("Complete with it as a follow-up", k.try(holder.Fence(), out).Err, store.ErrInvalid)
		w.in(holder.ID, store.Running)
	}
	g := store.NewGroup{ID: w.id(), OnClose: &s}
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Groups: []store.NewGroup{g}})
	w.ok("Submit", err)
	w.refused("Submit as what follows a closing", res.Groups[0], store.ErrInvalid)
	_, err = w.st.PutSchedule(w.ctx(), store.Schedule{Name: "s", Rule: "r", Task: s})
	w.refused("PutSchedule", err, store.ErrInvalid)
	if got := w.list(store.Filter{}); len(got) != 1 {
		t.Errorf("List = %d tasks, want only the one that was sound", len(got))
	}
}

func invalidNoID(_ *testing.T, w *world) {
	s := w.spec()
	s.ID = store.ID{}
	w.refused("Submit", w.try(s).Err, store.ErrInvalid)
	k := w.join()
	task := k.start()
	w.refused("Complete", k.try(task.Fence(), store.Outcome{Kind: store.OutcomeDone, Follow: []store.Spec{s}}).Err, store.ErrInvalid)
	w.in(task.ID, store.Running)
}

func invalidMessage(_ *testing.T, w *world) {
	id := w.put()
	w.refused("Send", w.st.Send(w.ctx(), store.Message{Task: id, Name: "n"}), store.ErrInvalid)
	if got := w.get(id).Wakes; got != 0 {
		w.t.Errorf("Wakes = %d, want 0", got)
	}
}

func invalidGroup(_ *testing.T, w *world) {
	res, err := w.st.Submit(w.ctx(), store.SubmitRequest{Groups: []store.NewGroup{{Name: "x"}}})
	w.ok("Submit", err)
	w.refused("Submit of a group", res.Groups[0], store.ErrInvalid)
}

func invalidSchedule(_ *testing.T, w *world) {
	_, err := w.st.PutSchedule(w.ctx(), store.Schedule{Rule: "r", Task: store.Spec{Kind: kind, Queue: queue}})
	w.refused("PutSchedule", err, store.ErrInvalid)
}

func invalidWorker(_ *testing.T, w *world) {
	st := w.Open(w.t)
	w.refused("Join", st.Join(w.ctx(), store.JoinRequest{Beat: w.u, DeadAfter: w.units(9)}), store.ErrInvalid)
}

func invalidNot(_ *testing.T, w *world) {
	name, key := strings.Repeat("n", store.NameLimit), strings.Repeat("k", store.KeyLimit)
	id := w.put(func(s *store.Spec) {
		s.Kind, s.Queue, s.Lane, s.Limit, s.Unique.Key, s.Fingerprint, s.Correlation, s.Trace = name, name, key, key, key, key, key, key
		s.Labels = map[string]string{name: key}
	})
	k := w.join()
	req := store.ClaimRequest{Worker: k.id, Nonce: w.id(), Kinds: []string{name}, Queues: []store.QueueSlots{{Queue: name, Slots: 1}}}
	w.sameIDs("Claim", ids(k.ask(req).Tasks), []store.ID{id})
}
