package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

// scene is a task with everything that an ending touches: a group of which it is the only member, with a closing task and a
// parent; a parent of its own; a unique key, a limit's slot, an OnEnd task; and somebody who follows it.
type scene struct {
	w           *world
	owner, by   *worker
	id          store.ID
	group       store.ID
	parent      store.Task // woken by the task's end
	groupParent store.Task // woken by the group's closing
	newcomer    store.ID   // took the key; zero: nobody
	follow      []store.Spec
	newGroup    store.NewGroup
	watcher     *watcher
}

// road is one way to an ending.
type road struct {
	name    string
	edit    func(w *world, s *store.Spec)
	filling bool // the group is sealed by the road itself
	walk    func(s *scene)
	state   store.State
	reason  string
	carries bool // the outcome's follow-ups are submitted
}

// effect is one thing that every ending does.
type effect struct {
	name  string
	check func(t *testing.T, s *scene, r road)
}

func endingTests() []test {
	var tests []test
	for _, r := range roads() {
		tests = append(tests, test{r.name, func(t *testing.T, w *world) {
			s := newScene(w, r)
			r.walk(s)
			for _, e := range effects() {
				t.Run(e.name, func(t *testing.T) {
					// The helpers of the world report to the subtest while it runs.
					outer := w.t
					w.t = t
					defer func() { w.t = outer }()
					e.check(t, s, r)
				})
			}
		}})
	}
	return tests
}

const (
	subject = "subject"
	closing = "closing"
	after   = "after"
)

func newScene(w *world, r road) *scene {
	w.t.Helper()
	s := &scene{w: w, owner: w.join(), by: w.join()}
	s.parent = s.by.start(func(p *store.Spec) { p.Kind = "parent" })
	s.by.park(s.parent)
	s.groupParent = s.by.start(func(p *store.Spec) { p.Kind = "parent.group" })
	s.by.park(s.groupParent)
	w.limit(store.Limit{Key: "slot", Running: 1})
	spec := w.spec(unique(store.Keep, 0), limited("slot"), func(spec *store.Spec) {
		spec.Kind, spec.Parent, spec.OnEnd = subject, s.parent.ID, &store.Spec{Kind: after, Queue: queue}
	})
	if r.edit != nil {
		r.edit(w, &spec)
	}
	s.id = spec.ID
	s.group = w.group(store.NewGroup{
		Seal: !r.filling, Parent: s.groupParent.ID, OnClose: &store.Spec{Kind: closing, Queue: queue},
	}, spec)
	w.promote()
	client := w.Open(w.t)
	s.watcher = w.watch(client, "").ready(client)
	client.Follow(s.id)
	s.newGroup = store.NewGroup{ID: w.id(), Seal: true}
	s.follow = []store.Spec{
		w.spec(func(f *store.Spec) { f.Kind = "follow" }),
		w.spec(func(f *store.Spec) { f.Kind, f.Group = "follow", s.newGroup.ID }),
	}
	return s
}

// take lets the owner claim the subject.
func (s *scene) take() store.Task {
	s.w.t.Helper()
	return s.owner.take(subject)
}

// outcome is of a kind, with follow-ups and a group.
func (s *scene) outcome(kind store.OutcomeKind) store.Outcome {
	return store.Outcome{Kind: kind, Reason: "its own", Follow: s.follow, Groups: []store.NewGroup{s.newGroup}}
}

// complete is the road of an outcome of the owner.
func complete(kind store.OutcomeKind) func(s *scene) {
	return func(s *scene) { s.owner.end(s.take(), s.outcome(kind)) }
}

// asked is the road of an outcome that a request turns into an ending.
func asked(kind store.OutcomeKind) func(s *scene) {
	return func(s *scene) {
		task := s.take()
		s.w.cancel(s.id)
		s.owner.end(task, s.outcome(kind))
	}
}

// waited is the road of a task that is cancelled where an outcome has put it.
func waited(kind store.OutcomeKind) func(s *scene) {
	return func(s *scene) {
		s.owner.end(s.take(), store.Outcome{Kind: kind, Reason: "look"})
		s.w.cancel(s.id)
	}
}

