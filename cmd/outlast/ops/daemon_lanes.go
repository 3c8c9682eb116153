package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

// Queues counts what waits.
func (d *Daemon) Queues(ctx context.Context) ([]store.QueueStatus, error) {
	v, err := fetch[api.Queues](ctx, d, "/v1/queues", nil)
	return each(v.Queues, func(q *api.Queue) store.QueueStatus {
		return store.QueueStatus{Queue: q.Queue, Ready: q.Ready, Scheduled: q.Scheduled, Parked: q.Parked, Running: q.Running, OldestAt: q.OldestAt, Paused: q.Paused}
	}), err
}

// Lanes pages through the lanes of a queue that have ready tasks.
func (d *Daemon) Lanes(ctx context.Context, queue string, page store.PageRequest) (store.Page[store.LaneStatus], error) {
	v, err := fetch[api.Lanes](ctx, d, "/v1/queues/"+url.PathEscape(queue)+"/lanes", pageQuery(page))
	return store.Page[store.LaneStatus]{Cursor: v.Cursor, Items: each(v.Lanes, func(l *api.Lane) store.LaneStatus {
		return store.LaneStatus{
			Queue: queue, Kind: l.Kind, Lane: l.Lane, Limit: l.Limit, Ordered: l.Ordered, Suspect: l.Suspect, Ready: l.Ready, Priority: l.Priority,
			OldestAt: l.OldestAt, Weight: l.Weight, Blocked: l.Blocked,
		}
	})}, err
}

// Pause keeps claims away from a scope.
func (d *Daemon) Pause(ctx context.Context, s store.Scope, span time.Duration, reason string) error {
	_, err := send[struct{}](ctx, d, http.MethodPost, "/v1/pauses", api.Pause{Queue: s.Queue, Kind: s.Kind, Lane: s.Lane, For: api.Span(span), Reason: reason})
	return err
}

// Resume ends a pause.
func (d *Daemon) Resume(ctx context.Context, s store.Scope) error {
	q := url.Values{}
	for name, value := range map[string]string{"queue": s.Queue, "kind": s.Kind, "lane": s.Lane} {
		if value != "" {
			q.Set(name, value)
		}
	}
	_, err := send[struct{}](ctx, d, http.MethodDelete, "/v1/pauses?"+q.Encode(), nil)
	return err
}

// Pauses lists the pauses that stand.
func (d *Daemon) Pauses(ctx context.Context) ([]store.Pause, error) {
	v, err := fetch[api.Pauses](ctx, d, "/v1/pauses", nil)
	return each(v.Pauses, func(p *api.Pause) store.Pause {
		return store.Pause{Scope: store.Scope{Queue: p.Queue, Kind: p.Kind, Lane: p.Lane}, Reason: p.Reason, At: p.At, Until: p.Until}
	}), err
}

// Limits lists limits and their use.
func (d *Daemon) Limits(ctx context.Context) ([]store.LimitStatus, error) {
	v, err := fetch[api.Limits](ctx, d, "/v1/limits", nil)
	return each(v.Limits, limitOf), err
}

// PutLimit sets a limit. The one that it returns was read in a step before.
func (d *Daemon) PutLimit(ctx context.Context, l store.Limit) (before store.Limit, err error) {
	all, err := d.Limits(ctx)
	if err != nil {
		return before, err
	}
	for i := range all {
		if all[i].Key == l.Key {
			before = all[i].Limit
		}
	}
	v := api.Limit{Key: l.Key, Running: l.Running}
	for _, r := range l.Rates {
		v.Rates = append(v.Rates, api.Rate{N: r.N, Per: api.Span(r.Per), Burst: r.Burst})
	}
	_, err = send[struct{}](ctx, d, http.MethodPut, "/v1/limits", v)
	return before, err
}

// PutWeight sets how many tasks a lane gives in a turn.
func (d *Daemon) PutWeight(ctx context.Context, queue, lane string, weight int) error {
	_, err := send[struct{}](ctx, d, http.MethodPut, "/v1/queues/"+url.PathEscape(queue)+"/weights", api.Weight{Lane: lane, Weight: weight})
	return err
}

