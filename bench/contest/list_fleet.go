package contest

import (
	"fmt"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/side"
)

// processBenches let several worker processes run what is there.
func processBenches(cfg Config, e string) []*Bench {
	most, backlog, counts, length := 8, 200_000, []int{8, 4, 2, 1}, 3*window(cfg)
	if cfg.Quick {
		most, backlog, counts, length = 2, 15_000, []int{2, 1}, 1500*time.Millisecond
	}
	var fleets []Side
	for _, n := range counts {
		fleets = append(fleets, Side{Name: side.Ours, Title: fmt.Sprintf("outlast, processes: %d", n), Workers: n, Bare: n != most})
	}
	for _, s := range best(cfg, e) {
		s.Workers, s.Title = most, fmt.Sprintf("%s, processes: %d", s.Title, most)
		s.Tasks *= most // each takes many at a time, and what it takes first is not all there is
		fleets = append(fleets, s)
	}
	return []*Bench{{
		Name: fmt.Sprintf("%d processes", most), Engine: e, Title: "worker processes run tasks that do nothing; all are there when it begins",
		Order: part.Order{Tasks: backlog, For: length}, Values: rate, Sides: fleets, Measure: processes, Rounds: few(cfg, 3),
	}}
}

// crashBenches kill a worker. A peer is waited for no longer than the patience of the bench.
func crashBenches(cfg Config, e string) []*Bench {
	patience := 180 * time.Second
	if cfg.Quick {
		patience = 4 * time.Second
	}
	held := []Side{ours}
	for _, s := range peers(cfg, e) {
		s.AtLeast = patience.Seconds()
		held = append(held, s)
	}
	for _, s := range sidekiq(e, "") { // it takes a job out of Redis before it runs, so there is nothing to be found
		s.AtLeast, s.Never = patience.Seconds(), true
		held = append(held, s)
	}
	for i := range held {
		held[i].Slots = 50
	}
	return []*Bench{{
		Name: "crash", Engine: e, Title: "from kill -9 of a worker with 50 tasks until all of them run in another, default settings",
		Order: part.Order{Bench: "hold", Tasks: 50, For: patience}, Values: []Value{{Name: "took", Unit: "s", Less: true}},
		Sides: held, Measure: crashes, Rounds: few(cfg, 2), Waits: true,
	}}
}

// idleBenches simulate a fleet of workers that have nothing to do.
func idleBenches(cfg Config, e string) []*Bench {
	workers, length := 1000, 30*time.Second
	sides := []Side{
		{Name: side.Ours, Title: "outlast"},
		{Name: side.Ours, Setting: side.Unadvised, Title: "outlast, a beat a second", Bare: true},
		{Name: side.Ours, Setting: side.Slow, Title: "outlast, set to beat every 10 s and to look every 10 s", Bare: true},
	}
	if cfg.Quick {
		workers, length, sides = 100, 5*time.Second, sides[:2]
	}
	share := func(name, unit string) Value { return Value{Name: name, Unit: unit, Less: true, Suffix: " " + name} }
	values := []Value{share("calls", "calls/s"), share("program", "% of a core"), share("server", "% of a core")}
	if e == "sqlite" { // it has no server
		values = values[:2]
	}
	return []*Bench{{
		Name: fmt.Sprintf("%d idle workers", workers), Engine: e,
		Title:  "workers that have nothing to do, 50 to a handle of the store (SQLite: 250): calls of the store a second, and the cores they keep busy, of the program and of the server; beside workers that do not follow the store's advice to beat less often in a large fleet",
		Order:  part.Order{Bench: "idle", Tasks: workers, For: length},
		Values: values,
		Sides:  sides, Rounds: 1, Waits: cfg.Quick,
	}}
}
