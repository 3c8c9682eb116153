package sim

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// shadow is what the simulation itself knows of tasks and workers, from the arguments and results of applied calls alone. The
// store's own judgement of who owns what is never asked: it is compared with.
type shadow struct {
	s       *Sim
	tasks   map[store.ID]*task
	order   []*task // as they were first seen
	workers map[string]*member
	lanes   map[string][]*task // ordered ones
	limits  map[string]*bound
	running map[string]int // by limit key
	ticks   map[string]time.Time
	runs    map[store.Fence]*run

	followers map[turn]store.ID
}

// task is the shadow of a task.
type task struct {
	id       store.ID
	spec     store.Spec
	known    bool // its Spec was seen
	acked    bool // a client was told that it is stored
	follows  bool // it came with an outcome that was applied: it must be there
	epoch    int64
	owner    *owner
	last     *owner // the one before
	deadline time.Time
	settled  store.Settled
	byStage  bool // the outcome that settled it last was a staged one: any repeat of the call is a repeat
	stage    *store.Outcome
	attempts int
	crashes  int
	crashRun int // since its last Save of an entry, or park
	charged  bool
	entries  map[string][]byte
	promised map[string][]byte // entries whose Save was answered OK
	letters  map[store.ID]letter
	ended    *ending
	round    int
	deleted  bool
	expired  bool // it was terminal and past its expiry when last seen
	seen     int  // the last scan that met it
	kills    int  // processes that it killed, since it was last forgiven
	pardons  int  // of those, deaths that counted as no crash, or not as its alone: a late packet brought company
}

// owner is who holds a task.
type owner struct {
	fence  store.Fence
	worker string
	proc   *process
	at     time.Duration
	saved  map[string]int // by entry: the last Save of it that was applied, by when it was sent
}

// ending is how a task was seen to have ended.
type ending struct {
	state store.State
	at    time.Time
	round int
}

// member is the shadow of a worker.
type member struct {
	id     string
	proc   *process
	beatAt time.Duration // the last beat that was applied
	dead   bool
	death  store.Death
}

func newShadow(s *Sim) *shadow {
	return &shadow{
		s: s, tasks: map[store.ID]*task{}, workers: map[string]*member{}, lanes: map[string][]*task{},
		limits: map[string]*bound{}, running: map[string]int{}, ticks: map[string]time.Time{}, runs: map[store.Fence]*run{},
		followers: map[turn]store.ID{},
	}
}

func (sh *shadow) task(id store.ID) *task {
	t := sh.tasks[id]
	if t == nil {
		t = &task{id: id, entries: map[string][]byte{}, promised: map[string][]byte{}, letters: map[store.ID]letter{}}
		sh.tasks[id] = t
		sh.order = append(sh.order, t)
	}
	return t
}

// heldBy lists what a worker holds.
func (sh *shadow) heldBy(worker string) []*task {
	var held []*task
	for _, t := range sh.order {
		if t.owner != nil && t.owner.worker == worker {
			held = append(held, t)
		}
	}
	return held
}

func (t *task) holds(f store.Fence) bool { return t.owner != nil && t.owner.fence == f }

// learn takes in a Spec that was stored.
func (sh *shadow) learn(spec store.Spec) *task {
	t := sh.task(spec.ID)
	if t.known {
		return t
	}
	t.spec, t.known = spec, true
	if spec.Order != store.Unordered {
		key := laneKey(&spec)
		sh.lanes[key] = append(sh.lanes[key], t)
	}
	return t
}

func laneKey(s *store.Spec) string {
	return s.Queue + "\x00" + store.LaneName(s.Kind, s.Lane, s.Limit, s.Order, false)
}

