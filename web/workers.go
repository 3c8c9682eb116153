package web

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// workerRow is a worker as it is shown.
type workerRow struct {
	kernel.Worker
	State  string // running, draining, late, dead, left
	Tone   string
	Slots  []field
	Total  int
	Use    string
	KindsN int
}

func workerRows(workers []kernel.Worker, now time.Time) []workerRow {
	list := make([]workerRow, 0, len(workers))
	for _, w := range workers {
		r := workerRow{Worker: w, State: w.Load.State, Tone: "good", KindsN: len(w.Info.Kinds)}
		switch {
		case w.Death == "left":
			r.State, r.Tone = "left", "mute"
		case !w.DeadAt.IsZero():
			r.State, r.Tone = "dead", "bad"
		case now.Sub(w.BeatAt) > w.DeadAfter/3 && w.DeadAfter > 0:
			r.State, r.Tone = "late", "warn"
		case r.State != "running":
			r.Tone = "warn"
		}
		for _, name := range slices.Sorted(maps.Keys(w.Info.Slots)) {
			r.Slots = append(r.Slots, field{name, number(int64(w.Info.Slots[name]))})
			r.Total += w.Info.Slots[name]
		}
		r.Use = percent(int64(min(w.Load.Running, r.Total)), int64(r.Total))
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b workerRow) int {
		if dead := boolInt(!a.DeadAt.IsZero()) - boolInt(!b.DeadAt.IsZero()); dead != 0 {
			return dead
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

type workersView struct {
	Alive, Dead []workerRow
	Evidence    string
}

var evidence = map[string]string{
	"proof":   "a lock that only the end of a process lets go: the dead are known at once",
	"session": "a session of the store: the dead are known within seconds",
	"none":    "none: only silence tells who is dead",
}

func workersPage(ctx context.Context, q *request, _ string) (*page, error) {
	workers, err := q.workers(ctx)
	d := workersView{Evidence: evidence[string(q.h.k.Store().Evidence)]}
	for _, r := range workerRows(workers, q.now) {
		if r.DeadAt.IsZero() {
			d.Alive = append(d.Alive, r)
		} else {
			d.Dead = append(d.Dead, r)
		}
	}
	return &page{Title: "Workers", Nav: "workers", Name: "workers", D: d}, err
}
