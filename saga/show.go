package saga

import (
	"fmt"
	"slices"
	"strings"
)

// Mermaid draws the definition as a Mermaid graph: steps in their order, edges of data drawn through, those of After dotted.
func (d *Def[In, Out]) Mermaid() string { return d.g.mermaid(nil) }

// MermaidOf draws the definition with the states of a saga of it.
func (d *Def[In, Out]) MermaidOf(s Status) string {
	states := map[string]string{}
	for _, st := range s.Steps {
		states[st.Name] = st.State
	}
	return d.g.mermaid(states)
}

func (g *graph) mermaid(states map[string]string) string {
	var b strings.Builder
	b.WriteString("graph TD\n")
	g.drawInto(&b, "", "  ", states)
	if states != nil {
		for _, c := range [][2]string{
			{"done", "fill:#d4f7d4"},
			{"failed", "fill:#f7d4d4"},
			{"undone", "fill:#e8e8e8"},
			{"compensated", "fill:#e8e8e8"},
			{"sent", "fill:#d4e4f7"},
			{"waiting", "fill:#f7f2d4"},
			{"undo_failed", "fill:#f7a4a4"},
		} {
			fmt.Fprintf(&b, "  classDef %s %s\n", c[0], c[1])
		}
	}
	return b.String()
}

func (g *graph) drawInto(b *strings.Builder, prefix, indent string, states map[string]string) {
	for _, n := range g.nodes {
		id := mermaidID(prefix + n.name)
		if n.child != nil {
			fmt.Fprintf(b, "%ssubgraph %s[\"%s\"]\n", indent, id, n.label(""))
			n.child.drawInto(b, prefix+n.name+"/", indent+"  ", nil)
			fmt.Fprintf(b, "%send\n", indent)
		} else {
			state := states[prefix+n.name]
			fmt.Fprintf(b, "%s%s[\"%s\"]", indent, id, n.label(state))
			if state != "" && state != "pending" {
				b.WriteString(":::" + strings.ReplaceAll(state, " ", "_"))
			}
			b.WriteString("\n")
		}
		for _, d := range n.args {
			fmt.Fprintf(b, "%s%s --> %s\n", indent, mermaidID(prefix+d.name), id)
		}
		for _, d := range n.after {
			if !slices.Contains(n.args, d) {
				fmt.Fprintf(b, "%s%s -.-> %s\n", indent, mermaidID(prefix+d.name), id)
			}
		}
	}
}

// label is what is written on a node: its name, where it runs, what it is.
func (n *node) label(state string) string {
	text := n.name
	if n.kind != stepNode {
		text += " (" + string(n.kind) + ")"
	}
	if n.queue != "" {
		text += " → " + n.queue
	}
	for _, word := range n.marks() {
		text += ", " + word
	}
	if state != "" {
		text += ": " + state
	}
	return text
}

// marks are the words for what is special about a node.
func (n *node) marks() []string {
	var list []string
	for _, c := range []struct {
		is   bool
		word string
	}{{n.pure, "pure"}, {n.pivot, "pivot"}, {n.bestEffort, "best effort"}, {n.undoable(), "undo"}, {n.compensate != nil, "compensate"}} {
		if c.is {
			list = append(list, c.word)
		}
	}
	return list
}

func mermaidID(path string) string {
	return strings.NewReplacer("/", "__", ".", "_", "-", "_").Replace(path)
}

// Plan says what would be done if a step failed for good, all steps before it in the order of the definition being done: one line for
// each thing, in its order. The error says that there is no such step.
func Plan[In, Out any](def *Def[In, Out], step string) ([]string, error) {
	failing := def.g.byName[step]
	if failing == nil {
		return nil, fmt.Errorf("saga %q has no step %q", def.g.name, step)
	}
	before := def.g.before(failing)
	for _, n := range before {
		if n.pivot {
			return []string{fmt.Sprintf("try %s until it succeeds: the pivot %s is done", step, n.name)}, nil
		}
	}
	var plan []string
	if failing.bestEffort {
		return []string{"ignore " + step}, nil
	}
	if failing.compensate != nil {
		plan = append(plan, "compensate "+step)
	}
	slices.Reverse(before)
	for _, n := range before {
		where := ""
		if n.queue != "" {
			where = " in queue " + n.queue
		}
		switch {
		case n.child != nil:
			plan = append(plan, "undo the steps of "+n.name+where)
		case n.undoable():
			plan = append(plan, "undo "+n.name+where)
		}
	}
	return append(plan, "fail"), nil
}

// before lists the nodes that are done when a node begins, if one runs at a time: in the order in which they run.
func (g *graph) before(last *node) []*node {
	var list []*node
	over := map[*node]bool{}
	ready := func(n *node) bool {
		return !over[n] && !slices.ContainsFunc(n.deps(), func(d *node) bool { return !over[d] })
	}
	for len(list) < len(g.nodes) {
		next := slices.IndexFunc(g.nodes, func(n *node) bool { return ready(n) && n.queue == "" })
		if next < 0 {
			next = slices.IndexFunc(g.nodes, ready)
		}
		if next < 0 || g.nodes[next] == last {
			return list
		}
		over[g.nodes[next]] = true
		list = append(list, g.nodes[next])
	}
	return list
}
