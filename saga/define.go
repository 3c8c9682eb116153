package saga

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// Def is a saga that is defined. Make one with Define; it may be used from any goroutine.
type Def[In, Out any] struct{ g *graph }

// Define makes a saga of the steps that wire declares; the node that it returns is the saga's result. It panics on a programmer's
// mistakes, and tells all of them at once: see TryDefine.
func Define[In, Out any](name string, wire func(b *Builder[In]) *Node[Out]) *Def[In, Out] {
	d, err := TryDefine(name, wire)
	if err != nil {
		panic(err)
	}
	return d
}

// TryDefine is Define that returns what is wrong: steps declared twice, values of another saga, circles through After, types that
// JSON cannot hold, undos that can never be called, and more, joined into one error.
func TryDefine[In, Out any](name string, wire func(b *Builder[In]) *Node[Out]) (*Def[In, Out], error) {
	g := &graph{name: name, in: typeOf[In](), byName: map[string]*node{}, queue: kernel.DefaultQueue}
	g.decodeIn = func(data []byte) (any, error) {
		var v In
		err := json.Unmarshal(data, &v)
		return v, err
	}
	if !validName(name) {
		g.fault("the name %q is not usable; use 1 to 100 ASCII letters, digits and . _ -", name)
	}
	if wire == nil {
		g.fault("there is no function that wires it")
		return nil, fmt.Errorf("saga %q: %w", name, errors.Join(g.faults...))
	}
	out := wire(&Builder[In]{g})
	switch {
	case out == nil:
		g.fault("the result is nil; return the node whose result it is")
	case out.n.g != g:
		g.fault("the result is that of step %q of saga %q", out.n.name, out.n.g.name)
	default:
		g.out = out.n
	}
	g.check()
	if len(g.faults) > 0 {
		return nil, fmt.Errorf("saga %q: %w", name, errors.Join(g.faults...))
	}
	g.hash, g.inShape = g.fingerprint(), mark(shape(g.in))
	return &Def[In, Out]{g}, nil
}

// Name returns the name that Define was given.
func (d *Def[In, Out]) Name() string { return d.g.name }

// Kind returns the kind of the saga's tasks: "saga." and the name. Those of its steps end in "/step".
func (d *Def[In, Out]) Kind() string { return d.g.kind() }

// Hash names the shape of the definition: its steps, their edges, the shapes of their results. Policies are not part of it.
func (d *Def[In, Out]) Hash() string { return d.g.hash }

// Queues lists the queues that a process must serve to run all of the saga.
func (d *Def[In, Out]) Queues() []string {
	all := map[string]bool{}
	d.g.queues(all)
	return slices.Sorted(maps.Keys(all))
}

func (g *graph) queues(all map[string]bool) {
	all[g.queue] = true
	for _, n := range g.nodes {
		if n.queue != "" {
			all[n.queue] = true
		}
		if n.child != nil {
			n.child.queues(all)
		}
	}
}

func (g *graph) kind() string     { return "saga." + g.name }
func (g *graph) stepKind() string { return g.kind() + "/step" }

// check notes all that is wrong with a definition as a whole.
func (g *graph) check() {
	g.secrets = hasSecrets(g.in)
	if at := unstorable(g.in, "the input"); at != "" {
		g.fault("%s cannot be stored as JSON", at)
	}
	if len(g.nodes) == 0 {
		g.fault("there are no steps")
	}
	if g.queue != "" && !validName(g.queue) {
		g.fault("the queue %q is not usable; use ASCII letters, digits and . _ -", g.queue)
	}
	for _, n := range g.nodes {
		n.check()
		g.secrets = g.secrets || hasSecrets(n.out) || n.child != nil && n.child.secrets
	}
	if circle := g.circle(); circle != "" {
		g.fault("steps wait for each other: %s", circle)
		return
	}
	if g.out != nil && g.out.bestEffort {
		g.out.fault("is BestEffort, and its result is the saga's: it may be missing")
	}
	g.checkPivot()
}

func (n *node) check() {
	if at := unstorable(n.out, n.name); at != "" {
		n.fault("has a result that cannot be stored as JSON: %s", at)
	}
	if n.queue != "" && !validName(n.queue) {
		n.fault("has the queue %q; use ASCII letters, digits and . _ -", n.queue)
	}
	for _, a := range n.args {
		if a.bestEffort {
			n.fault("takes the result of %q, which is BestEffort: it may be missing", a.name)
		}
	}
	n.checkPure()
	n.checkKind()
	if n.queue != "" && n.child != nil && (n.secret || n.child.secrets) {
		n.fault("maps over tasks and has secrets in its elements; hand them on inside the run")
	}
	if n.nullSafe && n.undo == nil {
		n.fault("is NullSafe and has no Undo")
	}
	if n.undo != nil && n.undoTx != nil {
		n.fault("has both Undo and UndoTx")
	}
	for _, p := range []policy{n.retry, n.undoRetry} {
		if p.max < 0 || p.wait.base < 0 {
			n.fault("has a negative Retry")
		}
	}
}

