package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"pgregory.net/rapid"
)

// Compare draws random calls over a small universe, makes each of them on an engine and on a reference, and compares every
// answer and, after each step, all that is stored. After each step the engine must be sound as well. The reference is memory;
// compared with itself it shows that it is deterministic.
func Compare(t *testing.T, e, reference Engine) {
	for range max(3/max(e.Quick, 1), 1) {
		rapid.Check(t, func(rt *rapid.T) { compareOnce(t, rt, e, reference) })
	}
}

func compareOnce(t *testing.T, rt *rapid.T, e, reference Engine) {
	s := &scope{TB: t}
	defer s.close()
	c := &chaos{rt: rt, exact: e.Virtual && reference.Virtual, deleted: map[store.ID]bool{}, seen: map[store.ID]bool{}}
	c.sides = []*side{newSide(s, e), newSide(s, reference)}
	c.stages, c.reseals = true, true
	for _, side := range c.sides {
		_, ok := side.st.(store.Stager)
		c.stages = c.stages && ok
		_, ok = side.st.(store.Resealer)
		c.reseals = c.reseals && ok
		side.exact = c.exact
		side.checker.Deleted = func(id store.ID) bool { return c.deleted[id] }
	}
	names, calls := commandNames(), commands()
	c.step(1)
	calls["Join"](c)
	calls["Join"](c)
	c.parents()
	// One number a step, from which all its arguments are drawn evenly: rapid prefers the small, and would hardly leave the
	// beginning of each list. It can still leave steps out when it looks for a shorter failure.
	for _, number := range rapid.SliceOfN(rapid.Uint64(), 30, 100).Draw(rt, "steps") {
		c.step(number)
		name := pick(c, names...)
		calls[name](c)
		c.compare(name)
	}
}

// step begins a step whose arguments are drawn from a number.
func (c *chaos) step(number uint64) { c.rand = rand.New(rand.NewPCG(number, 0)) }

// scope ends what was begun for one sequence when the sequence ends, not when the whole test does.
type scope struct {
	testing.TB
	ends []func()
}

// Cleanup keeps an end.
func (s *scope) Cleanup(f func()) { s.ends = append(s.ends, f) }

func (s *scope) close() {
	slices.Reverse(s.ends)
	for _, end := range s.ends {
		end()
	}
}

// side is one of the two engines.
type side struct {
	describer
	scope   *scope
	engine  Engine
	world   World
	st      store.Store
	handles map[string]store.Store // of workers whose process lives
	cursors map[string]string      // by queue
	checker fsck.Checker
}

func newSide(s *scope, e Engine) *side {
	d := &side{scope: s, engine: e, handles: map[string]store.Store{}, cursors: map[string]string{}}
	d.world = e.New(s, timing(e.Unit))
	d.st = d.world.Open(s)
	now, err := d.st.Now(s.Context())
	if err != nil {
		s.Fatalf("Now = %v, want no error", err)
	}
	d.start = now
	return d
}

// handle is that of a worker's process, or the operator's where that process is dead.
func (d *side) handle(worker string) store.Store {
	if st := d.handles[worker]; st != nil {
		return st
	}
	return d.st
}

func (d *side) units(n int) time.Duration { return time.Duration(n) * d.engine.Unit }

// chaos is one random sequence on both sides.
type chaos struct {
	rt      *rapid.T
	rand    *rand.Rand // of the step under way
	exact   bool
	sides   []*side
	nonces  int
	joined  int
	used    []store.ID     // nonces
	fences  []store.Fence  // that were given out
	workers []string       // that joined
	last    store.Schedule // read or put last
	deleted map[store.ID]bool
	stepped bool // the clock was stepped back
	stages  bool // both sides can stage
	reseals bool // both sides can reseal
	born    [tasksAtOnce]int
	seen    map[store.ID]bool // tasks that are or were stored
}

func (c *chaos) ctx() context.Context { return c.sides[0].scope.Context() }

// both makes one call on both sides and compares the answers.
func (c *chaos) both(what string, call func(d *side) (any, error)) any {
	c.rt.Helper()
	var texts [2]string
	var answer any
	for i, d := range c.sides {
		got, err := call(d)
		answer = got
		if err != nil {
			answer, got = nil, err
		}
		texts[i] = d.text(got)
	}
	c.rt.Logf("%s = %s", what, texts[1])
	if texts[0] != texts[1] {
		c.rt.Fatalf("%s:\n%s = %s\n%s = %s", what, c.sides[0].engine.Name, texts[0], c.sides[1].engine.Name, texts[1])
	}
	return answer
}

// do is both for a call that answers nothing but an error.
func (c *chaos) do(what string, call func(d *side) error) {
	c.rt.Helper()
	c.both(what, func(d *side) (any, error) { return "done", call(d) })
}

