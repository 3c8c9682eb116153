package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// The kinds of tasks.
const (
	kindPlain  = "plain"  // runs, fails, panics, snoozes, saves as its script says
	kindWaiter = "waiter" // parks until it has had its messages
	kindParent = "parent" // makes a group of children and parks until it closes
	kindSaga   = "saga"   // owned: saves, parks on a child, undoes when it is asked to end
	kindChild  = "child"
	kindClose  = "close"
	kindEnd    = "end"
	kindTick   = "tick"
	kindPoison = "poison" // kills its process
	kindHog    = "hog"    // runs for long in the healing phase
)

var kinds = []string{
	kindPlain, kindWaiter, kindParent, kindSaga, kindChild, kindClose, kindEnd, kindTick, kindPoison, kindHog,
}

// mix is which features a seed's work has.
type mix struct {
	tasks                                                           int
	delays, lanes, limits, uniques, startBy, ordered, groups, onEnd bool
	cancels, waiters, parents, sagas, poison, deaf, long, timeouts  bool
	stages, schedules, pauses, retries, waits                       bool
}

func makeMix(r *rand.Rand) mix {
	m := mix{tasks: 8 + r.IntN(20)}
	for _, f := range []*bool{
		&m.delays, &m.lanes, &m.limits, &m.uniques, &m.startBy, &m.ordered, &m.groups, &m.onEnd, &m.cancels, &m.waiters, &m.parents,
		&m.sagas, &m.poison, &m.deaf, &m.long, &m.timeouts, &m.stages, &m.schedules, &m.pauses, &m.retries, &m.waits,
	} {
		*f = on(r)
	}
	return m
}

// script is what the handler of one task does.
type script struct {
	run       time.Duration
	failures  int // so many attempts fail
	permanent bool
	panics    bool
	snoozes   int
	saves     int
	messages  int
	children  int
	deaf      bool // does not listen to its context
	hears     int  // listens from this attempt on; 0: never
	stage     bool
}

// workload is what a seed wants to have done, and who asks for it.
type workload struct {
	s        *Sim
	r        *rand.Rand
	scripts  map[store.ID]*script
	clients  []*client
	tasks    []store.ID // in the order in which they are to be submitted
	groups   []store.ID
	letters  []store.Message
	closing  bool
	mended   bool
	operator *process
	hogs     []store.Spec

	// What a face needs beside the kernel; all of it is empty where seeds decide.
	serves []func(p *process, k *kernel.Kernel) // lets a worker run the work
	config []func(p *process, c *kernel.Config) // sets up the kernels of all processes
	after  []func()                             // goes on once everybody has stopped
	judges []func()                             // looks at what is left in the end
}

func newWorkload(s *Sim, r *rand.Rand) *workload {
	w := &workload{s: s, r: r, scripts: map[store.ID]*script{}}
	for range s.plan.clients {
		w.clients = append(w.clients, &client{w: w})
	}
	return w
}

// fill makes up the work that the plan's mix asks for.
func (w *workload) fill() {
	m, r := w.s.plan.mix, w.r
	w.limits()
	for range m.tasks {
		w.add()
	}
	if m.groups {
		for range 1 + r.IntN(2) {
			w.addGroup()
		}
	}
	if m.ordered {
		w.addOrdered()
	}
	if m.schedules {
		w.addSchedule()
	}
	w.nuisances()
	for _, c := range w.clients {
		c.works = w.chance(3)
	}
}

// id makes an id as a client with a clock of its own would.
func (w *workload) id() store.ID {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], w.r.Uint64())
	binary.BigEndian.PutUint64(b[8:], w.r.Uint64())
	return store.MakeID(w.s.epoch.Add(time.Duration(w.r.Int64N(int64(w.s.plan.chaos)))), b)
}

// some draws a duration up to d, short ones more often.
func (w *workload) some(d time.Duration) time.Duration {
	return time.Duration(between(w.r, 0.001, 1) * float64(d))
}

func (w *workload) chance(n int) bool { return w.r.IntN(n) == 0 }

// anyone gives a step to one of the clients.
func (w *workload) anyone(do func(ctx context.Context, k *kernel.Kernel) error) {
	c := w.clients[w.r.IntN(len(w.clients))]
	c.steps = append(c.steps, step{pause: w.some(w.s.plan.chaos / time.Duration(w.s.plan.mix.tasks)), do: do})
}

// later gives a step to one of the clients, at a random place after all that were given so far by it or after few of them.
func (w *workload) later(do func(ctx context.Context, k *kernel.Kernel) error) {
	c := w.clients[w.r.IntN(len(w.clients))]
	at := w.r.IntN(len(c.steps) + 1)
	c.steps = append(c.steps, step{})
	copy(c.steps[at+1:], c.steps[at:])
	c.steps[at] = step{pause: w.some(time.Second), do: do}
}

