package saga

import (
	"context"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// Outline is a definition for those who show sagas: its steps and what they come after, without what they do.
type Outline struct {
	Name  string
	Kind  string // of the saga's tasks
	Hash  string
	Steps []OutlineStep // as they are defined

	g *graph
}

// OutlineStep is a step of an Outline.
type OutlineStep struct {
	Name   string
	What   string        // step, tx, wait, sleep, call, map
	Queue  string        // empty: it runs inside the saga's own run
	Takes  []string      // steps whose results it takes
	After  []string      // steps it comes after without taking their results
	Signal string        // that it waits for
	Marks  []string      // pure, pivot, best effort, undo, compensate
	Inner  []OutlineStep // of a call or a map
}

// Outline tells what the definition is made of.
func (d *Def[In, Out]) Outline() Outline {
	return Outline{Name: d.g.name, Kind: d.g.kind(), Hash: d.g.hash, Steps: d.g.outline(), g: d.g}
}

func (g *graph) outline() []OutlineStep {
	list := make([]OutlineStep, 0, len(g.nodes))
	for _, n := range g.nodes {
		s := OutlineStep{Name: n.name, What: string(n.kind), Queue: n.queue, Signal: n.signal, Marks: n.marks()}
		taken := map[*node]bool{}
		for _, a := range n.args {
			if !taken[a] {
				s.Takes = append(s.Takes, a.name)
			}
			taken[a] = true
		}
		for _, a := range n.after {
			if !taken[a] {
				s.After = append(s.After, a.name)
			}
			taken[a] = true
		}
		if n.child != nil {
			s.Inner = n.child.outline()
		}
		list = append(list, s)
	}
	return list
}

// Status reads how a saga of this definition stands. Without a definition, see Look.
func (o Outline) Status(ctx context.Context, k *kernel.Kernel, id kernel.ID) (Status, error) {
	if o.g == nil {
		return Status{}, fmt.Errorf("status of saga %s: %w: the outline is not one of Def.Outline", id, kernel.ErrInvalid)
	}
	return (&Handle[struct{}]{k: k, g: o.g, id: id}).Status(ctx)
}

// Cancel is Handle.Cancel of a saga of this definition.
func (o Outline) Cancel(ctx context.Context, k *kernel.Kernel, id kernel.ID, mode CancelMode, reason string) error {
	if o.g == nil {
		return fmt.Errorf("cancel saga %s: %w: the outline is not one of Def.Outline", id, kernel.ErrInvalid)
	}
	return (&Handle[struct{}]{k: k, g: o.g, id: id}).Cancel(ctx, mode, reason)
}

// Cancel is Handle.Cancel without the definition, for operators. Whether the saga has passed its point of no return is then not known here: its
// own run refuses to be rolled back from there.
func Cancel(ctx context.Context, k *kernel.Kernel, id kernel.ID, mode CancelMode, reason string) error {
	t, err := k.Get(ctx, id)
	if err != nil {
		return fmt.Errorf("cancel saga %s: %w", id, err)
	}
	name, ok := strings.CutPrefix(t.Kind, "saga.")
	if !ok || strings.HasSuffix(name, "/step") {
		return fmt.Errorf("%w: task %s is of kind %s, which is no saga", kernel.ErrNotFound, id, t.Kind)
	}
	return (&Handle[struct{}]{k: k, g: &graph{name: name}, id: id}).Cancel(ctx, mode, reason)
}
