package web

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// lateAfter is how long a task may wait before somebody should look.
const lateAfter = 5 * time.Minute

// queueRow is a queue as it is shown.
type queueRow struct {
	kernel.QueueStatus
	Slots  int64  // of all living workers
	Served int    // living workers that serve it
	Waits  string // how long the oldest has
	Late   bool
	Where  string
	Use    string // per cent of the slots
}

func (q *request) queueRows(ctx context.Context) ([]queueRow, error) {
	queues, err := q.queues(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := q.workers(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]*queueRow{}
	for _, u := range queues {
		byName[u.Queue] = &queueRow{QueueStatus: u}
	}
	for _, w := range workers {
		if !w.DeadAt.IsZero() {
			continue
		}
		for name, n := range w.Info.Slots {
			if byName[name] == nil {
				byName[name] = &queueRow{QueueStatus: kernel.QueueStatus{Queue: name}}
			}
			byName[name].Slots += int64(n)
			byName[name].Served++
		}
	}
	var list []queueRow
	for name, r := range byName {
		r.Where = "/queue/" + pathPart(name)
		r.Use = percent(min(r.Running, r.Slots), r.Slots)
		if !r.OldestAt.IsZero() {
			waits := max(q.now.Sub(r.OldestAt), 0)
			r.Waits, r.Late = coarse(waits), waits > lateAfter
		}
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b queueRow) int { return strings.Compare(a.Queue, b.Queue) })
	return list, nil
}

func pathPart(name string) string { return url.PathEscape(name) }

type queuesView struct {
	Queues []queueRow
	Pauses []pauseRow
	Limits []limitRow
}

type pauseRow struct {
	kernel.Pause
	Scope  string
	Button act
}

type limitRow struct {
	kernel.LimitStatus
	Rates string
	Rate  string // as the form has it
	Full  bool
}

func queuesPage(ctx context.Context, q *request, _ string) (*page, error) {
	var d queuesView
	var err error
	ahead(ctx, asks(q.queues), asks(q.workers), asks(q.pauses), asks(q.limits))
	if d.Queues, err = q.queueRows(ctx); err != nil {
		return nil, err
	}
	if d.Pauses, err = q.pauseRows(ctx, ""); err != nil {
		return nil, err
	}
	limits, err := q.limits(ctx)
	for _, l := range limits {
		d.Limits = append(d.Limits, limitView(l))
	}
	return &page{Title: "Queues", Nav: "queues", Name: "queues", D: d}, err
}

func (q *request) pauseRows(ctx context.Context, queue string) ([]pauseRow, error) {
	pauses, err := q.pauses(ctx)
	var list []pauseRow
	for _, p := range pauses {
		if queue != "" && p.Scope.Queue != queue && p.Scope.Queue != "" {
			continue
		}
		list = append(list, pauseRow{
			Pause: p, Scope: scopeText(p.Scope),
			Button: newAct("resume", "Resume", q.here(), "queue", p.Scope.Queue, "kind", p.Scope.Kind, "lane", p.Scope.Lane, "name", scopeText(p.Scope)),
		})
	}
	return list, err
}

func scopeText(s kernel.Scope) string {
	var parts []string
	for _, p := range []field{{"queue", s.Queue}, {"kind", s.Kind}, {"lane", s.Lane}} {
		if p.Value != "" {
			parts = append(parts, p.Name+" "+p.Value)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "everything")
}

func limitView(l kernel.LimitStatus) limitRow {
	r := limitRow{LimitStatus: l, Full: l.Running > 0 && l.InUse >= l.Running}
	var parts []string
	for _, rate := range l.Rates {
		text := fmt.Sprintf("%s per %s", number(int64(rate.N)), span(rate.Per))
		if rate.Burst > 0 {
			text += fmt.Sprintf(", %d at once", rate.Burst)
		}
		parts = append(parts, text)
	}
	r.Rates = strings.Join(parts, "; ")
	if len(l.Rates) == 1 {
		r.Rate = fmt.Sprintf("%d/%s", l.Rates[0].N, l.Rates[0].Per)
	}
	return r
}

type queueView struct {
	Q       queueRow
	Lanes   []kernel.LaneStatus
	Next    string
	Pauses  []pauseRow
	Charts  []*chart
	Spans   []spanLink
	Paused  bool // the queue as a whole, by a pause of its own
	Workers []workerRow
}

// lanes reads a page of the lanes of a queue.
func (q *request) lanes(ctx context.Context, queue string) (kernel.LanePage, error) {
	page := kernel.PageRequest{Limit: pageRows, Cursor: q.r.URL.Query().Get("cursor")}
	return once(ctx, &q.h.reads, "lanes/"+queue+"\x00"+page.Cursor, fresh, func(ctx context.Context) (kernel.LanePage, error) {
		return q.h.k.Lanes(ctx, queue, page)
	})
}

func queuePage(ctx context.Context, q *request, name string) (*page, error) {
	_, minutes := q.spans("")
	ahead(ctx, asks(q.queues), asks(q.workers), asks(q.pauses), q.lately(minutes), func(ctx context.Context) error {
		_, err := q.lanes(ctx, name)
		return err
	})
	rows, err := q.queueRows(ctx)
	if err != nil {
		return nil, err
	}
	d := queueView{Q: queueRow{QueueStatus: kernel.QueueStatus{Queue: name}, Where: "/queue/" + pathPart(name)}}
	if i := slices.IndexFunc(rows, func(r queueRow) bool { return r.Queue == name }); i >= 0 {
		d.Q = rows[i]
	} else if name == "" {
		return nil, errNoPage
	}
	lanes, err := q.lanes(ctx, name)
	if err != nil {
		return nil, err
	}
	d.Lanes = lanes.Items
	if lanes.Cursor != "" {
		d.Next = link(d.Q.Where, "cursor", lanes.Cursor)
	}
	if d.Pauses, err = q.pauseRows(ctx, name); err != nil {
		return nil, err
	}
	for _, p := range d.Pauses {
		d.Paused = d.Paused || p.Pause.Scope == kernel.Scope{Queue: name}
	}
	d.Spans, _ = q.spans(d.Q.Where)
	ms, err := q.minutes(ctx, minutes)
	if err != nil {
		return nil, err
	}
	d.Charts = charts(buckets(ms, q.now, minutes, func(m *kernel.Minute) bool { return m.Queue == name }), minutes)
	workers, err := q.workers(ctx)
	d.Workers = workerRows(slices.DeleteFunc(slices.Clone(workers), func(w kernel.Worker) bool { return w.Info.Slots[name] == 0 }), q.now)
	return &page{Title: "Queue " + name, Nav: "queues", Name: "queue", D: d}, err
}
