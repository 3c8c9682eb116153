// Package contest runs the benches: Outlast, its peers and the bare stores, each in a process of its own, in turn, round after
// round, on private servers; and tells medians and spread. What is measured of one contestant is package part's, who they are
// package side's, and what is shown of it package report's.
package contest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/outlast-go/outlast/bench/part"
)

// Side is one contestant of a bench.
type Side struct {
	Name    string // as package side knows it
	Setting string // default or best
	Title   string // as shown
	Program string // built from the module of that folder; empty: this program
	Tasks   int    // how many tasks it is given at most, if not as many as the order says: slow ones need fewer
	Slots   int    // how many tasks it runs at once, if not its default
	Bench   string // what is measured of it, if not what the order says
	Bare    bool   // it is no peer, but what nobody can be much better than: it is not won or lost against

	Workers  int     // how many processes, where several run
	Finished int     // how many tasks have ended in the store before it begins
	AtLeast  float64 // it is waited for no longer than this
	Never    bool    // what was waited for in vain cannot come at all
}

// Value is one figure of a bench.
type Value struct {
	Name string // in part.Report.Values
	Unit string
	Less bool // is better
	// Suffix tells the figures of one bench apart in its name.
	Suffix string
}

// Bench is one comparison on one engine.
type Bench struct {
	Name   string
	Engine string
	Title  string // what is measured, in a sentence
	Order  part.Order
	Values []Value
	Sides  []Side // the first is ours
	// Measure makes the reports of all sides, one round. Nil: each in a process of its own, in turn, on a store of its own.
	Measure func(ctx context.Context, w *World, b *Bench) ([]part.Report, error)
	Rounds  int  // at most; 0: no bound of its own
	Waits   bool // it waits more than it works, and may run beside the same on other engines
}

// Config says what to run.
type Config struct {
	Quick   bool
	Tiny    bool           // as little as can be: to see that all works
	Only    *regexp.Regexp // nil: all
	Rounds  int
	Budget  time.Duration // no bench begins later than this, and what runs much later is ended; 0: no end
	Huge    bool          // the store filled with ten times as much
	Memory  time.Duration // if positive, workers are watched for so long, and there are no other benches
	Command string        // by which it was asked for
	Source  string        // the folder of the bench module, to build its other programs from
	Log     io.Writer
}

// Run measures, and returns what each comparison gave. A contestant that fails is reported in its row, and stops no other.
func Run(ctx context.Context, cfg Config) (Results, error) {
	begun := time.Now()
	if cfg.Budget > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithDeadlineCause(ctx, begun.Add(cfg.Budget+grace), errLate)
		defer stop()
	}
	list := slices.DeleteFunc(benches(cfg), func(b *Bench) bool {
		return cfg.Only != nil && !cfg.Only.MatchString(b.Engine+"/"+b.Name)
	})
	if len(list) == 0 {
		return Results{}, errors.New("no bench has such a name")
	}
	w, err := newWorld(cfg, list)
	if err != nil {
		return Results{}, err
	}
	defer w.close()
	all := make([]*series, len(list))
	for i, b := range list {
		if cfg.Tiny {
			b.shrink()
		}
		all[i] = &series{bench: b, reports: make([][]part.Report, len(b.Sides)), errs: make([]error, len(b.Sides))}
	}
	if err := rounds(ctx, w, all, begun); err != nil {
		return Results{}, err
	}
	span := Span{Date: begun.UTC().Truncate(time.Second), Took: time.Since(begun), Command: cfg.Command}
	r := Results{Runs: []Span{span}, Machine: w.machine, Quick: cfg.Quick}
	if cfg.Quick {
		r.LeftOut = quickLeavesOut
	}
	for _, s := range all {
		if s.begun == 0 {
			r.LeftOut = append(r.LeftOut, s.bench.Engine+"/"+s.bench.Name+": the time was over")
			continue
		}
		r.Rows = append(r.Rows, s.rows()...)
		r.Notes = append(r.Notes, s.notes()...)
	}
	for i := range r.Rows {
		r.Rows[i].Date = span.Date
	}
	r.sort()
	return r, nil
}

