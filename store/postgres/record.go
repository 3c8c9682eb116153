package postgres

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// columns of full_task, in the order of row.targets.
var columns = strings.Fields(`id state reason version round wakes suspect solo alone saves asked told stripped epoch nonce worker
	settled_epoch settled_nonce settled_kind staged attempts crashes crash_run charged created_at due_at ready_at started_at deadline_at
	start_by_at ended_at updated_at expire_at progress_done progress_total progress_note progress_at result history
	kind queue lane lim ord priority timeout owned grp line parent ukey fingerprint retention rest args labels on_end error`)

// row is a task as the server hands it out.
type row struct {
	id, nonce, settledNonce, grp, parent pgtype.UUID
	state, settledKind                   string
	t                                    store.Task
	s                                    store.Spec
	staged, history, labels, onEnd       []byte
	rest, args, result, err, note        []byte
	created, updated                     int64
	due, ready, started, deadline        *int64
	startBy, ended, expire               *int64
	progressDone, progressTotal          *int64
	progressAt                           *int64
	order                                string
	round, attempts, crashes, crashRun   int64
	priority, timeout, retention         int64
	whole                                bool // the rest could be decoded
}

func (r *row) targets() []any {
	t, s := &r.t, &r.s
	return []any{
		&r.id, &r.state, &t.Reason, &t.Version, &r.round, &t.Wakes, &t.Suspect, &t.Solo, &t.Alone, &t.Saves, &t.Asked, &t.Told, &t.Stripped,
		&t.Epoch, &r.nonce, &t.Worker, &t.Settled.Epoch, &r.settledNonce, &r.settledKind, &r.staged, &r.attempts, &r.crashes, &r.crashRun,
		&t.Charged, &r.created, &r.due, &r.ready, &r.started, &r.deadline, &r.startBy, &r.ended, &r.updated, &r.expire,
		&r.progressDone, &r.progressTotal, &r.note, &r.progressAt, &r.result, &r.history,
		&s.Kind, &s.Queue, &s.Lane, &s.Limit, &r.order, &r.priority, &r.timeout, &s.Owned, &r.grp, &s.Line, &r.parent, &s.Unique.Key,
		&s.Fingerprint, &r.retention, &r.rest, &r.args, &r.labels, &r.onEnd, &r.err,
	}
}

// takenColumns are those of a task that a claim has just taken, in the order of row.taken. The others are the same for all that it takes, or the
// program has them in the rest.
var takenColumns = strings.Fields(`id version round wakes suspect solo alone saves asked told epoch settled_epoch settled_nonce settled_kind staged
	attempts crashes crash_run charged created_at due_at ready_at started_at deadline_at updated_at progress_done progress_total progress_note
	progress_at grp parent rest args labels on_end error`)

func (r *row) taken() []any {
	t := &r.t
	return []any{
		&r.id, &t.Version, &r.round, &t.Wakes, &t.Suspect, &t.Solo, &t.Alone, &t.Saves, &t.Asked, &t.Told, &t.Epoch, &t.Settled.Epoch, &r.settledNonce,
		&r.settledKind, &r.staged, &r.attempts, &r.crashes, &r.crashRun, &t.Charged, &r.created, &r.due, &r.ready, &r.started, &r.deadline, &r.updated,
		&r.progressDone, &r.progressTotal, &r.note, &r.progressAt, &r.grp, &r.parent, &r.rest, &r.args, &r.labels, &r.onEnd, &r.err,
	}
}

// task reads the row. What cannot be decoded is left out: the columns still stand.
func (r *row) task() store.Task {
	t := r.t
	spec, ok := decodeRest(r.rest)
	if r.whole = ok; !ok {
		spec = r.s
		spec.Order, spec.Priority = store.Order(r.order), int(r.priority)
		spec.Timeout, spec.Retention = time.Duration(r.timeout), time.Duration(r.retention)
	}
	t.Spec = spec
	t.ID, t.Group, t.Parent, t.DueAt, t.Args = r.id.Bytes, r.grp.Bytes, r.parent.Bytes, instant(r.due), r.args
	if r.labels != nil {
		_ = json.Unmarshal(r.labels, &t.Labels) // the server has checked that it is JSON; a foreign hand's labels are none
	}
	if r.onEnd != nil {
		var w wireSpec
		if err := json.Unmarshal(r.onEnd, &w); err == nil {
			next, _ := w.spec()
			t.OnEnd = &next
		}
	}
	t.State, t.Nonce = store.State(r.state), r.nonce.Bytes
	t.Settled.Nonce, t.Settled.Kind = r.settledNonce.Bytes, store.OutcomeKind(r.settledKind)
	t.Staged, _ = decodeStaged(r.staged)
	t.Round, t.Attempts, t.Crashes, t.CrashRun = int(r.round), int(r.attempts), int(r.crashes), int(r.crashRun)
	t.CreatedAt, t.UpdatedAt = instant(&r.created), instant(&r.updated)
	t.ReadyAt, t.StartedAt, t.DeadlineAt = instant(r.ready), instant(r.started), instant(r.deadline)
	t.StartByAt, t.EndedAt, t.ExpireAt = instant(r.startBy), instant(r.ended), instant(r.expire)
	if r.progressAt != nil {
		t.Progress = store.Progress{Done: *r.progressDone, Total: *r.progressTotal, Note: string(r.note), At: instant(r.progressAt)}
	}
	t.Result = r.result
	t.Error, _ = decodeError(r.err)
	t.History = decodeHistory(r.history)
	return t
}

func decodeHistory(b []byte) []store.Event {
	if len(b) == 0 {
		return nil // it was not asked for
	}
	var list [][5]json.RawMessage
	if json.Unmarshal(b, &list) != nil || len(list) == 0 {
		return nil
	}
	events := make([]store.Event, 0, len(list))
	for _, e := range list {
		var at int64
		var h store.Event
		if json.Unmarshal(e[0], &at) != nil || json.Unmarshal(e[1], &h.Kind) != nil || json.Unmarshal(e[2], &h.Epoch) != nil ||
			json.Unmarshal(e[3], &h.Worker) != nil || json.Unmarshal(e[4], &h.Text) != nil {
			continue
		}
		h.At = instant(&at)
		events = append(events, h)
	}
	return events
}

// list names columns of a row, each with a prefix.
func list(prefix string, names []string) string {
	return prefix + strings.Join(names, ", "+prefix)
}