func stagedRoad(settle func(s *scene, task store.Task)) func(s *scene) {
	return func(s *scene) {
		task := s.take()
		s.w.stage(task, s.outcome(store.OutcomeDone))
		settle(s, task)
	}
}

func roads() []road {
	return append(append(ownRoads(), outsideRoads()...), deadRoads()...)
}

// ownRoads begin with an outcome of the owner.
func ownRoads() []road {
	cancelled := store.ReasonCancelled
	return []road{
		{name: "done", walk: complete(store.OutcomeDone), state: store.Done, reason: "its own", carries: true},
		{name: "fail", walk: complete(store.OutcomeFail), state: store.Failed, reason: "its own", carries: true},
		{name: "cancel by the handler", walk: complete(store.OutcomeCancel), state: store.Cancelled, reason: "its own", carries: true},
		{name: "done though asked", walk: asked(store.OutcomeDone), state: store.Done, reason: "its own", carries: true},
		{name: "asked, then retry", walk: asked(store.OutcomeRetry), state: store.Cancelled, reason: cancelled},
		{name: "asked, then snooze", walk: asked(store.OutcomeSnooze), state: store.Cancelled, reason: cancelled},
		{name: "asked, then park", walk: asked(store.OutcomePark), state: store.Cancelled, reason: cancelled},
		{name: "asked, then release", walk: asked(store.OutcomeRelease), state: store.Cancelled, reason: cancelled},
		{name: "asked, then hold", walk: asked(store.OutcomeHold), state: store.Cancelled, reason: cancelled},
		{name: "asked, then left", state: store.Cancelled, reason: cancelled, walk: func(s *scene) {
			s.take()
			s.w.cancel(s.id)
			s.owner.leave()
		}},
		{
			name: "staged, settled by Complete", state: store.Done, reason: "its own", carries: true,
			walk: stagedRoad(func(s *scene, task store.Task) { s.owner.end(task, store.Outcome{Kind: store.OutcomeRelease}) }),
		},
		{
			name: "staged, settled by Save", state: store.Done, reason: "its own", carries: true,
			walk: stagedRoad(func(s *scene, task store.Task) {
				_, err := s.owner.st.Save(s.w.ctx(), store.SaveRequest{Fence: task.Fence()})
				s.w.refused("Save", err, store.ErrFenced)
			}),
		},
		{
			name: "staged, settled by Leave", state: store.Done, reason: "its own", carries: true,
			walk: stagedRoad(func(s *scene, _ store.Task) { s.owner.leave() }),
		},
		{
			name: "staged, settled by Recover", state: store.Done, reason: "its own", carries: true,
			walk: stagedRoad(func(s *scene, _ store.Task) { s.owner.die(s.by) }),
		},
	}
}

