package web

import (
	"context"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

func sagasPage(ctx context.Context, q *request, _ string) (*page, error) {
	d, err := q.face(ctx, "/sagas", isSaga)
	return &page{Title: "Sagas", Nav: "sagas", Name: "sagas", D: d}, err
}

type sagaView struct {
	S        saga.Status
	T        kernel.Task
	Name     string
	Tone     string
	Graph    *graph
	Known    bool // its definition is
	Steps    []stepView
	Timeline []happening
	Failure  payload
	Stuck    []stuckView
	Signals  []string // it may wait for
	Sealed   bool
	Held     bool
	Open     bool // it can be cancelled
}

type stepView struct {
	saga.StepStatus
	Tone   string
	Result payload
	What   string
}

type stuckView struct{ Step, Error string }

var sagaTones = map[saga.State]string{
	saga.Completed: "good", saga.Failed: "bad", saga.Stuck: "bad", saga.Quarantined: "bad", saga.Held: "warn", saga.RollingBack: "warn",
	saga.Running: "busy", saga.Waiting: "busy", saga.Cancelled: "mute", saga.Halted: "mute",
}

func sagaPage(ctx context.Context, q *request, rest string) (*page, error) {
	id, err := kernel.ParseID(rest)
	if err != nil || id.IsZero() {
		return nil, errNoPage
	}
	t, err := q.h.k.Get(ctx, id)
	if err != nil && t.ID.IsZero() {
		return nil, err
	}
	if !isSaga(t.Kind) {
		return nil, goneTo{"/task/" + id.String()}
	}
	d := sagaView{T: t, Name: strings.TrimPrefix(t.Kind, "saga."), Sealed: q.sealed(&t)}
	if d.Sealed && err != nil {
		return &page{Title: d.Name, Nav: "sagas", Name: "saga", D: d, Follow: id}, nil
	}
	outline := q.outline(t.Kind)
	if outline != nil {
		d.Known = true
		d.S, err = outline.Status(ctx, q.h.k, id)
	} else {
		d.S, err = saga.Look(ctx, q.h.k, id)
	}
	if err != nil {
		return nil, err
	}
	if d.S.Reason == string(d.S.State) {
		d.S.Reason = ""
	}
	d.Tone, d.Graph = sagaTones[d.S.State], draw(outline, &d.S)
	d.steps(q, outline)
	d.events(q)
	d.Held = q.may() && t.State == "held"
	d.Open = q.may() && !t.State.Terminal() && d.S.State != saga.RollingBack && t.State != "held"
	return &page{Title: d.Name, Nav: "sagas", Name: "saga", D: d, Follow: id}, nil
}

func (q *request) outline(kind string) *saga.Outline {
	for i := range q.h.cfg.Sagas {
		if q.h.cfg.Sagas[i].Kind == kind {
			return &q.h.cfg.Sagas[i]
		}
	}
	return nil
}

// steps makes rows of steps, and finds the signals that it may be sent.
func (d *sagaView) steps(q *request, o *saga.Outline) {
	known := map[string]saga.OutlineStep{}
	if o != nil {
		for _, st := range o.Steps {
			known[st.Name] = st
		}
	}
	for _, st := range d.S.Steps {
		def := known[st.Name]
		v := stepView{StepStatus: st, Tone: stepClass(st.State), Result: q.payload(&d.T, "entry step/"+st.Name, st.Result), What: what(&def)}
		if d.Sealed && st.Error != "" {
			v.Error = "sealed"
		}
		d.Steps = append(d.Steps, v)
		if (def.Signal != "" || o == nil) && (st.State == "waiting" || st.State == "pending" && o != nil) {
			name := def.Signal
			if name == "" {
				name = st.Name // a wait is called by its signal
			}
			d.Signals = append(d.Signals, name)
		}
		if st.State == "undo failed" {
			d.Stuck = append(d.Stuck, stuckView{st.Name, v.Error})
		}
	}
	if !q.may() || d.S.State != saga.Pending && d.S.State != saga.Running && d.S.State != saga.Waiting {
		d.Signals = nil
	}
}

var sagaEvents = map[string]string{
	"done": "good", "completed": "good", "failed": "bad", "undo failed": "bad", "stuck": "bad", "unknown": "bad", "unwinding": "bad", "sent": "busy", "waiting": "busy",
}

// events makes the timeline of the saga: what its steps did, and what became of its own task beside it.
func (d *sagaView) events(q *request) {
	if f := d.S.Failure; f != nil {
		d.Failure = q.payload(&d.T, "error", []byte(f.Message))
	}
	var before time.Time
	for _, e := range d.S.Timeline {
		h := happening{At: e.At, Kind: e.Kind, Tone: sagaEvents[e.Kind], Title: strings.TrimSpace(e.Step + " " + e.Kind), Text: e.Text}
		if d.Sealed && h.Text != "" {
			h.Text = "sealed"
		}
		if !before.IsZero() {
			h.After = e.At.Sub(before)
		}
		before = e.At
		d.Timeline = append(d.Timeline, h)
	}
}
