package contest

import (
	"fmt"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/side"
)

// besideTemporal tells what Temporal's settings are.
const besideTemporal = "; beside Temporal in one process with its server (default settings; at its best with 4 history shards, 16 pollers of each kind and eager starts; and with " +
	"local activities, whose results are stored together and not step by step)"

// temporal is Temporal's server, worker and client in one process. It has no store in Redis. It takes minutes to build, and so a quick run
// leaves it out.
func temporal(cfg Config, e string) []Side {
	if cfg.Quick || e == "redis" {
		return nil
	}
	const name = "Temporal 1.32"
	return []Side{
		{Name: "temporal", Program: "temporal", Title: name},
		{Name: "temporal", Program: "temporal", Setting: side.Best, Title: name + ", best: 4 shards, 16 pollers"},
		{Name: "temporal", Program: "temporal", Setting: "local", Title: name + ", best, local activities"},
	}
}

// sagaBenches are those of sagas: beside them stand Temporal, where it has that store, and as many durable writes on the bare store.
func sagaBenches(cfg Config, e string) []*Bench {
	sides := append([]Side{{Name: side.Ours, Setting: side.InCaller, Title: "outlast"}}, append(temporal(cfg, e), bare(e))...)
	workers := append([]Side{ours}, append(temporal(cfg, e), bare(e))...)
	var list []*Bench
	for _, steps := range []int{3, 5} {
		o := part.Order{Bench: "sagas", Steps: steps, Goroutines: 32, For: window(cfg)}
		per := []Value{{Name: "rate", Unit: "sagas/s"}}
		list = append(list, &Bench{
			Name: fmt.Sprintf("sagas of %d", steps), Engine: e, Order: o, Values: per, Sides: sides, Rounds: few(cfg, 3),
			Title: "sagas of empty steps, 32 side by side, run where they are started" + besideTemporal + "; and beside as many durable writes in a row",
		})
		if !cfg.Quick {
			list = append(list, &Bench{
				Name: fmt.Sprintf("sagas of %d by workers", steps), Engine: e, Order: o, Values: per, Sides: workers, Rounds: few(cfg, 3),
				Title: "sagas of empty steps, 32 side by side, run by workers" + besideTemporal + "; and beside as many durable writes in a row",
			})
		}
	}
	samples := 300
	if cfg.Quick {
		samples = 40
	}
	return append(list, &Bench{
		Name: "hand-off", Engine: e, Title: "from the end of a step until the next one begins, which waits in a queue; saga of 5 steps, one at a time; beside one durable write",
		Order: part.Order{Bench: "hand-off", Steps: 5, Tasks: samples}, Sides: []Side{ours, bare(e)}, Rounds: few(cfg, 0),
		Values: []Value{
			{Name: "p50", Unit: "ms", Less: true, Suffix: " p50"},
			{Name: "p99", Unit: "ms", Less: true, Suffix: " p99"},
			{Name: "commits", Unit: "commits", Less: true, Suffix: " commits"},
		},
	})
}

// batchBenches are those of batches: there is no peer, so as many tasks on the bare store stand beside them, and a larger batch beside a smaller.
func batchBenches(cfg Config, e string) []*Bench {
	small, large := 10_000, []int{100_000, 1_000_000}
	if cfg.Quick {
		small, large = 1_000, []int{5_000}
	}
	per := Value{Name: "rate", Unit: "rows/s"}
	list := []*Bench{{
		Name: "batch rows", Engine: e, Title: "a batch of rows that do nothing, from its submit until it is closed, one process; beside as many tasks stored in bulk, claimed and completed by the hundred",
		Order: part.Order{Bench: "rows", Tasks: small, For: 5 * time.Minute}, Values: []Value{per}, Sides: []Side{ours, bare(e)}, Rounds: few(cfg, 0),
	}}
	for _, n := range large {
		list = append(list, &Bench{
			Name: fmt.Sprintf("batch of %d", n), Engine: e, Title: fmt.Sprintf("the same beside a batch of %d: rows a second are as many if the cost of a batch is linear; and how much the process grows while it submits", small),
			Order:  part.Order{Bench: "rows", Tasks: n, For: 15 * time.Minute},
			Values: []Value{{Name: "rate", Unit: "rows/s", Suffix: " rate"}, {Name: "memory", Unit: "KiB", Less: true, Suffix: " memory"}},
			Sides:  []Side{ours, {Name: side.Ours, Title: fmt.Sprintf("outlast, a batch of %d", small), Tasks: small, Bare: true}}, Rounds: few(cfg, 2),
		})
	}
	return list
}

func callBenches(cfg Config, e string) []*Bench {
	inFlight, times := 10_000, 4
	if cfg.Quick {
		inFlight, times = 1_000, 2
	}
	return []*Bench{
		{
			Name: "calls", Engine: e, Title: fmt.Sprintf("requests with %d in flight to a server that holds each for a second, HTTP/1.1, until the callback has run; beside net/http, which stores nothing", inFlight),
			Order:  part.Order{Bench: "calls", Slots: inFlight, Tasks: inFlight * times},
			Values: []Value{{Name: "rate", Unit: "requests/s", Suffix: " rate"}, {Name: "memory", Unit: "KiB/request", Less: true, Suffix: " memory"}},
			Sides:  []Side{{Name: side.OursCall, Title: "outlast"}, {Name: side.Plain, Title: "net/http", Bare: true}}, Measure: calling, Rounds: few(cfg, 3),
		},
		{
			Name: "submit a call", Engine: e, Title: "one goroutine submits HTTP requests; beside one durable write",
			Order:  part.Order{Bench: "submit", Goroutines: 1, For: window(cfg)},
			Values: []Value{{Name: "p50", Unit: "ms", Less: true, Suffix: " p50"}},
			Sides:  []Side{{Name: side.OursCall, Title: "outlast"}, bare(e)}, Rounds: few(cfg, 0),
		},
	}
}