// compare holds all that is stored against each other, and the engine against the invariants.
func (c *chaos) compare(after string) {
	c.rt.Helper()
	var texts [2][]string
	stored := map[store.ID]bool{}
	for i, d := range c.sides {
		err := d.st.Export(c.ctx(), func(e store.Entry) error {
			if e.Task != nil {
				stored[e.Task.ID], c.seen[e.Task.ID] = true, true
			}
			texts[i] = append(texts[i], d.text(e))
			return nil
		})
		if err != nil {
			c.rt.Fatalf("Export of %s after %s: %v", d.engine.Name, after, err)
		}
		slices.Sort(texts[i])
	}
	if !slices.Equal(texts[0], texts[1]) {
		c.rt.Fatalf("after %s:\n%s stores\n%s\n%s stores\n%s", after, c.sides[0].engine.Name, onlyIn(texts[0], texts[1]),
			c.sides[1].engine.Name, onlyIn(texts[1], texts[0]))
	}
	for i := range c.born {
		if id := c.taskID(i); c.seen[id] && !stored[id] {
			c.born[i]++
		}
	}
	findings, err := c.sides[0].checker.Check(c.ctx(), c.sides[0].st)
	if c.stepped {
		// A clock that goes back writes times that are out of order, and that is no fault of the engine.
		findings = slices.DeleteFunc(findings, func(f fsck.Finding) bool { return f.Rule == "time" })
	}
	if err != nil || len(findings) > 0 {
		c.rt.Fatalf("after %s fsck found %v, %v", after, findings, err)
	}
}

func onlyIn(a, b []string) string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

// The universe: small, so that things meet.

func (c *chaos) int(low, high int) int { return low + c.rand.IntN(high-low+1) }

func (c *chaos) bool() bool { return c.rand.IntN(2) == 0 }

// rarely is true once in so many times.
func (c *chaos) rarely(n int) bool { return c.rand.IntN(n) == 0 }

func pick[T any](c *chaos, from ...T) T { return from[c.rand.IntN(len(from))] }

// task is one of ten. One that was removed is followed by another under a new id: nobody makes an id twice.
func (c *chaos) task() store.ID { return c.taskID(c.int(0, tasksAtOnce-1)) }

const tasksAtOnce = 10

func (c *chaos) taskID(i int) store.ID {
	return store.DeriveID("task", fmt.Sprint(i), fmt.Sprint(c.born[i]))
}

func (c *chaos) group() store.ID { return store.DeriveID("group", fmt.Sprint(c.int(0, 2))) }
func (c *chaos) message() store.ID {
	return store.DeriveID("message", fmt.Sprint(c.int(0, 4)))
}
func (c *chaos) queue() string { return pick(c, "q0", "q1") }
func (c *chaos) kind() string  { return pick(c, "k0", "k1") }
func (c *chaos) lane() string  { return pick(c, "", "a", "b") }
func (c *chaos) limit() string { return pick(c, "", "", "l0", "l1") }
func (c *chaos) name() string  { return pick(c, "s0", "s1") }

// anyTask is mostly one of the universe, sometimes what the store itself made of it.
func (c *chaos) anyTask() store.ID {
	id := c.task()
	switch c.int(0, 9) {
	case 0:
		return store.OnEndID(id, c.int(0, 1))
	case 1:
		return store.CloseID(c.group(), c.int(1, 2))
	case 2:
		return c.parent()
	}
	return id
}

// parent is one of those that groups may have. They are there before any group and are never removed: a parent that comes to
// be after its group has closed would be a keeper that nobody waited for.
func (c *chaos) parent() store.ID { return store.DeriveID("parent", fmt.Sprint(c.int(0, 1))) }

func (c *chaos) parents() {
	c.both("Submit of the parents", func(d *side) (any, error) {
		var specs []store.Spec
		for i := range 2 {
			specs = append(specs, store.Spec{ID: store.DeriveID("parent", fmt.Sprint(i)), Kind: "k0", Queue: "q0", Retention: -1})
		}
		return wrapAny(d.st.Submit(c.ctx(), store.SubmitRequest{Specs: specs}))
	})
}

func (c *chaos) worker() string {
	if len(c.workers) == 0 || c.rarely(20) {
		return "nobody"
	}
	return c.workers[max(len(c.workers)-1-c.int(0, 2), 0)]
}

func (c *chaos) nonce() store.ID {
	c.nonces++
	id := store.DeriveID("nonce", fmt.Sprint(c.nonces))
	c.used = append(c.used, id)
	return id
}

// fence is mostly one that was given out lately, sometimes an old or a wrong one.
func (c *chaos) fence() store.Fence {
	if len(c.fences) == 0 || c.rarely(15) {
		return store.Fence{ID: c.task(), Epoch: int64(c.int(0, 2)), Nonce: c.nonce()}
	}
	f := c.fences[max(len(c.fences)-1-c.int(0, 5), 0)]
	if c.rarely(15) {
		f.Epoch++
	}
	return f
}

func (c *chaos) remember(tasks []store.Task) {
	for _, t := range tasks {
		c.fences = append(c.fences, t.Fence())
	}
}