// add makes a task of a kind that the mix allows, and what belongs to it.
func (w *workload) add() {
	m := w.s.plan.mix
	spec, sc := w.plain()
	switch n := w.r.IntN(10); {
	case n == 0 && m.waiters:
		spec.Kind, sc.messages = kindWaiter, 1+w.r.IntN(3)
	case n == 1 && m.parents:
		spec.Kind, sc.children = kindParent, 1+w.r.IntN(4)
	case n == 2 && m.sagas:
		spec.Kind, spec.Owned = kindSaga, true
	case n == 3 && m.poison:
		spec.Kind = kindPoison
	}
	w.scripts[spec.ID] = sc
	w.submit(spec)
	for i := range sc.messages {
		w.mail(spec.ID, i)
	}
	if m.cancels && w.chance(4) {
		w.later(func(ctx context.Context, k *kernel.Kernel) error {
			_, err := k.Cancel(ctx, spec.ID, "")
			return err
		})
	}
	if m.waits && w.chance(4) {
		w.later(func(ctx context.Context, k *kernel.Kernel) error { return w.await(ctx, k, spec.ID) })
	}
}

// plain makes a task with a random choice of what a Spec can ask for.
func (w *workload) plain() (store.Spec, *script) {
	m, r := w.s.plan.mix, w.r
	spec := store.Spec{
		ID: w.id(), Kind: kindPlain, Queue: kernel.DefaultQueue, Priority: r.IntN(3),
		Retry: store.Retry{Max: 1 + r.IntN(4), Base: w.some(2 * time.Second), Cap: 5 * time.Second},
	}
	sc := &script{run: w.some(2 * time.Second), saves: r.IntN(3), stage: m.stages && w.chance(5)}
	if w.chance(3) {
		sc.failures, sc.permanent, sc.panics = 1+r.IntN(3), w.chance(4), w.chance(4)
	}
	if w.chance(6) {
		sc.snoozes = 1 + r.IntN(2)
	}
	if m.delays && w.chance(3) {
		spec.Delay = w.some(10 * time.Second)
	}
	if m.lanes && w.chance(2) {
		spec.Lane = fmt.Sprintf("tenant%d", r.IntN(3))
	}
	if m.limits && w.chance(3) {
		spec.Limit = fmt.Sprintf("limit%d", r.IntN(2))
	}
	if m.uniques && w.chance(3) {
		spec.Unique = store.Unique{
			Key: fmt.Sprintf("key%d", r.IntN(3)), OnConflict: []store.Conflict{store.Keep, store.Reject, store.Replace, store.Latest}[r.IntN(4)],
			For: []time.Duration{0, 0, 5 * time.Second, -1}[r.IntN(4)],
		}
	}
	if m.startBy && w.chance(4) {
		spec.StartBy = w.some(20*time.Second) + time.Millisecond
	}
	if m.onEnd && w.chance(3) {
		spec.OnEnd = &store.Spec{Kind: kindEnd, Queue: kernel.DefaultQueue}
	}
	if m.long && w.chance(5) {
		sc.run = time.Duration(1+r.IntN(2)) * w.s.plan.deadAfter * 3 / 2
	}
	if m.timeouts && w.chance(4) {
		spec.Timeout = w.some(3*time.Second) + 200*time.Millisecond
		sc.deaf = m.deaf && w.chance(2)
	}
	if w.chance(4) {
		spec.Retention = []time.Duration{kernel.Forget, time.Second, -1}[r.IntN(3)]
	}
	return spec, sc
}

// submit lets one of the clients submit a task, now and then twice.
func (w *workload) submit(spec store.Spec) {
	w.tasks = append(w.tasks, spec.ID)
	do := func(ctx context.Context, k *kernel.Kernel) error {
		if w.forgets(spec.ID) {
			return nil
		}
		res, err := k.Submit(ctx, spec)
		if err == nil && res.ID == spec.ID {
			w.s.acked(spec)
		}
		return err
	}
	w.anyone(do)
	if w.chance(8) {
		w.later(do)
	}
}

// forgets reports whether a task ended so long ago that the store may soon know nothing of it: who submits it then starts it anew.
func (w *workload) forgets(id store.ID) bool {
	t := w.s.shadow.tasks[id]
	return t != nil && t.ended != nil && w.s.storeNow().Sub(t.ended.at) > w.s.plan.timing.Horizon/2
}

// mail lets somebody send a message to a task: early, late, or twice.
func (w *workload) mail(to store.ID, n int) {
	m := store.Message{ID: w.id(), Task: to, Name: "go", Body: []byte(fmt.Sprint(n))}
	w.letters = append(w.letters, m)
	do := func(ctx context.Context, k *kernel.Kernel) error {
		_, err := k.Send(ctx, m)
		return err
	}
	w.later(do)
	if w.chance(3) {
		w.later(do)
	}
}

// await checks what Wait says against what the shadow knows.
func (w *workload) await(ctx context.Context, k *kernel.Kernel, id store.ID) error {
	t, err := k.Wait(ctx, id)
	if err == nil && !t.State.Terminal() {
		w.s.fail("K6", "Wait for %v returned, and the task is %s", id, t.State)
	}
	if ctx.Err() != nil {
		return nil // nobody waits for ever
	}
	return err
}