func (sh *shadow) submitted(p *process, req store.SubmitRequest, res store.SubmitResult) {
	for i, spec := range req.Specs {
		r := res.Specs[i]
		switch {
		case r.Err != nil:
		case !r.Existed && sh.tasks[spec.ID] != nil && sh.tasks[spec.ID].known:
			sh.s.fail("I2", "task %v was stored a second time", spec.ID)
		case !r.Existed:
			sh.learn(spec)
		case r.ID != spec.ID && spec.Unique.Key == "":
			sh.s.fail("I2", "submit of %v was told that %v stands, though it has no unique key", spec.ID, r.ID)
		}
	}
	if req.Claim != nil && res.ClaimErr == nil {
		sh.claimed(p, *req.Claim, res.Claimed)
	}
}

// claimed checks and records what a claim gave.
func (sh *shadow) claimed(p *process, req store.ClaimRequest, tasks []store.Task) {
	m := sh.workers[req.Worker]
	if len(tasks) > 0 && (m == nil || m.dead) {
		sh.s.fail("I7", "worker %s claimed %d tasks after it was declared dead or left", req.Worker, len(tasks))
		return
	}
	for i := range tasks {
		given := &tasks[i]
		t := sh.task(given.ID)
		if req.Repeat {
			if !t.holds(given.Fence()) {
				sh.s.fail("I3", "a repeated claim was told %v under epoch %d, which is not held", given.ID, given.Epoch)
			}
			continue
		}
		sh.learn(given.Spec)
		if !sh.mayClaim(req, t, given) {
			return
		}
		t.owner = &owner{fence: given.Fence(), worker: req.Worker, proc: p, at: sh.s.now}
		t.epoch, t.deadline = given.Epoch, given.DeadlineAt
		p.holding++
		p.late = p.late || p.dead
		sh.start(t)
		if sh.s.tracing {
			sh.s.tracef(p, "owns %s %v under epoch %d", given.Kind, short(given.ID), given.Epoch)
		}
	}
}

func (sh *shadow) mayClaim(req store.ClaimRequest, t *task, given *store.Task) bool {
	s := sh.s
	switch {
	case t.owner != nil:
		s.fail("I3", "task %v was given to %s while %s holds it", t.id, req.Worker, t.owner.worker)
	case given.Epoch != t.epoch+1:
		s.fail("I3", "task %v got epoch %d after %d", t.id, given.Epoch, t.epoch)
	case given.Nonce != req.Nonce || given.Worker != req.Worker || given.State != store.Running:
		s.fail("I3", "task %v was given as %s of %s under nonce %v", t.id, given.State, given.Worker, given.Nonce)
	case t.ended != nil && given.Round == t.ended.round:
		s.fail("I5", "task %v ended as %s and was given to %s", t.id, t.ended.state, req.Worker)
	case given.Attempts != t.attempts:
		s.fail("I10", "task %v (%s) has %d attempts on record, and failed %d times", t.id, given.Kind, given.Attempts, t.attempts)
	case given.Crashes != t.crashes:
		s.fail("I10", "task %v (%s) has %d crashes on record; %d were counted", t.id, given.Kind, given.Crashes, t.crashes)
	default:
		t.round, t.ended = given.Round, nil
		sh.checkOrder(t)
		sh.checkFencedBefore(t)
	}
	return s.broken == nil
}

// lose ends the ownership of a task.
func (sh *shadow) lose(t *task) {
	if t.owner == nil {
		return
	}
	t.owner.proc.holding--
	if t.spec.Limit != "" {
		sh.running[t.spec.Limit]--
	}
	t.last, t.owner = t.owner, nil
}

