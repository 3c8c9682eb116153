package storetest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// commands are the calls of a random sequence: every operation, with arguments that hold and that do not.
func commands() map[string]func(c *chaos) {
	all := fleetCommands()
	maps.Copy(all, taskCommands())
	maps.Copy(all, groupCommands())
	maps.Copy(all, settingCommands())
	maps.Copy(all, readCommands())
	all["Reseal"] = resealCommand
	return all
}

// commandNames lists them sorted, and those by which most happens more often.
func commandNames() []string {
	names := slices.Sorted(maps.Keys(commands()))
	return append(names, "Submit", "Submit", "Claim", "Claim", "Claim", "Complete", "Complete", "Complete", "pass", "pass",
		"Beat", "Recover", "Promote", "Join", "die", "poison", "settle", "settle", "Retry")
}

func fleetCommands() map[string]func(c *chaos) {
	return map[string]func(c *chaos){
		"Join": func(c *chaos) {
			if len(c.sides[1].handles) > 3 {
				c.crash(c.worker())
			}
			c.join()
		},
		"Beat": func(c *chaos) {
			worker := c.worker()
			req := store.BeatRequest{Worker: worker, Queues: []string{"q0"}, Kinds: []string{"k0", "k1"}}
			c.both("Beat "+worker, func(d *side) (any, error) { return wrapAny(d.handle(worker).Beat(c.ctx(), req)) })
		},
		"Leave": func(c *chaos) {
			worker := c.worker()
			c.both("Leave "+worker, func(d *side) (any, error) { return wrapAny(d.handle(worker).Leave(c.ctx(), worker)) })
		},
		"Recover": func(c *chaos) {
			worker := pick(c, c.worker(), "")
			req := store.RecoverRequest{Worker: worker, Force: !c.exact || c.bool()}
			c.both("Recover by "+worker, func(d *side) (any, error) { return wrapAny(d.handle(worker).Recover(c.ctx(), req)) })
		},
		"crash": func(c *chaos) { c.crash(c.worker()) },
		"pass": func(c *chaos) {
			units := pick(c, 1, 1, 1, 2, 3, 7, 12, 25)
			if c.exact && c.rarely(40) {
				units, c.stepped = -units, true
			}
			for _, d := range c.sides {
				d.world.Pass(d.units(units))
			}
			c.rt.Logf("%d units passed", units)
		},
		// Time in which all that live beat: otherwise no pulse is ever whole.
		"live": func(c *chaos) { c.live() },
		"die":  func(c *chaos) { c.die(c.worker()) },
		// The same tasks crash again and again. Chance alone would hardly make a suspect.
		"poison": func(c *chaos) {
			for range c.int(2, 3) {
				worker := c.join()
				for _, suspects := range []int{0, c.int(0, 2)} {
					c.ask(store.ClaimRequest{
						Worker: worker, Nonce: c.nonce(), Kinds: []string{"k0", "k1"}, Suspects: suspects,
						Queues: []store.QueueSlots{{Queue: "q0", Slots: 2}, {Queue: "q1", Slots: 2}},
					})
				}
				c.die(worker)
			}
		},
	}
}

func (c *chaos) join() string {
	id := fmt.Sprintf("w:%d", c.joined)
	if c.joined > 0 && c.rarely(5) {
		id = c.worker()
	} else {
		c.joined++
		c.workers = append(c.workers, id)
	}
	dead, remote := pick(c, 6, 9), c.rarely(4)
	c.do("Join "+id, func(d *side) error {
		st := d.world.Open(d.scope)
		err := st.Join(c.ctx(), store.JoinRequest{ID: id, Beat: d.engine.Unit, DeadAfter: d.units(dead), Remote: remote})
		if err == nil {
			d.handles[id] = st
		}
		return err
	})
	return id
}

// die lets a worker die, and the others find out.
func (c *chaos) die(worker string) {
	c.live()
	c.crash(worker)
	c.live()
	for by := range c.living() {
		req := store.RecoverRequest{Worker: by, Force: true}
		c.both("Recover by "+by, func(d *side) (any, error) { return wrapAny(d.handle(by).Recover(c.ctx(), req)) })
	}
}

// living goes over the workers whose process lives, by id.
func (c *chaos) living() iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(c.sides[1].handles)))
}

