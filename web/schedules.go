package web

import (
	"context"
	"slices"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

type schedulesView struct {
	Rows []scheduleRow
	Next string
}

type scheduleRow struct {
	kernel.Schedule
	Late   bool
	Then   []time.Time // the ticks after the next one
	Served bool        // somebody runs what it submits
}

func schedulesPage(ctx context.Context, q *request, _ string) (*page, error) {
	p, err := q.h.k.Schedules(ctx, kernel.PageRequest{Limit: pageRows, Cursor: q.r.URL.Query().Get("cursor")})
	if err != nil {
		return nil, err
	}
	workers, err := q.workers(ctx)
	if err != nil {
		return nil, err
	}
	var d schedulesView
	for _, s := range p.Items {
		r := scheduleRow{Schedule: s, Late: !s.Paused && !s.NextAt.IsZero() && q.now.Sub(s.NextAt) > lateAfter, Served: served(workers, &s.Task)}
		if !s.Paused && !s.NextAt.IsZero() {
			r.Then, _ = kernel.Ticks(s.Rule, s.Zone, s.NextAt, 3) // a rule of another version is shown without
		}
		d.Rows = append(d.Rows, r)
	}
	if p.Cursor != "" {
		d.Next = link("/schedules", "cursor", p.Cursor)
	}
	return &page{Title: "Schedules", Nav: "schedules", Name: "schedules", D: d}, nil
}

// served reports whether a living worker runs tasks of a queue and kind.
func served(workers []kernel.Worker, s *kernel.Spec) bool {
	return slices.ContainsFunc(workers, func(w kernel.Worker) bool {
		return w.DeadAt.IsZero() && w.Info.Slots[s.Queue] > 0 && slices.Contains(w.Info.Kinds, s.Kind)
	})
}
