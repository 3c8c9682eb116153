package sim

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/store"
)

// checkDeadline is I31.
func (s *Sim) checkDeadline(ctx context.Context, p *process, op string) {
	if _, ok := ctx.Deadline(); !ok {
		s.fail("I31", "%s of %s came without a deadline", op, p.name)
	}
}

// maybeScan thins the walk over everything: after each applied call that may have changed something in one seed of eight,
// after one of sixteen in the others.
func (s *Sim) maybeScan(op string) {
	s.applied++
	if s.plan.full || s.applied%16 == 0 {
		s.scan(op)
	}
}

// scan walks over the whole store and compares it with the shadow.
func (s *Sim) scan(after string) {
	if s.broken != nil {
		return
	}
	s.stats.Scans++
	s.scans++
	findings, err := s.eye.survey(func(e store.Entry) {
		switch {
		case e.Task != nil:
			s.scanTask(e.Task, after)
		case e.Group != nil:
			s.scanGroup(e.Group)
		case e.Limit != nil:
			if e.Limit.InUse != s.shadow.running[e.Limit.Key] {
				s.fail("I23", "after %s limit %s has %d slots in use, and %d of its tasks run", after, e.Limit.Key, e.Limit.InUse, s.shadow.running[e.Limit.Key])
			}
		}
	})
	if err != nil {
		s.fail("SIM", "fsck: %v", err)
	}
	for _, t := range s.shadow.order {
		s.scanMissing(t, after)
	}
	s.checkOwed(after)
	if len(findings) > 0 {
		s.fail("FSCK", "after %s: %s (%d findings)", after, findings[0], len(findings))
	}
}

func (s *Sim) scanTask(t *store.Task, after string) {
	known := s.shadow.task(t.ID)
	known.seen = s.scans
	if !known.known {
		s.shadow.learn(t.Spec)
	}
	switch {
	case t.Epoch != known.epoch:
		s.fail("I3", "after %s task %v has epoch %d; its last claim gave %d", after, t.ID, t.Epoch, known.epoch)
	case (t.State == store.Running) != (known.owner != nil):
		s.fail("I4", "after %s task %v (%s) is %s, and its owner by applied calls is %s", after, t.ID, t.Kind, t.State, known.holder())
	case known.owner != nil && t.Fence() != known.owner.fence:
		s.fail("I4", "after %s task %v runs under another fence than the one it was given under", after, t.ID)
	case (t.Staged != nil) != (known.stage != nil):
		s.fail("I4", "after %s task %v has staged=%v; by applied calls %v", after, t.ID, t.Staged != nil, known.stage != nil)
	case !t.State.Terminal() && !t.ExpireAt.IsZero():
		s.fail("I22", "after %s task %v is %s and would expire at %v", after, t.ID, t.State, t.ExpireAt)
	case !t.State.Terminal() && t.CrashRun > known.crashRun:
		s.fail("I10", "after %s task %v (%s) has %d crashes since it last got on; %d were counted", after, t.ID, t.Kind, t.CrashRun, known.crashRun)
	case !t.State.Terminal() && (t.Attempts != known.attempts || t.Crashes != known.crashes):
		s.fail("I10", "after %s task %v (%s) has %d attempts and %d crashes on record, and %d and %d were applied",
			after, t.ID, t.Kind, t.Attempts, t.Crashes, known.attempts, known.crashes)
	}
	s.scanEnding(t, known, after)
}

// scanEnding is I5: what has ended stays as it ended, until Retry.
func (s *Sim) scanEnding(t *store.Task, known *task, after string) {
	if known.ended != nil && known.ended.round == t.Round {
		if t.State != known.ended.state || !t.EndedAt.Equal(known.ended.at) {
			s.fail("I5", "after %s task %v is %s (%v); it had ended as %s (%v)", after, t.ID, t.State, t.EndedAt, known.ended.state, known.ended.at)
		}
	}
	if !t.State.Terminal() {
		return
	}
	known.ended = &ending{state: t.State, at: t.EndedAt, round: t.Round}
	known.round = t.Round
	known.expired = !t.ExpireAt.IsZero() && !t.ExpireAt.After(s.storeNow().Add(time.Second))
	if t.OnEnd != nil {
		s.owed = append(s.owed, owed{id: s.shadow.follower(t.ID, t.Round, false), of: t.ID, turn: t.Round, due: true})
	}
}

// owed is a task that must be there, or must not, because of what became of another. It is looked up when the walk is over.
type owed struct {
	id, of store.ID
	turn   int // round of a task, generation of a group
	due    bool
}

// turn is one ending of a task, or one closing of a group.
type turn struct {
	of    store.ID
	n     int
	group bool
}

// follower returns the id of the task that follows a turn. It is derived once: that costs more than all else about a task in a scan.
func (sh *shadow) follower(of store.ID, n int, group bool) store.ID {
	at := turn{of, n, group}
	id, ok := sh.followers[at]
	switch {
	case ok:
		return id
	case group:
		id = store.CloseID(of, n)
	default:
		id = store.OnEndID(of, n)
	}
	sh.followers[at] = id
	return id
}

func (s *Sim) checkOwed(after string) {
	for _, o := range s.owed {
		if has := s.memoryHas(o.id); has != o.due {
			s.fail("I13", "after %s the follower of %v in turn %d: there %v, due %v", after, o.of, o.turn, has, o.due)
		}
	}
	s.owed = s.owed[:0]
}

// memoryHas reports whether the store holds, or once held, a task.
func (s *Sim) memoryHas(id store.ID) bool {
	if t := s.shadow.tasks[id]; t != nil && t.ended != nil {
		return true
	}
	return s.eye.look(id).State != ""
}

func (s *Sim) scanGroup(g *store.Group) {
	closed := g.State == store.GroupClosed
	for gen := 1; gen <= g.Generation; gen++ {
		due := g.OnClose != nil && (gen < g.Generation || closed)
		s.owed = append(s.owed, owed{id: s.shadow.follower(g.ID, gen, true), of: g.ID, turn: gen, due: due})
	}
	s.owed = append(s.owed, owed{id: s.shadow.follower(g.ID, g.Generation+1, true), of: g.ID, turn: g.Generation + 1})
	if closed && (g.Live() != 0 || !g.Sealed) {
		s.fail("I13", "group %v closed with %d members alive, sealed=%v", g.ID, g.Live(), g.Sealed)
	}
	if g.State == store.GroupOpen && g.Live() == 0 {
		s.fail("I13", "group %v is open with no member alive", g.ID)
	}
}

// scanMissing is I1 and I12: what was acknowledged, or came with an applied outcome, is there until it expires.
func (s *Sim) scanMissing(t *task, after string) {
	if t.seen == s.scans || t.deleted || t.expired || !t.acked && !t.follows && t.epoch == 0 {
		return
	}
	s.fail("I1", "after %s task %v (%s, acked=%v) is gone; it was last seen %v", after, t.id, t.spec.Kind, t.acked, t.ended)
}

func (t *task) holder() string {
	if t.owner == nil {
		return "nobody"
	}
	return t.owner.worker
}

// short is the part of an id that differs.
func short(id store.ID) string {
	text := id.String()
	return text[max(0, len(text)-8):]
}