// Workers lists the fleet.
func (d *Daemon) Workers(ctx context.Context) ([]store.Worker, error) {
	v, err := fetch[api.Workers](ctx, d, "/v1/workers", nil)
	return each(v.Workers, workerOf), err
}

// Stats lists what happened minute by minute.
func (d *Daemon) Stats(ctx context.Context, from, until time.Time) ([]store.Minute, error) {
	v, err := fetch[api.Stats](ctx, d, "/v1/stats", url.Values{"from": {instant(from)}, "until": {instant(until)}})
	return each(v.Minutes, minuteOf), err
}

// Schedules pages through schedules.
func (d *Daemon) Schedules(ctx context.Context, page store.PageRequest) (store.Page[store.Schedule], error) {
	v, err := fetch[api.Schedules](ctx, d, "/v1/schedules", pageQuery(page))
	return store.Page[store.Schedule]{Items: each(v.Schedules, scheduleOf), Cursor: v.Cursor}, err
}

// Schedule reads one.
func (d *Daemon) Schedule(ctx context.Context, name string) (store.Schedule, error) {
	v, err := fetch[api.Schedule](ctx, d, schedulePath(name), nil)
	return scheduleOf(&v), err
}

// PauseSchedule pauses a schedule, or lets it go on from its next tick.
func (d *Daemon) PauseSchedule(ctx context.Context, name string, paused bool) (store.Schedule, error) {
	word := map[bool]string{true: "/pause", false: "/resume"}[paused]
	v, err := send[api.Schedule](ctx, d, http.MethodPost, schedulePath(name)+word, nil)
	return scheduleOf(&v), err
}

// DeleteSchedule removes one. There need not be one.
func (d *Daemon) DeleteSchedule(ctx context.Context, name string) error {
	_, err := send[struct{}](ctx, d, http.MethodDelete, schedulePath(name), nil)
	return err
}

func schedulePath(name string) string { return "/v1/schedules/" + url.PathEscape(name) }

// Saga reads how a saga stands.
func (d *Daemon) Saga(ctx context.Context, id store.ID) (saga.Status, error) {
	v, err := fetch[api.Saga](ctx, d, sagaPath(id), nil)
	return sagaOf(&v), err
}

// RetryUndo lets a stuck saga try again to undo a step, or all.
func (d *Daemon) RetryUndo(ctx context.Context, id store.ID, step, note string) error {
	return d.order(ctx, id, "/retry-undo", api.Order{Step: step, Note: note})
}

// Resolve tells a stuck saga that a step was put right by hand.
func (d *Daemon) Resolve(ctx context.Context, id store.ID, step, note string) error {
	return d.order(ctx, id, "/resolve", api.Order{Step: step, Note: note})
}

// SkipStep gives a held saga the result of a step that cannot be run.
func (d *Daemon) SkipStep(ctx context.Context, id store.ID, step string, result json.RawMessage, note string) error {
	return d.order(ctx, id, "/skip", api.Order{Step: step, Result: result, Note: note})
}

// ReleaseSaga lets a saga go on that is held because its processes died.
func (d *Daemon) ReleaseSaga(ctx context.Context, id store.ID) error {
	return d.order(ctx, id, "/release", api.Order{})
}

// Signal sends a signal to a saga.
func (d *Daemon) Signal(ctx context.Context, id store.ID, name string, value json.RawMessage) error {
	_, err := send[struct{}](ctx, d, http.MethodPost, sagaPath(id)+"/signals/"+url.PathEscape(name), api.NewSignal{Value: value})
	return err
}

func (d *Daemon) order(ctx context.Context, id store.ID, verb string, o api.Order) error {
	_, err := send[api.Saga](ctx, d, http.MethodPost, sagaPath(id)+verb, o)
	return err
}

func sagaPath(id store.ID) string { return "/v1/sagas/" + id.String() }

// each makes of each item what the store would have told.
func each[From, To any](list []From, of func(*From) To) []To {
	out := make([]To, len(list))
	for i := range list {
		out[i] = of(&list[i])
	}
	return out
}
