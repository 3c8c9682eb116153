package web

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// concerns lists what somebody should look at, the worst first.
func (q *request) concerns(ctx context.Context, queues []queueRow, workers []kernel.Worker, dead deadSample) ([]concern, error) {
	pauses, err := q.pauses(ctx)
	if err != nil {
		return nil, err
	}
	held, err := q.heldSample(ctx)
	if err != nil {
		return nil, err
	}
	list := append(fleetConcerns(workers, q.now), queueConcerns(queues)...)
	if n := len(held.tasks); n > 0 {
		count := plural(n, "task is", "tasks are")
		if held.more {
			count = "At least " + count
		}
		list = append(list, concern{"bad", count + " held for an operator", "/tasks?state=held"})
	}
	hour, err := q.minutes(ctx, 60)
	if err != nil {
		return nil, err
	}
	var failed int64
	for i := range hour {
		failed += hour[i].Failed
	}
	if failed > 0 && dead.Count > 0 {
		list = append(list, concern{"bad", plural(failed, "task has", "tasks have") + " failed in the last hour", "/dead"})
	}
	for _, p := range pauses {
		if p.Until.IsZero() && p.Scope.Kind != breakerKind {
			list = append(list, concern{"warn", scopeText(p.Scope) + " is paused until somebody resumes it", "/queues"})
		}
	}
	return list[:min(len(list), 12)], nil
}

func fleetConcerns(workers []kernel.Worker, now time.Time) []concern {
	var list []concern
	died, stuck := 0, 0
	for _, w := range workers {
		if w.DeadAt.IsZero() {
			stuck += w.Load.Stuck
		} else if w.Death != "left" && now.Sub(w.DeadAt) < time.Hour {
			died++
		}
	}
	if died > 0 {
		list = append(list, concern{"bad", plural(died, "worker has", "workers have") + " died in the last hour; their tasks went back", "/workers"})
	}
	if stuck > 0 {
		list = append(list, concern{"warn", plural(stuck, "handler does", "handlers do") + " not return though their time is up", "/workers"})
	}
	return list
}

func queueConcerns(queues []queueRow) []concern {
	var list []concern
	for _, u := range queues {
		waiting := counted(u.Ready, u.Scheduled, u.Parked)
		switch {
		case waiting.n > 0 && u.Served == 0:
			list = append(list, concern{"bad", fmt.Sprintf("No worker serves the queue %s, where %s", u.Queue, waiting.plural("task waits", "tasks wait")), u.Where})
		case u.Late:
			list = append(list, concern{"warn", fmt.Sprintf("The oldest task of the queue %s has waited %s", u.Queue, u.Waits), u.Where})
		}
	}
	return list
}

// heldSample is what is known of tasks that wait for an operator.
type heldSample struct {
	tasks []kernel.Task
	more  bool // older tasks were not looked at
}

// heldSample looks for them among the newest tasks.
func (q *request) heldSample(ctx context.Context) (heldSample, error) {
	return once(ctx, &q.h.reads, "held", 5*time.Second, func(ctx context.Context) (heldSample, error) {
		page, err := q.newest(ctx, kernel.Filter{}, kernel.PageRequest{Limit: sampleFew})
		held := heldSample{more: page.Cursor != ""}
		for _, t := range page.Items {
			if t.State == "held" && t.Reason != "group" {
				held.tasks = append(held.tasks, t)
			}
		}
		return held, err
	})
}
