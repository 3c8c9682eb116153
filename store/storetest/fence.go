package storetest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// verb is a write of an owner.
type verb struct {
	name string
	kind store.OutcomeKind // empty: not an outcome
	do   func(w *world, k *worker, f store.Fence, p payload) error
}

// payload is what a write would leave behind.
type payload struct {
	entries map[string][]byte
	follow  store.Spec
	group   store.NewGroup
	message store.ID
}

// lost is a way to lose a fence, or never to have had it.
type lost struct {
	name string
	lose func(w *world, k, other *worker, task store.Task, v verb) store.Fence
}

// fenceTests refuse every write under every fence that does not hold. I4
func fenceTests() []test {
	var tests []test
	for _, v := range verbs() {
		for _, l := range losses() {
			tests = append(tests, test{fmt.Sprintf("%s %s is refused, and nothing is written", v.name, l.name), func(t *testing.T, w *world) {
				refuseWrite(t, w, v, l)
			}})
		}
	}
	return tests
}

func verbs() []verb {
	all := []verb{
		{"Save", "", func(w *world, k *worker, f store.Fence, p payload) error {
			_, err := k.st.Save(w.ctx(), store.SaveRequest{
				Fence: f, Entries: p.entries, Progress: &store.Progress{Done: 99}, Consume: []store.ID{p.message},
			})
			return err
		}},
		{"Stage", "", func(w *world, _ *worker, f store.Fence, p payload) error {
			return w.stager().Stage(w.ctx(), store.Completion{Fence: f, Outcome: p.outcome(store.OutcomeDone)})
		}},
	}
	for _, kind := range []store.OutcomeKind{
		store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze, store.OutcomePark,
		store.OutcomeRelease, store.OutcomeHold,
	} {
		all = append(all, verb{"Complete with " + string(kind), kind, func(_ *world, k *worker, f store.Fence, p payload) error {
			return k.try(f, p.outcome(kind)).Err
		}})
	}
	return all
}

func (p payload) outcome(kind store.OutcomeKind) store.Outcome {
	return store.Outcome{
		Kind: kind, Reason: "spoiled", Result: []byte("spoiled"), Error: &store.Error{Message: "spoiled"}, Entries: p.entries,
		Consume: []store.ID{p.message}, Groups: []store.NewGroup{p.group}, Follow: []store.Spec{p.follow},
	}
}

func losses() []lost {
	return []lost{
		{"under a later epoch", func(_ *world, _, _ *worker, task store.Task, _ verb) store.Fence {
			f := task.Fence()
			f.Epoch++
			return f
		}},
		{"under an earlier epoch", func(_ *world, _, _ *worker, task store.Task, _ verb) store.Fence {
			f := task.Fence()
			f.Epoch--
			return f
		}},
		{"under another nonce", func(w *world, _, _ *worker, task store.Task, _ verb) store.Fence {
			f := task.Fence()
			f.Nonce = w.id()
			return f
		}},
		{"without a nonce", func(_ *world, _, _ *worker, task store.Task, _ verb) store.Fence {
			f := task.Fence()
			f.Nonce = store.ID{}
			return f
		}},
		{"after it was put back", func(_ *world, k, _ *worker, task store.Task, _ verb) store.Fence {
			k.leave()
			return task.Fence()
		}},
		{"after reassignment", func(_ *world, k, other *worker, task store.Task, _ verb) store.Fence {
			k.leave()
			other.take()
			return task.Fence()
		}},
		{"after the ending", func(_ *world, k, _ *worker, task store.Task, v verb) store.Fence {
			// Another kind, because the same would be a repeat.
			end := store.OutcomeFail
			if v.kind == end {
				end = store.OutcomeDone
			}
			k.end(task, store.Outcome{Kind: end})
			return task.Fence()
		}},
	}
}

func refuseWrite(t *testing.T, w *world, v verb, l lost) {
	k, other := w.join(), w.join()
	task := k.start()
	k.save(task, map[string][]byte{"kept": []byte("1")})
	p := payload{
		entries: map[string][]byte{"kept": nil, "spoiled": []byte("1")}, follow: w.spec(), group: store.NewGroup{ID: w.id()},
		message: w.send(task.ID, "m"),
	}
	f := l.lose(w, k, other, task, v)
	before, entries, messages := w.get(task.ID), w.load(task.ID), w.messages(task.ID)
	w.refused(v.name, v.do(w, k, f, p), store.ErrFenced)
	w.same(before)
	if got := w.load(task.ID); !reflect.DeepEqual(got, entries) {
		t.Errorf("Load = %q, want %q", got, entries)
	}
	w.sameIDs("Messages", w.messages(task.ID), messages)
	if w.exists(p.follow.ID) {
		t.Errorf("a follow-up of a refused write was stored")
	}
	if _, err := w.st.Group(w.ctx(), p.group.ID); err == nil {
		t.Errorf("a group of a refused write was stored")
	}
}