func (n *node) checkPure() {
	if !n.pure {
		return
	}
	for _, c := range []struct {
		what string
		has  bool
	}{
		{"Undo", n.hasUndo()},
		{"Compensate", n.compensate != nil},
		{"Async", n.queue != ""},
		{"Pivot", n.pivot},
	} {
		if c.has {
			n.fault("is Pure and has %s; a step without effects has no use for it", c.what)
		}
	}
}

func (n *node) hasUndo() bool { return n.undo != nil || n.undoTx != nil }

// checkKind refuses what a wait, a sleep, a call or a map cannot have.
func (n *node) checkKind() {
	plain := n.kind == stepNode || n.kind == txNode
	for _, c := range []struct {
		what string
		bad  bool
	}{
		{"Async", n.queue != "" && !plain && n.kind != mapNode},
		{"Retry", n.retry.max != 0 && !plain},
		{"Pure", n.pure && n.kind != stepNode},
		{"Undo", n.hasUndo() && n.child != nil},
		{"Compensate", n.compensate != nil && !plain},
		{"OnTimeout", n.hasFallback && n.kind != waitNode},
		{"Portions", n.portion != 0 && (n.kind != mapNode || n.queue == "")},
		{"Timeout", n.timeout != 0 && (n.kind == sleepNode || n.child != nil)},
		{"BestEffort", n.bestEffort && n.child != nil},
		{"Pivot", n.pivot && n.child != nil},
	} {
		if c.bad {
			n.fault("is a %s and cannot have %s", n.kind, c.what)
		}
	}
	if n.kind == mapNode && n.child != nil && n.child.waits() {
		n.fault("maps by saga %q, which waits for a signal: nobody could tell for which element one is", n.child.name)
	}
	if n.each && n.queue == "" && n.child != nil && (len(n.child.nodes) > 1 || n.child.nodes[0].compensate != nil || n.child.nodes[0].kind != stepNode || n.child.nodes[0].queue != "") {
		n.fault("maps each by saga %q inside this run; what fails there must undo itself: make it Async, or a saga of one plain step", n.child.name)
	}
	if n.child != nil && n.child.pivots() {
		n.fault("runs saga %q, which has a Pivot: nobody could undo it", n.child.name)
	}
	if c := n.child; c != nil && n.queue == "" && (c.deadline != 0 || c.parallel != 0 || c.policy != Ancestors || c.alert != nil) {
		n.fault("runs saga %q inside this one; its Deadline, Parallel, OnUndoFailure and OnAlert would have no effect: set them in this saga", c.name)
	}
	if n.child != nil && len(n.child.locks) > 0 {
		n.fault("runs saga %q, which takes a Lock: take it in this saga", n.child.name)
	}
}

func (g *graph) waits() bool {
	for _, n := range g.nodes {
		if n.kind == waitNode || n.child != nil && n.child.waits() {
			return true
		}
	}
	return false
}

func (g *graph) pivots() bool {
	for _, n := range g.nodes {
		if n.pivot {
			return true
		}
	}
	return false
}

// checkPivot refuses undos that can never be called: those of steps that come after the point of no return.
func (g *graph) checkPivot() {
	for _, n := range g.nodes {
		for a := range n.ancestors() {
			if a.pivot && (n.hasUndo() || n.compensate != nil) {
				n.fault("comes after the pivot %q and has an Undo or a Compensate, which would never be called", a.name)
			}
			if a.pivot && n.child != nil {
				n.fault("comes after the pivot %q and runs a saga; what comes after a pivot is a step", a.name)
			}
		}
	}
}

// circle returns the first circle of dependencies, as text.
func (g *graph) circle() string {
	state := map[*node]int{}
	var path []string
	var visit func(n *node) string
	visit = func(n *node) string {
		state[n] = 1
		path = append(path, n.name)
		for _, d := range n.deps() {
			if state[d] == 1 {
				return strings.Join(append(path, d.name), " <- ")
			}
			if state[d] == 0 {
				if found := visit(d); found != "" {
					return found
				}
			}
		}
		path = path[:len(path)-1]
		state[n] = 2
		return ""
	}
	for _, n := range g.nodes {
		if state[n] == 0 {
			if found := visit(n); found != "" {
				return found
			}
		}
	}
	return ""
}
