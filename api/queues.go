package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Queue counts what waits in a queue, and tells how it is.
type Queue struct {
	Queue         string    `json:"queue"`
	Ready         int64     `json:"ready"`
	Scheduled     int64     `json:"scheduled"`
	Parked        int64     `json:"parked"`
	Running       int64     `json:"running"`
	Paused        bool      `json:"paused"`
	OldestAt      time.Time `json:"oldestAt,omitzero"` // since when the oldest ready task waits
	OldestSeconds float64   `json:"oldestSeconds"`
	Workers       int       `json:"workers"`           // living ones that say that they serve it
	Problem       string    `json:"problem,omitempty"` // what is wrong; empty: nothing
}

// Queues is all queues that have something.
type Queues struct {
	Queues []Queue `json:"queues"`
}

// longWait is how long a ready task may wait before its queue has a problem.
const longWait = 10 * time.Minute

func listQueues(q *request, _ none) (Queues, error) {
	list, err := queueHealth(q, q.k)
	return Queues{Queues: list}, err
}

func queueHealth(ctx context.Context, k *kernel.Kernel) ([]Queue, error) {
	all, err := k.Queues(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := k.Workers(ctx)
	if err != nil {
		return nil, err
	}
	now, err := k.Now(ctx)
	if err != nil {
		return nil, err
	}
	serving := map[string]int{}
	for _, w := range workers {
		for queue := range w.Info.Slots {
			if w.DeadAt.IsZero() {
				serving[queue]++
			}
		}
	}
	out := make([]Queue, len(all))
	for i, s := range all {
		v := Queue{
			Queue: s.Queue, Ready: s.Ready, Scheduled: s.Scheduled, Parked: s.Parked, Running: s.Running, Paused: s.Paused, OldestAt: s.OldestAt,
			Workers: serving[s.Queue],
		}
		if !s.OldestAt.IsZero() {
			v.OldestSeconds = max(now.Sub(s.OldestAt).Seconds(), 0)
		}
		switch {
		case s.Paused || s.Ready == 0:
		case v.Workers == 0:
			v.Problem = "no worker serves it"
		case v.OldestSeconds > longWait.Seconds():
			v.Problem = fmt.Sprintf("a ready task has waited for %v", (time.Duration(v.OldestSeconds) * time.Second).Round(time.Second))
		}
		out[i] = v
	}
	return out, nil
}

// Lane is a lane of a queue that has ready tasks.
type Lane struct {
	Kind     string    `json:"kind"`
	Lane     string    `json:"lane,omitempty"`
	Limit    string    `json:"limit,omitempty"`
	Ordered  bool      `json:"ordered,omitempty"`
	Suspect  bool      `json:"suspect,omitempty"`
	Ready    int64     `json:"ready"`
	Priority int       `json:"priority,omitempty"`
	OldestAt time.Time `json:"oldestAt,omitzero"`
	Weight   int       `json:"weight"`
	Blocked  string    `json:"blocked,omitempty"` // why no claim takes from it
}

// Lanes is a page of lanes.
type Lanes struct {
	Lanes  []Lane `json:"lanes"`
	Cursor string `json:"cursor,omitempty"`
}

func listLanes(q *request, _ none) (Lanes, error) {
	page, err := q.page()
	if err != nil {
		return Lanes{}, err
	}
	p, err := q.k.Lanes(q, q.r.PathValue("queue"), page)
	if err != nil {
		return Lanes{}, err
	}
	out := Lanes{Lanes: make([]Lane, len(p.Items)), Cursor: p.Cursor}
	for i, l := range p.Items {
		out.Lanes[i] = Lane{
			Kind: l.Kind, Lane: l.Lane, Limit: l.Limit, Ordered: l.Ordered, Suspect: l.Suspect, Ready: l.Ready, Priority: l.Priority,
			OldestAt: l.OldestAt, Weight: cmp.Or(l.Weight, 1), Blocked: l.Blocked,
		}
	}
	return out, nil
}

// Weight is how many tasks the lanes of a key give in a turn.
type Weight struct {
	Lane   string `json:"lane"`
	Weight int    `json:"weight"`
}

func putWeight(q *request, in Weight) (none, error) {
	return none{}, q.k.PutWeight(q, q.r.PathValue("queue"), in.Lane, in.Weight)
}

// Pause keeps claims away from what it names: what is empty matches all.
type Pause struct {
	Queue  string    `json:"queue,omitempty"`
	Kind   string    `json:"kind,omitempty"`
	Lane   string    `json:"lane,omitempty"`
	For    Span      `json:"for,omitempty"` // empty: until it is resumed
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`    // of answers
	Until  time.Time `json:"until,omitzero"` // of answers
}

// Pauses is all that stand.
type Pauses struct {
	Pauses []Pause `json:"pauses"`
}

func (p *Pause) scope() kernel.Scope { return kernel.Scope{Queue: p.Queue, Kind: p.Kind, Lane: p.Lane} }

func listPauses(q *request, _ none) (Pauses, error) {
	all, err := q.k.Pauses(q)
	out := Pauses{Pauses: make([]Pause, len(all))}
	for i, p := range all {
		out.Pauses[i] = Pause{Queue: p.Scope.Queue, Kind: p.Scope.Kind, Lane: p.Scope.Lane, Reason: p.Reason, At: p.At, Until: p.Until}
	}
	return out, err
}

func putPause(q *request, in Pause) (none, error) {
	if in.For < 0 {
		return none{}, fmt.Errorf("%w: a pause of %v", kernel.ErrInvalid, time.Duration(in.For))
	}
	return none{}, q.k.Pause(q, in.scope(), time.Duration(in.For), in.Reason)
}

func resume(q *request, _ none) (none, error) {
	query := q.r.URL.Query()
	return none{}, q.k.Resume(q, kernel.Scope{Queue: query.Get("queue"), Kind: query.Get("kind"), Lane: query.Get("lane")})
}

// Rate allows so many starts in a time.
type Rate struct {
	N     int  `json:"n"`
	Per   Span `json:"per"`
	Burst int  `json:"burst,omitempty"`
}

// Limit bounds the tasks of a key across the fleet. Without bounds it is removed.
type Limit struct {
	Key     string `json:"key"`
	Running int    `json:"running,omitempty"`
	Rates   []Rate `json:"rates,omitempty"`
	InUse   int    `json:"inUse,omitempty"` // of answers
	Opens   Span   `json:"opens,omitempty"` // of answers: the rates are closed for so long
}

// Limits is all that stand.
type Limits struct {
	Limits []Limit `json:"limits"`
}

func listLimits(q *request, _ none) (Limits, error) {
	all, err := q.k.Limits(q)
	out := Limits{Limits: make([]Limit, len(all))}
	for i, l := range all {
		out.Limits[i] = Limit{Key: l.Key, Running: l.Running, InUse: l.InUse, Opens: Span(l.Opens)}
		for _, r := range l.Rates {
			out.Limits[i].Rates = append(out.Limits[i].Rates, Rate{N: r.N, Per: Span(r.Per), Burst: r.Burst})
		}
	}
	return out, err
}

func putLimit(q *request, in Limit) (none, error) {
	l := kernel.Limit{Key: in.Key, Running: in.Running}
	for _, r := range in.Rates {
		l.Rates = append(l.Rates, kernel.Rate{N: r.N, Per: time.Duration(r.Per), Burst: r.Burst})
	}
	_, err := q.k.PutLimit(q, l)
	return none{}, err
}

// Minute is what happened in a minute to the tasks of one queue and kind.
type Minute struct {
	At            time.Time `json:"at"`
	Queue         string    `json:"queue"`
	Kind          string    `json:"kind"`
	Submitted     int64     `json:"submitted"`
	Claimed       int64     `json:"claimed"`
	Done          int64     `json:"done"`
	Failed        int64     `json:"failed"`
	Cancelled     int64     `json:"cancelled"`
	Retried       int64     `json:"retried"`
	Crashed       int64     `json:"crashed"`
	WaitedSeconds float64   `json:"waitedSeconds"` // in all, from ready to claimed
	RanSeconds    float64   `json:"ranSeconds"`    // in all, from claimed to settled
}

// Stats is what happened, minute by minute.
type Stats struct {
	Minutes []Minute `json:"minutes"`
}

func readStats(q *request, _ none) (Stats, error) {
	from, until, err := q.when()
	if err != nil {
		return Stats{}, err
	}
	all, err := q.k.Stats(q, from, until)
	out := Stats{Minutes: make([]Minute, len(all))}
	for i, m := range all {
		out.Minutes[i] = Minute{
			At: m.At, Queue: m.Queue, Kind: m.Kind, Submitted: m.Submitted, Claimed: m.Claimed, Done: m.Done, Failed: m.Failed, Cancelled: m.Cancelled,
			Retried: m.Retried, Crashed: m.Crashed, WaitedSeconds: m.Waited.Seconds(), RanSeconds: m.Ran.Seconds(),
		}
	}
	return out, err
}

// when reads the time that statistics are asked for: from and until, or so much of the last.
func (q *request) when() (from, until time.Time, err error) {
	query := q.r.URL.Query()
	for name, at := range map[string]*time.Time{"from": &from, "until": &until} {
		if text := query.Get(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return from, until, problem(http.StatusBadRequest, "bad_query", "%s is %.40q; give a time as 2026-01-31T12:00:00Z", name, text)
			}
		}
	}
	last, err := q.span("last")
	if err != nil || !from.IsZero() && !until.IsZero() {
		return from, until, err
	}
	now, err := q.k.Now(q)
	if until.IsZero() {
		until = now.Add(time.Minute)
	}
	if from.IsZero() {
		from = now.Add(-min(cmp.Or(last, time.Hour), 31*24*time.Hour))
	}
	return from, until, err
}

// Info tells what this daemon serves.
type Info struct {
	Version   string    `json:"version,omitempty"`
	Engine    string    `json:"engine"`
	Namespace string    `json:"namespace"`
	Evidence  string    `json:"evidence"`
	Survives  string    `json:"survives"`
	State     string    `json:"state"` // of its kernel
	Problem   string    `json:"problem,omitempty"`
	Now       time.Time `json:"now,omitzero"` // the store's clock; empty: the store does not answer
}

func readInfo(q *request, _ none) (Info, error) {
	info, h := q.k.Store(), q.k.Health()
	out := Info{
		Version: q.s.cfg.Version, Engine: info.Engine, Namespace: info.Namespace, Evidence: string(info.Evidence), Survives: info.Survives,
		State: string(h.State), Problem: h.Problem,
	}
	ctx, cancel := context.WithTimeout(q, readyTimeout)
	defer cancel()
	if now, err := q.k.Now(ctx); err == nil { // the rest is worth knowing without it
		out.Now = now
	}
	return out, nil
}
