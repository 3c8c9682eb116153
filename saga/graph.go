package saga

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"time"
)

// graph is a definition: what Builder collects and the engine runs.
type graph struct {
	name     string
	in       reflect.Type
	decodeIn func([]byte) (any, error)
	rules    []func(any) error
	nodes    []*node
	byName   map[string]*node
	out      *node
	parallel int
	deadline time.Duration
	locks    []func(any) string
	policy   Policy
	queue    string
	keep     time.Duration // retention
	alert    func(context.Context, Alert)
	around   []Around
	secrets  bool // a value of it holds secrets
	hash     string
	inShape  string // the mark of the input's shape
	faults   []error

	migrations map[string]migration // of the input, by the mark of the shape it had
	orphan     bool                 // one whose caller is gone is rolled back
}

type nodeKind string

const (
	stepNode  nodeKind = "step"
	txNode    nodeKind = "tx"
	waitNode  nodeKind = "wait"
	sleepNode nodeKind = "sleep"
	callNode  nodeKind = "call" // a saga inside this one's run
	mapNode   nodeKind = "map"  // a list of such, one after the other, or each a task of its own
)

// node is a step as the engine sees it, its types erased.
type node struct {
	g     *graph
	index int
	name  string
	kind  nodeKind
	args  []*node // whose results it takes
	after []*node

	out        reflect.Type
	shape      string // its mark
	secret     bool   // it can hold secrets
	decode     func([]byte) (any, error)
	migrations map[string]migration // of results, by the mark of the shape they had
	// run takes its arguments from the scope and calls the body. errArgument says that the body was not reached.
	run  func(ctx context.Context, s *scope) (any, error)
	undo func(ctx context.Context, v any) error
	// tx runs the body inside a transaction that commits its record as well, undoTx the undo.
	tx         func(ctx context.Context, s *scope, stage stager) (any, error)
	undoTx     func(ctx context.Context, v any, stage stager) error
	compensate func(ctx context.Context, f Failure) error
	checks     []func(any) error

	queue      string
	pure       bool
	pivot      bool
	bestEffort bool
	nullSafe   bool
	retry      policy
	undoRetry  policy
	timeout    time.Duration

	signal      string
	fallback    any
	hasFallback bool
	sleep       func(s *scope) (time.Duration, error)

	child   *graph
	items   func(s *scope) ([]any, error)
	collect func(values []any, errs []error) any
	each    bool // a map that goes on when an element fails
	portion int
}

type policy struct {
	max  int
	wait Backoff
}

// deps are all that must be over before the node can begin.
func (n *node) deps() []*node { return append(append([]*node(nil), n.args...), n.after...) }

// nested reports whether the node's work is that of a graph inside this run.
func (n *node) nested() bool { return n.child != nil && n.queue == "" }

// fans reports whether the node's work is that of many tasks.
func (n *node) fans() bool { return n.child != nil && n.queue != "" }

// undoable reports whether there is something to do for a node that has completed.
func (n *node) undoable() bool { return n.hasUndo() && !n.pure }

func (n *node) attemptTimeout() time.Duration {
	if n.timeout == 0 {
		return 30 * time.Minute
	}
	return n.timeout
}

// wait returns how long to wait after so many failed attempts.
func (b Backoff) after(failed int) time.Duration {
	d := float64(b.base)
	switch b.kind {
	case "exp":
		d *= math.Pow(2, float64(min(failed-1, 60)))
	case "linear":
		d *= float64(failed)
	}
	if b.cap > 0 {
		d = min(d, float64(b.cap))
	}
	if b.jitter {
		d *= 0.5 + rand.Float64()/2
	}
	return time.Duration(min(d, math.MaxInt64/2))
}

var defaultUndo = policy{10, Exp(time.Second).Cap(5 * time.Minute)}

func (n *node) undoPolicy() policy {
	if n.undoRetry.max == 0 {
		return defaultUndo
	}
	return n.undoRetry
}

// ancestors are all nodes that n was built on.
func (n *node) ancestors() map[*node]bool {
	all := map[*node]bool{}
	var visit func(n *node)
	visit = func(n *node) {
		for _, d := range n.deps() {
			if !all[d] {
				all[d] = true
				visit(d)
			}
		}
	}
	visit(n)
	return all
}
