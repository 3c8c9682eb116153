package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/saga"
)

// The sizes of what a graph is drawn of.
const (
	boxWide  = 184
	boxHigh  = 54
	boxGapX  = 28
	boxGapY  = 44
	boxEdge  = 8
	nameMost = 22
)

// graph is a saga as it is drawn: boxes in rows, what comes later further down.
type graph struct {
	W, H  int
	Boxes []box
	Edges []edge
	Says  string

	passing int // edges that go around
}

type box struct {
	X, Y, W, H    int
	TextX         int
	NameY, StateY int
	Name, Short   string
	State, What   string
	Class         string
	DotX, DotY    int
}

type edge struct {
	D     string
	Class string
}

// drawn is a step on its way into a graph.
type drawn struct {
	name, what  string
	takes, late []string
	state       string
	inner       int
}

// draw lays out a saga. With its outline, steps stand below those they come after; without, what has begun stands in the order it began.
func draw(o *saga.Outline, s *saga.Status) *graph {
	states := map[string]string{}
	for _, st := range s.Steps {
		states[st.Name] = st.State
	}
	var list []drawn
	if o != nil {
		for _, st := range o.Steps {
			d := drawn{name: st.Name, what: what(&st), takes: st.Takes, late: st.After, state: states[st.Name], inner: len(st.Inner)}
			if d.state == "" && d.inner > 0 {
				d.state = innerState(st.Name, s)
			}
			list = append(list, d)
		}
	} else {
		for i, st := range s.Steps {
			d := drawn{name: st.Name, state: st.State}
			if i > 0 {
				d.late = []string{s.Steps[i-1].Name}
			}
			list = append(list, d)
		}
	}
	return lay(list)
}

func what(st *saga.OutlineStep) string {
	parts := []string{}
	if st.What != "step" {
		parts = append(parts, st.What)
	}
	if st.Queue != "" {
		parts = append(parts, "→ "+st.Queue)
	}
	for _, m := range st.Marks {
		if m == "pivot" || m == "best effort" {
			parts = append(parts, m)
		}
	}
	return strings.Join(parts, " ")
}

// innerState is the state of a step that is made of others: the one that says most.
func innerState(name string, s *saga.Status) string {
	state := "pending"
	for _, st := range s.Steps {
		if !strings.HasPrefix(st.Name, name+"/") {
			continue
		}
		switch {
		case st.State == "failed" || st.State == "undo failed":
			return st.State
		case st.State == "done" && state == "pending":
			state = "done"
		case st.State != "done":
			state = st.State
		}
	}
	return state
}

// lay puts each step one row below the lowest of those it comes after.
func lay(list []drawn) *graph {
	level, rows := map[string]int{}, [][]int{}
	for i, d := range list {
		at := 0
		for _, dep := range slices.Concat(d.takes, d.late) {
			if l, ok := level[dep]; ok {
				at = max(at, l+1)
			}
		}
		level[d.name] = at
		for len(rows) <= at {
			rows = append(rows, nil)
		}
		rows[at] = append(rows[at], i)
	}
	most := 1
	for _, r := range rows {
		most = max(most, len(r))
	}
	g := &graph{W: most*(boxWide+boxGapX) - boxGapX + 2*boxEdge, H: max(1, len(rows))*(boxHigh+boxGapY) - boxGapY + 2*boxEdge}
	g.Boxes = make([]box, len(list))
	byName := map[string]*box{}
	var says []string
	for y, r := range rows {
		left := (g.W - len(r)*(boxWide+boxGapX) + boxGapX) / 2
		for x, i := range r {
			g.Boxes[i] = newBox(&list[i], left+x*(boxWide+boxGapX), boxEdge+y*(boxHigh+boxGapY))
			byName[list[i].name] = &g.Boxes[i]
		}
	}
	for i := range list {
		says = append(says, list[i].name+": "+g.Boxes[i].State)
		for _, dep := range list[i].takes {
			g.join(byName[dep], &g.Boxes[i], "takes")
		}
		for _, dep := range list[i].late {
			g.join(byName[dep], &g.Boxes[i], "after")
		}
	}
	g.Says = strings.Join(says, ", ")
	return g
}

func newBox(d *drawn, x, y int) box {
	state := d.state
	if state == "" {
		state = "pending"
	}
	b := box{
		X: x, Y: y, W: boxWide, H: boxHigh, TextX: x + 28, NameY: y + 22, StateY: y + 41, DotX: x + 15, DotY: y + 18,
		Name: d.name, Short: clip(d.name, nameMost), State: state, Class: "step-" + stepClass(state),
	}
	b.What = state
	if d.what != "" {
		b.What += " · " + d.what
	}
	b.What = clip(b.What, 27)
	return b
}

func clip(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most-1]) + "…"
}

// stepClass is how the state of a step looks.
func stepClass(state string) string {
	switch state {
	case "done", "skipped", "resolved":
		return "good"
	case "failed", "undo failed":
		return "bad"
	case "ignored", "retrying", "waiting":
		return "warn"
	case "sent", "undo sent", "running":
		return "busy"
	case "undone", "compensated":
		return "back"
	}
	return "none"
}

// join draws an edge from the foot of one box to the head of another.
func (g *graph) join(from, to *box, class string) {
	if from == nil || to == nil {
		return
	}
	x1, y1, x2, y2 := from.X+boxWide/2, from.Y+boxHigh, to.X+boxWide/2, to.Y-3
	const turn = boxGapY - 6
	if y2-y1 > boxGapY { // it passes rows: it goes around what stands in them, and turns in the gaps above and below
		side := g.around(from, to)
		g.Edges = append(g.Edges, edge{fmt.Sprintf("M%d %d C%d %d %d %d %d %d L%d %d C%d %d %d %d %d %d",
			x1, y1, x1, y1+turn, side, y1+4, side, y1+turn, side, y2-turn, side, y2-4, x2, y2-turn, x2, y2), class})
		return
	}
	mid := (y1 + y2) / 2
	g.Edges = append(g.Edges, edge{fmt.Sprintf("M%d %d C%d %d %d %d %d %d", x1, y1, x1, mid, x2, mid, x2, y2), class})
}

// around finds where an edge passes the rows between two boxes: right of all that stand there, each edge on a line of its own.
func (g *graph) around(from, to *box) int {
	side := max(from.X, to.X) + boxWide
	for i := range g.Boxes {
		if b := &g.Boxes[i]; b.Y > from.Y && b.Y < to.Y {
			side = max(side, b.X+boxWide)
		}
	}
	g.passing++
	side += 6 + 9*g.passing
	g.W = max(g.W, side+boxEdge)
	return side
}