func (c *chaos) live() {
	for range 12 {
		for _, d := range c.sides {
			d.world.Pass(d.engine.Unit)
		}
		for worker := range c.living() {
			req := store.BeatRequest{Worker: worker, Queues: []string{"q0", "q1"}, Kinds: []string{"k0", "k1"}}
			c.both("Beat "+worker, func(d *side) (any, error) { return wrapAny(d.handle(worker).Beat(c.ctx(), req)) })
		}
	}
}

func (c *chaos) crash(worker string) {
	for _, d := range c.sides {
		if st := d.handles[worker]; st != nil {
			d.world.Crash(st)
			delete(d.handles, worker)
		}
	}
	c.rt.Logf("%s crashed", worker)
}

// wrapAny hides the type of an answer.
func wrapAny[T any](v T, err error) (any, error) { return v, err }

func taskCommands() map[string]func(c *chaos) {
	return map[string]func(c *chaos){
		"Submit":   submitCommand,
		"Claim":    func(c *chaos) { c.ask(*c.claim()) },
		"Complete": completeCommand,
		"settle":   settleCommand,
		"Stage": func(c *chaos) {
			f, out := c.fence(), c.outcome()
			c.do(fmt.Sprintf("Stage %v by %v", f, out(c.sides[1]).Kind), func(d *side) error {
				stager, ok := d.st.(store.Stager)
				if !ok || !c.stages {
					return nil
				}
				return stager.Stage(c.ctx(), store.Completion{Fence: f, Outcome: out(d)})
			})
		},
		"Save": func(c *chaos) {
			req := store.SaveRequest{Fence: c.fence(), Entries: c.entries()}
			if c.bool() {
				req.Progress = &store.Progress{Done: 1, Total: 2}
			}
			if c.bool() {
				req.Consume = []store.ID{c.message()}
			}
			c.both(fmt.Sprintf("Save %v", req), func(d *side) (any, error) { return wrapAny(d.st.Save(c.ctx(), req)) })
		},
		"Cancel": func(c *chaos) {
			id, reason := c.anyTask(), pick(c, "", "why")
			c.both(fmt.Sprint("Cancel ", id), func(d *side) (any, error) { return wrapAny(d.st.Cancel(c.ctx(), id, reason)) })
		},
		"Retry": func(c *chaos) {
			id := c.anyTask()
			c.do(fmt.Sprint("Retry ", id), func(d *side) error { return d.st.Retry(c.ctx(), id) })
		},
		"Free": func(c *chaos) {
			id := c.anyTask()
			c.do(fmt.Sprint("Free ", id), func(d *side) error { return d.st.Free(c.ctx(), id) })
		},
		"Delete": func(c *chaos) {
			id := c.task()
			if c.rarely(4) {
				id = store.OnEndID(id, 0)
			}
			c.do(fmt.Sprint("Delete ", id), func(d *side) error {
				err := d.st.Delete(c.ctx(), id)
				if err == nil {
					c.deleted[id] = true
				}
				return err
			})
		},
		// The limits are larger than the universe: which come first in a chunk is the engine's own.
		"Promote": func(c *chaos) {
			c.both("Promote", func(d *side) (any, error) { return wrapAny(d.st.Promote(c.ctx(), 0)) })
		},
		"Prune": func(c *chaos) {
			c.both("Prune", func(d *side) (any, error) { return wrapAny(d.st.Prune(c.ctx(), 0)) })
		},
	}
}

// groupCommands are the calls about groups and inboxes.
func groupCommands() map[string]func(c *chaos) {
	return map[string]func(c *chaos){
		"Seal": func(c *chaos) {
			id := c.group()
			c.both(fmt.Sprint("Seal ", id), func(d *side) (any, error) { return wrapAny(d.st.Seal(c.ctx(), id)) })
		},
		"Release": func(c *chaos) {
			id := c.group()
			c.both(fmt.Sprint("Release ", id), func(d *side) (any, error) { return wrapAny(d.st.Release(c.ctx(), id)) })
		},
		"Abort": func(c *chaos) {
			id, reason := c.group(), pick(c, "", "why")
			c.both(fmt.Sprint("Abort ", id), func(d *side) (any, error) { return wrapAny(d.st.Abort(c.ctx(), id, reason)) })
		},
		"Send": func(c *chaos) {
			m := store.Message{ID: c.message(), Task: c.anyTask(), Name: "n"}
			c.do(fmt.Sprint("Send ", m), func(d *side) error { return d.st.Send(c.ctx(), m) })
		},
	}
}

