package web

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// batchRow is a batch, or another group, in a list.
type batchRow struct {
	kernel.Group
	Operation string
	Batch     bool
	State     string
	Tone      string
	Ended     int64
	Percent   string
	Good, Bad string // per cent of all rows, for the bar
	Gone      string // cancelled
	GoneX     string // where its part of the bar begins
	Rate      string
	Left      string
}

var groupTones = map[string]string{"filling": "mute", "held": "warn", "open": "busy", "aborting": "warn", "success": "good", "failed": "bad", "aborted": "mute", "closed": "good"}

func (q *request) batchRow(g kernel.Group, ms []kernel.Minute) batchRow {
	r := batchRow{Group: g, Operation: g.Name, Batch: isBatch(g), Ended: g.Total - g.Live()}
	if _, name, ok := strings.Cut(g.Name, ":"); ok && r.Batch {
		r.Operation = name
	}
	switch {
	case g.State != "closed" && g.Aborting != "":
		r.State = "aborting"
	case g.State != "closed":
		r.State = string(g.State)
	case g.Aborting != "" || g.Cancelled > 0:
		r.State = "aborted"
	case g.Failed > 0:
		r.State = "failed"
	default:
		r.State = "success"
	}
	r.Tone = groupTones[r.State]
	r.Percent = percent(r.Ended, g.Total)
	r.Good, r.Bad, r.Gone = percent(g.Done, g.Total), percent(g.Failed, g.Total), percent(g.Cancelled, g.Total)
	r.GoneX = percent(g.Done+g.Failed, g.Total)
	if g.State == "open" && g.Live() > 0 {
		r.Rate, r.Left = q.pace(&g, ms)
	}
	return r
}

// pace tells how fast a group's members end, and how long the rest will take: by the last minutes of their kind, else since it began.
func (q *request) pace(g *kernel.Group, ms []kernel.Minute) (rate, left string) {
	kind := strings.Replace(g.Name, ":", ".", 1)
	from := q.now.Truncate(time.Minute).Add(-2 * time.Minute)
	if g.CreatedAt.After(from) {
		from = g.CreatedAt
	}
	var ended int64
	for i := range ms {
		if m := &ms[i]; m.Kind == kind && !m.At.Before(from.Truncate(time.Minute)) {
			ended += m.Done + m.Failed + m.Cancelled
		}
	}
	since := q.now.Sub(from)
	if ended == 0 {
		ended, since = g.Total-g.Live(), q.now.Sub(g.CreatedAt)
	}
	if ended == 0 || since <= 0 {
		return "", ""
	}
	perSecond := float64(ended) / since.Seconds()
	rate = countText(perSecond) + " a second"
	if perSecond < 1 {
		rate = countText(perSecond*60) + " a minute"
	}
	return rate, span(time.Duration(float64(g.Live()) / perSecond * float64(time.Second)).Round(time.Second))
}

type batchesView struct {
	Rows []batchRow
	Next string
	All  bool // other groups as well
}

func batchesPage(ctx context.Context, q *request, _ string) (*page, error) {
	v := q.r.URL.Query()
	d := batchesView{All: v.Get("all") == "yes"}
	ms, err := q.minutes(ctx, 60)
	if err != nil {
		return nil, err
	}
	cursor := v.Get("cursor")
	for range 10 { // other groups may stand between: so many pages of them are passed over
		p, err := q.h.k.Groups(ctx, kernel.PageRequest{Limit: pageRows, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, g := range p.Items {
			if d.All || isBatch(g) {
				d.Rows = append(d.Rows, q.batchRow(g, ms))
			}
		}
		if cursor = p.Cursor; cursor == "" || len(d.Rows) >= pageRows/2 {
			break
		}
	}
	if cursor != "" {
		d.Next = link("/batches", "cursor", cursor, "all", v.Get("all"))
	}
	return &page{Title: "Batches", Nav: "batches", Name: "batches", D: d}, nil
}

// fileRow is an output file of a batch.
type fileRow struct {
	batch.File
	Where string // where it can be had; empty: not here
}

type batchView struct {
	B                     batchRow
	Status                *batch.Status
	Files                 []fileRow
	Rows                  []taskRow
	States                []kernel.TaskState
	State                 string
	Next                  string
	Looked                int
	Short                 bool
	Release, Abort, Again bool
	Closing               kernel.ID
	Sealed                bool
}

func batchPage(ctx context.Context, q *request, rest string) (*page, error) {
	id, err := kernel.ParseID(rest)
	if err != nil || id.IsZero() {
		return nil, errNoPage
	}
	g, err := q.h.k.Group(ctx, id)
	if err != nil {
		return nil, err
	}
	ms, err := q.minutes(ctx, 60)
	if err != nil {
		return nil, err
	}
	v := q.r.URL.Query()
	d := batchView{B: q.batchRow(g, ms), States: []kernel.TaskState{"ready", "running", "done", "failed", "cancelled"}, State: v.Get("state")}
	if isBatch(g) {
		if err := q.batchMore(ctx, &d, g); err != nil {
			return nil, err
		}
	}
	if g.OnClose != nil && g.State == "closed" {
		d.Closing = kernel.CloseID(g)
	}
	f := kernel.Filter{Group: id}
	if d.State != "" {
		f.States = []kernel.TaskState{kernel.TaskState(d.State)}
	}
	got, err := q.list(ctx, f, kernel.PageRequest{Limit: pageRows, Cursor: v.Get("cursor")})
	if err != nil {
		return nil, err
	}
	d.Rows, d.Looked, d.Short = q.rows(got.Tasks), got.Looked, got.Short
	where := "/batch/" + id.String()
	if got.Cursor != "" {
		d.Next = link(where, "cursor", got.Cursor, "state", d.State)
	}
	if q.may() {
		d.Release = g.State == "held" && g.Aborting == ""
		d.Abort = g.State != "closed" && g.Aborting == ""
		d.Again = isBatch(g) && g.Failed > 0 && g.Aborting == "" && (g.State == "open" || g.State == "closed")
	}
	return &page{Title: d.B.Operation, Nav: "batches", Name: "batch", D: d}, nil
}

// batchMore reads what only the face knows: whether somebody serves it, and its files.
func (q *request) batchMore(ctx context.Context, d *batchView, g kernel.Group) error {
	b := batch.Open(q.h.k, g.ID)
	s, err := b.Status(ctx)
	if err != nil {
		return err
	}
	d.Status = &s
	if s.State.Ended() {
		files, err := b.Files(ctx)
		if err != nil && !errors.Is(err, kernel.ErrNotFound) {
			return nil //nolint:nilerr // files that cannot be listed, sealed ones perhaps, are not shown; the rest of the page is
		}
		d.Sealed = len(files) > 0 && q.sealedFiles(ctx, g)
		for _, f := range files {
			r := fileRow{File: f}
			if !d.Sealed && (!f.Apart || q.h.k.KeepsBlobs()) {
				r.Where = link("/file/"+g.ID.String(), "name", f.Name)
			}
			d.Files = append(d.Files, r)
		}
	}
	return nil
}
