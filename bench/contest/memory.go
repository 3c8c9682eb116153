package contest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/outlast-go/outlast/bench/part"
)

// memoryBenches let a worker of each engine work for a long time, all side by side: they are not busy.
func memoryBenches(cfg Config, e string) []*Bench {
	return []*Bench{{
		Name: fmt.Sprintf("memory over %v", cfg.Memory), Engine: e,
		Title:  "memory of a worker at the end, beside that after a twelfth of the time; 400 tasks a second",
		Order:  part.Order{Bench: "memory", For: cfg.Memory},
		Values: []Value{{Name: "resident", Unit: "MiB", Less: true, Suffix: " resident"}, {Name: "heap", Unit: "MiB", Less: true, Suffix: " heap"}},
		Sides:  []Side{ours, {Name: ours.Name, Title: "outlast, after " + (cfg.Memory / 12).Round(time.Second).String(), Bare: true}},
		Measure: func(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
			r, err := w.one(ctx, b, b.Sides[0])
			if err != nil {
				return nil, err
			}
			before := part.Report{Tasks: r.Tasks, CPU: -1, ServerCPU: -1, Values: maps.Clone(r.Values)}
			for _, v := range b.Values {
				before.Values[v.Name] = r.Values[v.Name+" before"]
			}
			return []part.Report{r, before}, nil
		},
		Rounds: 1, Waits: true,
	}}
}