func submitCommand(c *chaos) {
	specs := make([]func(d *side) store.Spec, c.int(1, 3))
	for i := range specs {
		specs[i] = c.spec(true)
	}
	groups := make([]func(d *side) store.NewGroup, c.int(0, 1))
	for i := range groups {
		groups[i] = c.newGroup()
	}
	var claim *store.ClaimRequest
	if c.rarely(4) {
		claim = c.claim()
	}
	answer := c.both("Submit", func(d *side) (any, error) {
		req := store.SubmitRequest{Claim: claim}
		for _, s := range specs {
			req.Specs = append(req.Specs, s(d))
		}
		for _, g := range groups {
			req.Groups = append(req.Groups, g(d))
		}
		return wrapAny(d.st.Submit(c.ctx(), req))
	})
	if res, ok := answer.(store.SubmitResult); ok {
		c.remember(res.Claimed)
	}
}

// claim draws a request: mostly a new one, sometimes a repeat of an old nonce.
func (c *chaos) claim() *store.ClaimRequest {
	req := &store.ClaimRequest{Worker: c.worker(), Kinds: []string{"k0", "k1", "end", "close"}, Queues: []store.QueueSlots{{Queue: "q0", Slots: c.int(0, 3)}}}
	if c.bool() {
		req.Queues = append(req.Queues, store.QueueSlots{Queue: "q1", Slots: c.int(0, 3)})
	}
	if c.rarely(3) {
		req.Suspects = c.int(1, 3)
	}
	if len(c.used) > 0 && c.rarely(6) {
		req.Repeat, req.Nonce = true, c.used[max(len(c.used)-1-c.int(0, 3), 0)]
		return req
	}
	req.Nonce = c.nonce()
	return req
}

// ask makes a claim on one side, with the cursors of that side.
func (d *side) ask(req store.ClaimRequest) store.ClaimRequest {
	req.Queues = slices.Clone(req.Queues)
	for i := range req.Queues {
		req.Queues[i].Cursor = d.cursors[req.Queues[i].Queue]
	}
	return req
}

func (c *chaos) ask(req store.ClaimRequest) {
	answer := c.both(fmt.Sprintf("Claim %+v", req), func(d *side) (any, error) {
		res, err := d.handle(req.Worker).Claim(c.ctx(), d.ask(req))
		maps.Copy(d.cursors, res.Cursors)
		return res, err
	})
	if res, ok := answer.(store.ClaimResult); ok {
		c.remember(res.Tasks)
	}
}

func completeCommand(c *chaos) {
	fences := make([]store.Fence, c.int(1, 2))
	outs := make([]func(d *side) store.Outcome, len(fences))
	for i := range fences {
		fences[i], outs[i] = c.fence(), c.outcome()
	}
	var claim *store.ClaimRequest
	if c.rarely(4) {
		claim = c.claim()
	}
	what := "Complete"
	for i, f := range fences {
		what += fmt.Sprintf(" %v by %v", f, outs[i](c.sides[1]).Kind)
	}
	answer := c.both(what, func(d *side) (any, error) {
		var req store.CompleteRequest
		for i, f := range fences {
			req.Items = append(req.Items, store.Completion{Fence: f, Outcome: outs[i](d)})
		}
		if claim != nil {
			ask := d.ask(*claim)
			req.Claim = &ask
		}
		res, err := d.st.Complete(c.ctx(), req)
		maps.Copy(d.cursors, res.Claim.Cursors)
		return res, err
	})
	if res, ok := answer.(store.CompleteResult); ok {
		c.remember(res.Claim.Tasks)
	}
}

// settleCommand ends all that a worker holds.
func settleCommand(c *chaos) {
	worker, out := c.worker(), store.Outcome{Kind: pick(c, store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel)}
	held, _ := c.both("Holds "+worker, func(d *side) (any, error) { return wrapAny(d.st.Holds(c.ctx(), worker)) }).([]store.HeldTask)
	var req store.CompleteRequest
	for _, h := range held {
		req.Items = append(req.Items, store.Completion{Fence: h.Fence, Outcome: out})
	}
	c.both("Complete of all that "+worker+" holds", func(d *side) (any, error) { return wrapAny(d.st.Complete(c.ctx(), req)) })
}