// outsideRoads are taken by others than the owner.
func outsideRoads() []road {
	return []road{
		{name: "cancel of a ready task", state: store.Cancelled, reason: store.ReasonCancelled, walk: func(s *scene) { s.w.cancel(s.id) }},
		{
			name: "cancel of a scheduled task", state: store.Cancelled, reason: store.ReasonCancelled,
			edit: func(w *world, s *store.Spec) { s.Delay = w.units(500) }, walk: func(s *scene) { s.w.cancel(s.id) },
		},
		{name: "cancel of a parked task", state: store.Cancelled, reason: store.ReasonCancelled, walk: waited(store.OutcomePark)},
		{name: "cancel of a held task", state: store.Cancelled, reason: store.ReasonCancelled, walk: waited(store.OutcomeHold)},
		{
			name: "cancel of a task held by its group", filling: true, state: store.Cancelled, reason: store.ReasonCancelled,
			walk: func(s *scene) { s.w.cancel(s.id); s.w.seal(s.group) },
		},
		{
			name: "abort, settled by Promote", state: store.Cancelled, reason: store.ReasonAborted,
			walk: func(s *scene) { s.w.abort(s.group); s.w.promote() },
		},
		{
			name: "abort, met by Claim", state: store.Cancelled, reason: store.ReasonAborted,
			walk: func(s *scene) { s.w.abort(s.group); s.owner.claim(9, subject) },
		},
		{
			name: "abort of a filling group", filling: true, state: store.Cancelled, reason: store.ReasonAborted,
			walk: func(s *scene) { s.w.abort(s.group); s.w.promote() },
		},
		{name: "abort of a running member, then release", state: store.Cancelled, reason: store.ReasonAborted, walk: func(s *scene) {
			task := s.take()
			s.w.abort(s.group)
			s.w.promote()
			s.owner.end(task, s.outcome(store.OutcomeRelease))
		}},
		{name: "abort of a running member, then release before any pass", state: store.Cancelled, reason: store.ReasonAborted, walk: func(s *scene) {
			task := s.take()
			s.w.abort(s.group)
			s.owner.end(task, s.outcome(store.OutcomeRetry))
			s.w.promote()
		}},
		{
			name: "start-by passed, met by Promote", state: store.Cancelled, reason: store.ReasonExpired,
			edit: func(w *world, s *store.Spec) { s.StartBy = w.units(5) }, walk: func(s *scene) { s.w.pass(6); s.w.promote() },
		},
		{
			name: "start-by passed, met by Claim", state: store.Cancelled, reason: store.ReasonExpired,
			edit: func(w *world, s *store.Spec) { s.StartBy = w.units(5) }, walk: func(s *scene) { s.w.pass(6); s.owner.claim(9, subject) },
		},
		{name: "replaced by a newcomer", state: store.Cancelled, reason: store.ReasonReplaced, walk: func(s *scene) {
			s.newcomer = s.w.put(unique(store.Replace, 0), func(n *store.Spec) { n.Kind = subject })
		}},
		{name: "corrupt, met by Claim", state: store.Failed, reason: store.ReasonCorrupt, walk: func(s *scene) {
			s.w.e.Corrupt(s.w.World, s.id)
			s.owner.claim(9, subject)
		}},
	}
}

// deadRoads lead over the death of the owner, or its being stuck.
func deadRoads() []road {
	return []road{
		{name: "asked, then recovered", state: store.Cancelled, reason: store.ReasonCancelled, walk: func(s *scene) {
			s.take()
			s.w.cancel(s.id)
			s.owner.die(s.by)
		}},
		{name: "died alone as a suspect", state: store.Failed, reason: store.ReasonCrashed, walk: func(s *scene) {
			for range store.Suspicion {
				k := s.w.join()
				k.take(subject)
				k.die(s.by)
			}
			req := s.owner.request(1, subject)
			req.Suspects = 1
			if got := s.owner.ask(req).Tasks; len(got) != 1 {
				s.w.t.Fatalf("Claim of suspects took %d, want 1", len(got))
			}
			s.owner.die(s.by)
		}},
		{
			name: "attempts spent by being stuck", state: store.Failed, reason: store.ReasonAttempts,
			edit: func(w *world, s *store.Spec) { s.Timeout, s.Retry = w.units(5), store.Retry{Max: 1} },
			walk: func(s *scene) { s.take(); s.w.live(5 + 10 + 2); s.by.recoverAll() },
		},
		{
			name: "attempts spent by a crash", state: store.Failed, reason: store.ReasonAttempts,
			edit: func(_ *world, s *store.Spec) { s.Retry = store.Retry{Max: 1, CrashSpends: true} },
			walk: func(s *scene) { s.take(); s.owner.die(s.by) },
		},
		{name: "corrupt, met by Recover", state: store.Failed, reason: store.ReasonCorrupt, walk: func(s *scene) {
			s.take()
			s.w.e.Corrupt(s.w.World, s.id)
			s.owner.die(s.by)
		}},
		{name: "aborted, then recovered", state: store.Cancelled, reason: store.ReasonAborted, walk: func(s *scene) {
			s.take()
			s.w.abort(s.group)
			s.owner.die(s.by)
		}},
	}
}