// completed checks and records what became of an outcome.
func (sh *shadow) completed(p *process, c store.Completion, res store.Completed) {
	t, f := sh.task(c.Fence.ID), c.Fence
	s := sh.s
	switch {
	case errors.Is(res.Err, store.ErrFenced):
		s.stats.Fenced++
		if t.holds(f) {
			s.fail("I4", "outcome %s of %v was refused though %s holds it under that fence", c.Outcome.Kind, f.ID, t.owner.worker)
		}
	case res.Err != nil:
	case res.Repeated:
		if t.settled != (store.Settled{Epoch: f.Epoch, Nonce: f.Nonce, Kind: c.Outcome.Kind}) && !t.byStage {
			s.fail("I4", "outcome %s of %v epoch %d was called a repeat; settled was %+v", c.Outcome.Kind, f.ID, f.Epoch, t.settled)
		}
	case !t.holds(f):
		s.fail("I4", "outcome %s of %v was applied under epoch %d, which is not held", c.Outcome.Kind, f.ID, f.Epoch)
	default:
		out := c.Outcome
		if t.byStage = t.stage != nil; t.byStage {
			out = *t.stage
		} else {
			sh.checkVerdict(p, t, f, out)
		}
		sh.settle(t, out, res.State)
		t.settled = store.Settled{Epoch: f.Epoch, Nonce: f.Nonce, Kind: out.Kind}
		if s.tracing {
			s.tracef(p, "%s %v: %s, now %s", t.spec.Kind, short(f.ID), out.Kind, res.State)
		}
	}
}

// settle records an outcome that was applied.
func (sh *shadow) settle(t *task, out store.Outcome, now store.State) {
	if t.owner == nil {
		return
	}
	if now != "" && !slices.Contains(leadsTo[out.Kind], now) {
		sh.s.fail("I5", "outcome %s left %v as %s", out.Kind, t.id, now)
	}
	if out.Kind == store.OutcomeRetry || out.Kind == store.OutcomeFail {
		t.attempts++
	}
	if out.Kind != store.OutcomeRelease {
		t.charged = false
	}
	if out.Kind == store.OutcomePark {
		t.crashRun = 0
	}
	t.stage = nil
	// One that was turned into an ending submits none of its own.
	if turned := now == store.Cancelled && out.Kind != store.OutcomeCancel; !turned && now != "" {
		for _, f := range out.Follow {
			sh.learn(f).follows = true
		}
		sh.write(t, out.Entries)
		t.use(out.Consume)
	}
	sh.lose(t)
}

// leadsTo tells where an outcome may leave a task; all that do not end it may be turned into an ending, or into ready if it
// is owned.
var leadsTo = map[store.OutcomeKind][]store.State{
	store.OutcomeDone:    {store.Done},
	store.OutcomeFail:    {store.Failed},
	store.OutcomeCancel:  {store.Cancelled},
	store.OutcomeRetry:   {store.Scheduled, store.Ready, store.Cancelled},
	store.OutcomeSnooze:  {store.Scheduled, store.Ready, store.Cancelled},
	store.OutcomePark:    {store.Parked, store.Ready, store.Cancelled},
	store.OutcomeRelease: {store.Ready, store.Cancelled},
	store.OutcomeHold:    {store.Held, store.Ready, store.Cancelled},
}

func (sh *shadow) write(t *task, entries map[string][]byte) {
	for name, value := range entries {
		if value == nil {
			delete(t.entries, name)
		} else {
			t.entries[name] = value
		}
	}
}

func (sh *shadow) saved(sent int, req store.SaveRequest, err error) {
	t := sh.task(req.Fence.ID)
	held := t.holds(req.Fence)
	switch {
	case err == nil && !held:
		sh.s.fail("I4", "a Save of %v was applied under epoch %d, which is not held", req.Fence.ID, req.Fence.Epoch)
	case err == nil && t.stage != nil:
		sh.s.fail("I4", "a Save of %v was applied though its outcome is staged", req.Fence.ID)
	case err == nil:
		if len(req.Entries) > 0 {
			t.crashRun = 0
		}
		sh.checkpoint(t, sent, req.Entries)
		t.use(req.Consume)
	case errors.Is(err, store.ErrFenced) && held && t.stage == nil:
		sh.s.fail("I4", "a Save of %v was refused though %s holds it", req.Fence.ID, t.owner.worker)
	case errors.Is(err, store.ErrFenced) && held:
		sh.settleStaged(t)
	}
}