// grace is how long what has begun in time may go on.
const grace = 45 * time.Second

// errLate is why a contestant was stopped.
var errLate = errors.New("the time of the whole run was over")

// rounds runs all benches round after round, as long as there is time.
func rounds(ctx context.Context, w *World, all []*series, begun time.Time) error {
	for round := range w.cfg.Rounds {
		left := slices.DeleteFunc(slices.Clone(all), func(s *series) bool { return s.bench.Rounds > 0 && round >= s.bench.Rounds })
		for len(left) > 0 {
			if w.cfg.Budget > 0 && time.Since(begun) > w.cfg.Budget {
				return nil
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			n := together(left)
			var group sync.WaitGroup
			for _, s := range left[:n] {
				group.Go(func() { s.round(ctx, w, round) })
			}
			group.Wait()
			left = left[n:]
		}
	}
	return nil
}

// together is how many of the first benches are run side by side.
func together(list []*series) int {
	n := 1
	for list[0].bench.Waits && n < len(list) && list[n].bench.Waits && list[n].bench.Name == list[0].bench.Name {
		n++
	}
	return n
}

// shrink makes a bench small: its figures mean nothing then. Peers with a program of their own stay away.
func (b *Bench) shrink() {
	b.Order.For = min(b.Order.For, 300*time.Millisecond)
	if b.Order.Tasks > 0 { // it ends when they have run
		b.Order.Tasks, b.Order.For = min(b.Order.Tasks, 300), 5*time.Second
	}
	b.Sides = slices.DeleteFunc(slices.Clone(b.Sides), func(s Side) bool { return s.Program != "" })
	for i := range b.Sides {
		b.Sides[i].Finished = min(b.Sides[i].Finished, 300*(len(b.Sides)-i))
	}
}

// series is what all rounds of a bench gave.
type series struct {
	bench   *Bench
	begun   int             // rounds
	reports [][]part.Report // by side
	errs    []error
}

// notes are what the last round had to say beside its figures.
func (s *series) notes() (list []Note) {
	for i, reports := range s.reports {
		if len(reports) > 0 && len(reports[len(reports)-1].Notes) > 0 {
			list = append(list, Note{Bench: s.bench.Name, Engine: s.bench.Engine, Side: s.bench.Sides[i].Title, Lines: reports[len(reports)-1].Notes})
		}
	}
	return list
}

// round measures each side once, and logs a line.
func (s *series) round(ctx context.Context, w *World, round int) {
	line := fmt.Sprintf("round %d  %s/%s:", round+1, s.bench.Engine, s.bench.Name)
	measure := s.bench.Measure
	if measure == nil {
		measure = inTurn
	}
	begun := time.Now()
	s.begun++
	list, err := measure(ctx, w, s.bench)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	for i := range s.bench.Sides {
		r := part.Report{Error: "it was not measured"}
		if i < len(list) {
			r = list[i]
		}
		if err != nil && r.Error != "" {
			r.Error = err.Error()
		}
		if r.Error != "" {
			s.errs[i] = errors.New(r.Error)
			line += fmt.Sprintf("  %s: %s", s.bench.Sides[i].Title, r.Error)
			continue
		}
		s.reports[i] = append(s.reports[i], r)
		line += fmt.Sprintf("  %s %s", s.bench.Sides[i].Title, Figure(r.Values[s.bench.Values[0].Name]))
	}
	fmt.Fprintf(w.cfg.Log, "%s  (%v)\n", line, time.Since(begun).Round(100*time.Millisecond))
}

// inTurn measures each side in a process of its own on a store of its own. One that fails leaves the others their figures.
func inTurn(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
	list := make([]part.Report, len(b.Sides))
	for i, s := range b.Sides {
		r, err := w.one(ctx, b, s)
		if err != nil {
			r.Error = err.Error()
		}
		list[i] = r
	}
	return list, nil
}

// one measures a side on an empty store.
func (w *World) one(ctx context.Context, b *Bench, s Side) (part.Report, error) {
	store, err := w.fresh(ctx, b.Engine)
	if err != nil {
		return part.Report{}, err
	}
	defer store.remove()
	return w.ask(ctx, s, w.order(b, s, store))
}