func (c *chaos) entries() map[string][]byte {
	entries := map[string][]byte{}
	for range c.int(0, 2) {
		entries[pick(c, "a", "b")] = pick(c, nil, []byte("1"), []byte("2"))
	}
	return entries
}

func (c *chaos) outcome() func(d *side) store.Outcome {
	out := store.Outcome{
		Kind: pick(c, store.OutcomeDone, store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze,
			store.OutcomePark, store.OutcomePark, store.OutcomeRelease, store.OutcomeHold),
		Wakes: int64(c.int(0, 3)), Reason: pick(c, "", "why"), Result: pick(c, nil, []byte("r")), Entries: c.entries(),
	}
	if c.rarely(30) {
		out.Kind = "unknown"
	}
	if c.rarely(3) {
		out.Consume = []store.ID{c.message()}
	}
	delay := pick(c, 0, 0, 2, 9)
	var follow []func(d *side) store.Spec
	for range c.int(0, 3) / 2 {
		follow = append(follow, c.spec(false))
	}
	var groups []func(d *side) store.NewGroup
	if c.rarely(5) {
		groups = append(groups, c.newGroup())
	}
	return func(d *side) store.Outcome {
		o := out
		o.Delay = d.units(delay)
		for _, s := range follow {
			o.Follow = append(o.Follow, s(d))
		}
		for _, g := range groups {
			o.Groups = append(o.Groups, g(d))
		}
		return o
	}
}

// spec draws a task; its durations are in units, which the sides may have of their own.
func (c *chaos) spec(badToo bool) func(d *side) store.Spec {
	s := store.Spec{
		ID: c.task(), Kind: c.kind(), Queue: c.queue(), Lane: c.lane(), Limit: c.limit(), Priority: c.int(0, 2), Args: []byte("args"),
		Order: pick(c, store.Unordered, store.Unordered, store.Unordered, store.OrderSkip, store.OrderBlock, store.OrderFail),
		Owned: c.rarely(5), Line: int64(c.int(0, 2)),
	}
	delay, startBy, timeout, retention := pick(c, 0, 0, 0, 4), pick(c, 0, 0, 0, 3, 9), pick(c, 0, 0, 3), pick(c, 0, 30, -1)
	s.Retry = store.Retry{Max: c.int(0, 3), CrashSpends: c.rarely(4)}
	lifetime := 0
	if c.rarely(3) {
		s.Unique = store.Unique{Key: pick(c, "x", "y"), OnConflict: pick(c, store.Keep, store.Reject, store.Replace, store.Latest)}
		lifetime = pick(c, 0, 0, -1, 10)
	}
	if c.rarely(3) {
		s.Group = c.group()
	}
	if c.rarely(4) {
		s.Parent = c.task()
	}
	if c.rarely(3) {
		s.OnEnd = &store.Spec{Kind: "end", Queue: "q0"}
	}
	if badToo && c.rarely(25) {
		s.Kind = "a b"
	}
	return func(d *side) store.Spec {
		s := s
		s.Delay, s.StartBy, s.Timeout, s.Retention = d.units(delay), d.units(startBy), d.units(timeout), d.units(retention)
		s.Unique.For, s.Retry.Base = d.units(lifetime), d.units(2)
		return s
	}
}

func (c *chaos) newGroup() func(d *side) store.NewGroup {
	g := store.NewGroup{ID: c.group(), Hold: c.rarely(3), Seal: c.bool()}
	if c.bool() {
		g.Parent = c.parent()
	}
	if c.bool() {
		g.OnClose = &store.Spec{Kind: "close", Queue: "q1"}
	}
	retention := pick(c, 0, 30)
	return func(d *side) store.NewGroup {
		g := g
		g.Retention = d.units(retention)
		return g
	}
}

// tickTime is the same on both sides: ids are made of it. It lies in the past, or in a far future.
func (c *chaos) tickTime() time.Time {
	at := time.Date(2020, 1, 1, 0, 0, c.int(0, 6), 0, time.UTC)
	if c.rarely(10) {
		return at.AddDate(100, 0, 0)
	}
	return at
}
