package saga

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/outlast-go/outlast/internal/encode"
)

// scope is a graph at work: the saga's own, or one inside it.
type scope struct {
	e      *engine
	g      *graph
	prefix string // of the paths of its steps
	in     any    // of the root

	of    *scope // the scope of the node that holds this one; nil: it is the root
	node  *node
	index int
	subs  map[string]*scope
	lists map[*node][]any
}

// inst is a node at work.
type inst struct {
	s *scope
	n *node
}

func (i inst) path() string { return i.s.prefix + i.n.name }

// input is what the graph works on.
func (s *scope) input() (any, error) {
	if s.of == nil {
		return s.in, nil
	}
	list, err := s.of.items(s.node)
	if err != nil {
		return nil, err
	}
	if s.index >= len(list) {
		return nil, fmt.Errorf("step %s has %d elements, and %d was asked for", s.node.name, len(list), s.index)
	}
	return list[s.index], nil
}

// items are the inputs of the graphs inside a node. They are computed of recorded results, the same each time.
func (s *scope) items(n *node) ([]any, error) {
	if list, ok := s.lists[n]; ok {
		return list, nil
	}
	list, err := n.items(s)
	if err != nil {
		return nil, err
	}
	if s.lists == nil {
		s.lists = map[*node][]any{}
	}
	s.lists[n] = list
	return list, nil
}

// sub is the scope inside a node, for one of its items.
func (s *scope) sub(n *node, i int) *scope {
	prefix := s.prefix + n.name + "/"
	if n.kind == mapNode {
		prefix += strconv.Itoa(i) + "/"
	}
	if sub := s.subs[prefix]; sub != nil {
		return sub
	}
	sub := &scope{e: s.e, g: n.child, prefix: prefix, of: s, node: n, index: i}
	if s.subs == nil {
		s.subs = map[string]*scope{}
	}
	s.subs[prefix] = sub
	return sub
}

// tolerant reports whether a failure inside the scope is a value of the map that holds it.
func (s *scope) tolerant() bool { return s.of != nil && (s.node.each || s.of.tolerant()) }

// over reports whether what comes after a node may begin.
func (e *engine) over(in inst) bool {
	if !in.n.nested() {
		r := e.rec[in.path()]
		return r.over() || r != nil && r.State == failed && in.s.tolerant()
	}
	list, err := in.s.items(in.n)
	if err != nil {
		return false
	}
	for i := range list {
		if !e.complete(in.s.sub(in.n, i)) {
			return false
		}
	}
	return true
}

// complete reports whether all nodes of a scope are over.
func (e *engine) complete(s *scope) bool {
	for _, n := range s.g.nodes {
		if !e.over(inst{s, n}) {
			return false
		}
	}
	return true
}

func (e *engine) depsOver(in inst) bool {
	for _, d := range in.n.deps() {
		if !e.over(inst{in.s, d}) {
			return false
		}
	}
	return true
}

// lockedValue is valueOf for steps that run side by side.
func (e *engine) lockedValue(s *scope, n *node) (any, error) {
	if e.sideBySide {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	return e.valueOf(s, n)
}

// valueOf returns the result of a node.
func (e *engine) valueOf(s *scope, n *node) (any, error) {
	in := inst{s, n}
	if n.nested() {
		return e.collect(in)
	}
	r := e.rec[in.path()]
	if r == nil || r.State != done && r.State != skipped {
		if r != nil && r.Fault != nil {
			return nil, r.Fault
		}
		return nil, fmt.Errorf("step %s has no result", in.path())
	}
	return e.decodeResult(in, r)
}

func (e *engine) decodeResult(in inst, r *record) (any, error) {
	if r.decoded {
		return r.value, nil
	}
	v, err := e.read(r.Result, in.n.shape, r.Shape, in.n.decode, in.n.migrations)
	if err != nil {
		return nil, &lacking{[]string{fmt.Sprintf("the result of step %s does not decode: %v", in.path(), err)}}
	}
	r.value, r.decoded = v, true
	return v, nil
}

// collect makes the result of a node of those inside it.
func (e *engine) collect(in inst) (any, error) {
	list, err := in.s.items(in.n)
	if err != nil {
		return nil, err
	}
	values, errs := make([]any, len(list)), make([]error, len(list))
	for i := range list {
		sub := in.s.sub(in.n, i)
		if values[i], errs[i] = e.valueOf(sub, sub.g.out); errs[i] != nil && !in.n.each {
			return nil, errs[i]
		}
	}
	return in.n.collect(values, errs), nil
}

// find returns the node that a path names.
func (e *engine) find(path string) (inst, error) {
	s, parts := e.root, strings.Split(path, "/")
	for i := 0; i < len(parts); i++ {
		n := s.g.byName[parts[i]]
		switch {
		case n == nil:
			return inst{}, fmt.Errorf("there is no step %s", path)
		case i == len(parts)-1:
			return inst{s, n}, nil
		case !n.nested():
			return inst{}, fmt.Errorf("step %s has no steps inside, and %s is one", n.name, path)
		}
		index := 0
		if n.kind == mapNode {
			i++
			var err error
			if index, err = strconv.Atoi(parts[i]); err != nil || i == len(parts)-1 {
				return inst{}, fmt.Errorf("there is no step %s", path)
			}
		}
		s = s.sub(n, index)
	}
	return inst{}, fmt.Errorf("there is no step %s", path)
}

// encodeValue writes a value as JSON, and its secrets apart.
func encodeValue(v any) ([]byte, map[string]json.RawMessage, error) {
	data, err := encode.JSON(v)
	if err != nil {
		return nil, nil, err
	}
	var secrets map[string]json.RawMessage
	err = secretsOf(v, func(s secretRef) error {
		plain, err := s.reveal()
		if err != nil || plain == nil {
			return err
		}
		if secrets == nil {
			secrets = map[string]json.RawMessage{}
		}
		secrets[s.secretID()] = plain
		return nil
	})
	return data, secrets, err
}
