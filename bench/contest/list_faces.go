package contest

import (
	"fmt"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/side"
)

// sagaBenches are those of sagas: there is no peer to install, so the same durable writes on the bare store stand beside them.
func sagaBenches(cfg Config, e string) []*Bench {
	sides := []Side{{Name: side.Ours, Setting: side.InCaller, Title: "outlast"}, bare(e)}
	workers := []Side{ours, bare(e)}
	var list []*Bench
	for _, steps := range []int{3, 5} {
		o := part.Order{Bench: "sagas", Steps: steps, Goroutines: 32, For: window(cfg)}
		per := []Value{{Name: "rate", Unit: "sagas/s"}}
		list = append(list, &Bench{
			Name: fmt.Sprintf("sagas of %d", steps), Engine: e, Order: o, Values: per, Sides: sides,
			Title: "sagas of empty steps, 32 side by side, run where they are started; beside as many durable writes in a row",
		})
		if !cfg.Quick {
			list = append(list, &Bench{
				Name: fmt.Sprintf("sagas of %d by workers", steps), Engine: e, Order: o, Values: per, Sides: workers,
				Title: "sagas of empty steps, 32 side by side, run by workers; beside as many durable writes in a row",
			})
		}
	}
	samples := 300
	if cfg.Quick {
		samples = 60
	}
	return append(list, &Bench{
		Name: "hand-off", Engine: e, Title: "from the end of a step until the next one begins, which waits in a queue; saga of 5 steps, one at a time; beside one durable write",
		Order: part.Order{Bench: "hand-off", Steps: 5, Tasks: samples}, Sides: workers,
		Values: []Value{
			{Name: "p50", Unit: "ms", Less: true, Suffix: " p50"},
			{Name: "p99", Unit: "ms", Less: true, Suffix: " p99"},
			{Name: "commits", Unit: "commits", Less: true, Suffix: " commits"},
		},
	})
}

// batchBenches are those of batches: there is no peer, so as many tasks on the bare store stand beside them, and a larger batch beside a smaller.
func batchBenches(cfg Config, e string) []*Bench {
	few, many := 10_000, []int{100_000, 1_000_000}
	if cfg.Quick {
		few, many = 1_000, []int{5_000}
	}
	per := Value{Name: "rate", Unit: "rows/s"}
	list := []*Bench{{
		Name: "batch rows", Engine: e, Title: "a batch of rows that do nothing, from its submit until it is closed, one process; beside as many tasks stored in bulk, claimed and completed by the hundred",
		Order: part.Order{Bench: "rows", Tasks: few, For: 5 * time.Minute}, Values: []Value{per}, Sides: []Side{ours, bare(e)},
	}}
	for _, n := range many {
		list = append(list, &Bench{
			Name: fmt.Sprintf("batch of %d", n), Engine: e, Title: fmt.Sprintf("the same beside a batch of %d: rows a second are as many if the cost of a batch is linear; and how much the process grows while it submits", few),
			Order:  part.Order{Bench: "rows", Tasks: n, For: 15 * time.Minute},
			Values: []Value{{Name: "rate", Unit: "rows/s", Suffix: " rate"}, {Name: "memory", Unit: "KiB", Less: true, Suffix: " memory"}},
			Sides:  []Side{ours, {Name: side.Ours, Title: fmt.Sprintf("outlast, a batch of %d", few), Tasks: few, Bare: true}}, Rounds: rounds(cfg, 2),
		})
	}
	return list
}

func callBenches(cfg Config, e string) []*Bench {
	inFlight, times := 10_000, 4
	if cfg.Quick {
		inFlight, times = 2_000, 2
	}
	return []*Bench{
		{
			Name: "calls", Engine: e, Title: fmt.Sprintf("requests with %d in flight to a server that holds each for a second, HTTP/1.1, until the callback has run; beside net/http, which stores nothing", inFlight),
			Order:  part.Order{Bench: "calls", Slots: inFlight, Tasks: inFlight * times},
			Values: []Value{{Name: "rate", Unit: "requests/s", Suffix: " rate"}, {Name: "memory", Unit: "KiB/request", Less: true, Suffix: " memory"}},
			Sides:  []Side{{Name: side.OursCall, Title: "outlast"}, {Name: side.Plain, Title: "net/http", Bare: true}}, Measure: calling, Rounds: rounds(cfg, 3),
		},
		{
			Name: "submit a call", Engine: e, Title: "one goroutine submits HTTP requests; beside one durable write",
			Order:  part.Order{Bench: "submit", Goroutines: 1, For: window(cfg)},
			Values: []Value{{Name: "p50", Unit: "ms", Less: true, Suffix: " p50"}},
			Sides:  []Side{{Name: side.OursCall, Title: "outlast"}, bare(e)},
		},
	}
}

// rounds bounds those of a bench that takes long; a quick run has one of it.
func rounds(cfg Config, most int) int {
	if cfg.Quick {
		return 1
	}
	return most
}

// fleetBenches are those of several processes and of long lives.
func fleetBenches(cfg Config, e string) []*Bench {
	most, patience, few, many, backlog := 8, 180*time.Second, 10_000, 1_000_000, 200_000
	counts := []int{8, 4, 2, 1}
	if cfg.Huge {
		many = 10_000_000
	}
	if cfg.Quick {
		most, patience, few, many, backlog, counts = 2, 6*time.Second, 1_000, 20_000, 20_000, []int{2, 1}
	}
	var fleets []Side
	for _, n := range counts {
		fleets = append(fleets, Side{Name: side.Ours, Title: fmt.Sprintf("outlast, processes: %d", n), Workers: n, Bare: n != most})
	}
	for _, s := range best(cfg, e) {
		s.Workers, s.Title = most, fmt.Sprintf("%s, processes: %d", s.Title, most)
		fleets = append(fleets, s)
	}
	held := []Side{ours}
	for _, s := range peers(cfg, e) {
		s.AtLeast = patience.Seconds()
		held = append(held, s)
	}
	for i := range held {
		held[i].Slots = 50
	}
	filled := []Side{
		{Name: side.Ours, Title: fmt.Sprintf("outlast, %d finished", many), Finished: many},
		{Name: side.Ours, Title: fmt.Sprintf("outlast, %d finished", few), Finished: few, Bare: true},
	}
	return []*Bench{
		{
			Name: fmt.Sprintf("%d processes", most), Engine: e, Title: "worker processes run tasks that do nothing; all are there when it begins",
			Order: part.Order{Tasks: backlog, For: 3 * window(cfg)}, Values: rate, Sides: fleets, Measure: processes, Rounds: rounds(cfg, 3),
		},
		{
			Name: "crash", Engine: e, Title: "from kill -9 of a worker with 50 tasks until all of them run in another, default settings",
			Order: part.Order{Bench: "hold", Tasks: 50, For: patience}, Values: []Value{{Name: "took", Unit: "s", Less: true}},
			Sides: held, Measure: crashes, Rounds: rounds(cfg, 2),
		},
		{
			Name: "full store", Engine: e, Title: "drain on a store with many finished tasks beside the same with few",
			Order: part.Order{Tasks: few}, Values: rate, Sides: filled, Measure: growth, Rounds: 1,
		},
	}
}
