package contest

import (
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/side"
)

// To add a bench, add it to benches: an Order that a contestant understands, its figures, and who takes part. What is no queue of
// no-op tasks gets a measure of its own in package side; what needs several processes a Measure here.

var engines = []string{"sqlite", "postgres", "redis"}

// ours is Outlast with its defaults.
var ours = Side{Name: side.Ours, Title: "outlast"}

// wide is Outlast as one would set it for many small tasks.
var wide = Side{Name: side.Ours, Title: "outlast, 1000 slots", Slots: 1000}

// bare is a store without a library.
func bare(engine string) Side {
	return Side{Name: side.Bare + engine, Title: "bare " + engine, Bare: true}
}

// written is a bare store of which the writing is measured alone.
func written(engine string) Side {
	s := bare(engine)
	s.Title, s.Bench = s.Title+", one write", "write"
	return s
}

// peers of an engine, each at its default and at its best; a quick run leaves the defaults out.
func peers(cfg Config, engine string) []Side {
	all := map[string][]Side{
		"sqlite": {
			{Name: side.Backlite, Title: "backlite 0.6 (" + side.BackliteOn + "), 10 workers", Tasks: 4000},
			{Name: side.Backlite, Setting: side.Best, Title: "backlite 0.6 (" + side.BackliteOn + "), 100 workers", Tasks: 4000},
			{Name: "riversqlite", Program: "riversqlite", Title: "River 0.31, 100 workers", Tasks: 4000},
			{Name: "riversqlite", Program: "riversqlite", Setting: side.Best, Title: "River 0.31, 1000 workers, 5 ms", Tasks: 20_000},
		},
		"postgres": {
			{Name: side.River, Title: "River 0.50, 100 workers", Tasks: 6000},
			{Name: side.River, Setting: side.Best, Title: "River 0.50, 1000 workers, 5 ms"},
		},
		"redis": {
			{Name: side.Asynq, Title: "asynq 0.26, defaults"},
			{Name: side.Asynq, Setting: side.Best, Title: "asynq 0.26, 100 at once, 5 ms"},
		},
	}
	var list []Side
	for _, s := range all[engine] {
		if cfg.Quick {
			s.Tasks /= 2
		}
		if !cfg.Quick || s.Setting == side.Best {
			list = append(list, s)
		}
	}
	return list
}

// sidekiq is Debian's Sidekiq, where it is installed: it is in Ruby, and measured by a program of its own that knows some of the measures.
func sidekiq(engine string, titles ...string) (list []Side) {
	if engine != "redis" {
		return nil
	}
	for i, title := range titles {
		s := Side{Name: "sidekiq", Program: "sidekiq", Title: "Sidekiq 6.4" + title, Tasks: 20_000}
		if i == len(titles)-1 {
			s.Setting = side.Best
		}
		list = append(list, s)
	}
	return list
}

// best is the last peer of an engine: where a setting of the workers cannot matter, one of each is enough.
func best(cfg Config, engine string) []Side {
	cfg.Quick = true
	return peers(cfg, engine)
}

// quickLeavesOut is what a quick run has no time for.
var quickLeavesOut = []string{
	"peers at their default settings",
	"Temporal, which takes minutes to build",
	"sagas run by workers, batches over 5,000 rows, more than 2 processes, 10,000 calls in flight",
	"stores with more than 20,000 finished tasks, 1,000 idle workers, tasks that have passed through; peers that take more than 4 s after a crash",
}

// benches are all of them; what matters most comes first, as a quick run may have no time for the rest.
func benches(cfg Config) []*Bench {
	kinds := []func(Config, string) []*Bench{
		runs, submits, sagaBenches, crashBenches, growthBenches, callBenches, batchBenches, idleBenches, processBenches,
	}
	if cfg.Memory > 0 {
		kinds = []func(Config, string) []*Bench{memoryBenches}
	}
	var list []*Bench
	for _, of := range kinds {
		for _, e := range engines {
			list = append(list, of(cfg, e)...)
		}
	}
	return list
}

// few bounds the rounds of a bench that takes long, 0: not at all. A quick run has one of it.
func few(cfg Config, most int) int {
	if cfg.Quick {
		return 1
	}
	return most
}

var rate = []Value{{Name: "rate", Unit: "tasks/s"}}

// window is how long one measurement takes.
func window(cfg Config) time.Duration {
	if cfg.Quick {
		return 500 * time.Millisecond
	}
	return 3 * time.Second
}

func submits(cfg Config, e string) []*Bench {
	sides := slices.Concat([]Side{ours}, best(cfg, e), sidekiq(e, ""), []Side{bare(e)})
	var list []*Bench
	for _, g := range []int{1, 16} {
		list = append(list, &Bench{
			Name: fmt.Sprintf("submit %d", g), Engine: e, Title: fmt.Sprintf("tasks are submitted one after the other, by goroutines side by side: %d", g),
			Order: part.Order{Bench: "submit", Goroutines: g, For: window(cfg)}, Values: rate, Sides: sides,
		})
	}
	return append(list, &Bench{
		Name: "submit bulk", Engine: e, Title: "one goroutine submits 1,000 tasks per call",
		Order: part.Order{Bench: "bulk", For: window(cfg)}, Values: rate, Sides: sides,
	})
}

func runs(cfg Config, e string) []*Bench {
	backlog, through, samples := 200_000, 40_000, 500
	if cfg.Quick {
		backlog, through, samples = 15_000, 5_000, 50
	}
	all := append([]Side{ours}, peers(cfg, e)...)
	list := []*Bench{
		{
			Name: "drain", Engine: e, Title: "tasks that do nothing are run; all are there when it begins",
			Order: part.Order{Bench: "drain", Tasks: backlog, For: 2 * window(cfg)}, Values: rate,
			Sides: slices.Concat(all, sidekiq(e, ", 10 threads", ", 2 processes of 5 threads"), []Side{bare(e)}),
		},
		{
			Name: "end to end", Engine: e, Title: "16 goroutines submit tasks while one process runs them",
			Order: part.Order{Bench: "through", Tasks: through, Goroutines: 16, For: 3 * window(cfg)}, Values: rate, Sides: all,
		},
		{
			Name: "idle latency", Engine: e, Title: "from the call that submits until the task runs, 100 a second, nothing else to do",
			Order:  part.Order{Bench: "latency", Tasks: samples},
			Values: []Value{{Name: "p50", Unit: "ms", Less: true, Suffix: " p50"}, {Name: "p99", Unit: "ms", Less: true, Suffix: " p99"}},
			Sides:  append(slices.Clone(all), written(e)),
		},
	}
	if cfg.Quick {
		return list
	}
	return append(list, &Bench{
		Name: "drain by 1000", Engine: e, Title: "the same as drain; all are at their best, and Outlast has 1,000 slots",
		Order: part.Order{Bench: "drain", Tasks: backlog, For: 2 * window(cfg)}, Values: rate,
		Sides: slices.Concat([]Side{wide}, best(cfg, e), sidekiq(e, ", 2 processes of 5 threads"), []Side{bare(e)}),
	})
}
