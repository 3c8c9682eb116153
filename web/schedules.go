package web

import (
	"context"

	"github.com/outlast-go/outlast/kernel"
)

type schedulesView struct {
	Rows []scheduleRow
	Next string
}

type scheduleRow struct {
	kernel.Schedule
	Late bool
}

func schedulesPage(ctx context.Context, q *request, _ string) (*page, error) {
	p, err := q.h.k.Schedules(ctx, kernel.PageRequest{Limit: pageRows, Cursor: q.r.URL.Query().Get("cursor")})
	if err != nil {
		return nil, err
	}
	var d schedulesView
	for _, s := range p.Items {
		d.Rows = append(d.Rows, scheduleRow{s, !s.Paused && !s.NextAt.IsZero() && q.now.Sub(s.NextAt) > lateAfter})
	}
	if p.Cursor != "" {
		d.Next = link("/schedules", "cursor", p.Cursor)
	}
	return &page{Title: "Schedules", Nav: "schedules", Name: "schedules", D: d}, nil
}