// checkpoint records entries of a Save. One that arrives after a later Save of the same run must not undo that: whoever was told
// that the later one is durable counts on it.
func (sh *shadow) checkpoint(t *task, sent int, entries map[string][]byte) {
	for name, value := range entries {
		if sent < t.owner.saved[name] {
			sh.checkUndone(t, name, value)
			continue
		}
		if t.owner.saved == nil {
			t.owner.saved = map[string]int{}
		}
		t.owner.saved[name] = sent
		sh.write(t, map[string][]byte{name: value})
	}
}

func (sh *shadow) checkUndone(t *task, name string, late []byte) {
	if after := t.entries[name]; string(sh.s.eye.entry(t.id, name)) != string(after) {
		sh.s.fail("K2", "a Save of %v that was stuck on its way (%s=%q) has overwritten a later one of the same run (%q)", t.id, name, late, after)
	}
}

// settleStaged records that a staged outcome was applied by another road than Complete.
func (sh *shadow) settleStaged(t *task) {
	out := *t.stage
	t.settled = store.Settled{Epoch: t.owner.fence.Epoch, Nonce: t.owner.fence.Nonce, Kind: out.Kind}
	sh.settle(t, out, sh.s.eye.look(t.id).State)
}

func (sh *shadow) staged(_ *process, c store.Completion, err error) {
	t := sh.task(c.Fence.ID)
	held := t.holds(c.Fence)
	switch {
	case err == nil && (!held || t.stage != nil):
		sh.s.fail("I4", "an outcome of %v was staged under epoch %d: held %v, staged before %v", c.Fence.ID, c.Fence.Epoch, held, t.stage != nil)
	case err == nil:
		t.stage = &c.Outcome
	case errors.Is(err, store.ErrFenced) && held && t.stage == nil:
		sh.s.fail("I4", "the staging of %v was refused though %s holds it", c.Fence.ID, t.owner.worker)
	}
}

func (sh *shadow) loaded(id store.ID, names []string, got map[string][]byte) {
	t := sh.tasks[id]
	if t == nil || sh.s.eye.look(id).State.Terminal() {
		return // an ending may have stripped it
	}
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		if string(got[name]) != string(t.entries[name]) {
			sh.s.fail("K2", "entry %s of %v reads %q, and %q was saved", name, id, got[name], t.entries[name])
		}
	}
}

// again records a Retry. What was stripped when it ended is gone.
func (sh *shadow) again(id store.ID) {
	t := sh.task(id)
	if t.spec.Retention == 0 && t.ended != nil && t.ended.state != store.Failed {
		clear(t.entries)
		clear(t.promised)
	}
	for id, state := range t.letters {
		if state == letterOpen {
			t.letters[id] = letterLapsed
		}
	}
	t.attempts, t.crashes, t.crashRun, t.kills, t.pardons = 0, 0, 0, 0, 0
	t.charged = false
	t.round++
	t.ended = nil
}

// letter is what became of a message.
type letter uint8

const (
	letterOpen   letter = iota // sent, and not used
	letterUsed                 // its use was recorded
	letterLapsed               // its task ended before: it may be there or not, and may be sent again
)

func (t *task) use(ids []store.ID) {
	for _, id := range ids {
		t.letters[id] = letterUsed
	}
}

func (sh *shadow) sent(m store.Message) {
	t := sh.task(m.Task)
	if t.letters[m.ID] != letterUsed {
		t.letters[m.ID] = letterOpen
	}
}

// inbox checks what is read from an inbox: all that was sent, less what was used.
func (sh *shadow) inbox(id store.ID, got []store.Message) {
	t := sh.task(id)
	if sh.s.eye.look(id).State.Terminal() {
		return
	}
	there := map[store.ID]bool{}
	for _, m := range got {
		there[m.ID] = true
		if state, known := t.letters[m.ID]; state == letterUsed || !known {
			sh.s.fail("K3", "message %v to %v is in the inbox: sent %v, used %v", m.ID, id, known, state == letterUsed)
		}
	}
	for letter, state := range t.letters {
		if state == letterOpen && !there[letter] {
			sh.s.fail("K3", "message %v to %v was sent and not used, and is not in the inbox", letter, id)
		}
	}
}
