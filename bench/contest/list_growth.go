package contest

import (
	"fmt"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/side"
)

// growthBenches tell what the operations of a store cost as it fills with finished tasks, and how large it is.
func growthBenches(cfg Config, e string) []*Bench {
	stages, passed := []int{1_000_000, 10_000, 0}, 1_000_000
	switch {
	case cfg.Quick:
		stages = []int{20_000, 0}
	case cfg.Huge:
		stages, passed = []int{10_000_000, 1_000_000, 10_000, 0}, 10_000_000
	}
	var filled []Side
	for i, n := range stages {
		filled = append(filled, Side{Name: side.Ours, Title: fmt.Sprintf("outlast, %d finished", n), Finished: n, Bare: i > 0})
	}
	filled[len(filled)-1].Title = "outlast, an empty store"
	cost := func(name string) Value { return Value{Name: name, Unit: "ms", Less: true, Suffix: " " + name} }
	list := []*Bench{
		{
			Name: "full store", Engine: e,
			Title:  fmt.Sprintf("one call of the store with %d finished tasks beside the same with fewer, median: Claim and Complete of 100 tasks, Recover of 100 tasks of a dead worker, List of a page of 100", stages[0]),
			Order:  part.Order{Bench: "costs", Tasks: samples(cfg), For: 2 * time.Hour},
			Values: []Value{cost("claim"), cost("complete"), cost("recover"), cost("list"), {Name: "size", Unit: "MiB", Less: true, Suffix: " size"}},
			Sides:  filled, Measure: growth, Rounds: 1,
		},
		{
			Name: "passed through", Engine: e,
			Title:  fmt.Sprintf("size of a store after %d tasks have been submitted, run and pruned, beside its size after a tenth of them", passed),
			Order:  part.Order{Bench: "passed", Tasks: passed, For: 2 * time.Hour},
			Values: []Value{{Name: "size", Unit: "MiB", Less: true, Suffix: " size"}},
			Sides: []Side{
				{Name: side.Ours, Title: fmt.Sprintf("outlast, %d tasks", passed), Finished: passed},
				{Name: side.Ours, Title: fmt.Sprintf("outlast, %d tasks", passed/10), Finished: passed / 10, Bare: true},
			},
			Measure: growth, Rounds: 1,
		},
	}
	if cfg.Quick { // so few are all there at once
		return list[:1]
	}
	return list
}

// samples is how many blocks of tasks a cost is the median of.
func samples(cfg Config) int {
	if cfg.Quick {
		return 10
	}
	return 30
}
