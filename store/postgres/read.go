package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/outlast-go/outlast/store"
)

// Get reads a task.
func (s *Store) Get(ctx context.Context, id store.ID) (store.Task, error) {
	if id.IsZero() {
		return store.Task{}, errors.Join(s.begin(ctx), notFound(id))
	}
	var r row
	err := s.read(ctx, func(ctx context.Context, c querier) error {
		return c.QueryRow(ctx, s.q.get("task_get"), id.String()).Scan(r.targets()...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Task{}, notFound(id)
	}
	if err != nil {
		return store.Task{}, err
	}
	return r.task(), nil
}

// List pages through tasks.
func (s *Store) List(ctx context.Context, f store.Filter, page store.PageRequest) (res store.Page[store.Task], err error) {
	if f.Unique != "" && len(f.Kinds) != 1 {
		return res, fmt.Errorf("%w: a filter by unique key needs exactly one kind", store.ErrInvalid)
	}
	limit := pageLimit(page)
	query, args, err := s.listQuery(&f, &page, limit+1)
	if err != nil {
		return res, err
	}
	err = s.read(ctx, func(ctx context.Context, c querier) error {
		return each(ctx, c, query, func(rows pgx.Rows) error {
			var r row
			if err := rows.Scan(r.targets()...); err != nil {
				return err
			}
			res.Items = append(res.Items, r.task())
			return nil
		}, args...)
	})
	if len(res.Items) > limit {
		res.Items = res.Items[:limit]
		last := &res.Items[limit-1]
		res.Cursor = last.ID.String()
		if !f.Group.IsZero() {
			res.Cursor = fmt.Sprintf("%d %s", last.Line, last.ID)
		}
	}
	return res, err
}

// condition is one part of what a list asks for. One without a $ takes no argument.
type condition struct {
	text string
	arg  any
}

// listQuery joins the parts of a filter that are set. Each part is fixed text; what the caller gave is an argument.
func (s *Store) listQuery(f *store.Filter, page *store.PageRequest, limit int) (query string, args []any, err error) {
	states := storedStates(f.States)
	parts, order, err := listParts(f, page, states)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString(" where true")
	for _, p := range parts {
		if strings.Contains(p.text, "$") {
			args = append(args, p.arg)
		}
		b.WriteString(" and " + strings.ReplaceAll(p.text, "$", "$"+strconv.Itoa(len(args))))
	}
	args = append(args, limit)
	most := " limit $" + strconv.Itoa(len(args))
	rest := b.String() + " order by " + order + most
	all := s.q.get("brief_all")
	if page.Payload {
		all = s.q.get("task_all")
	}
	if len(f.Labels) > 0 {
		return all + rest, args, nil
	}
	if f.Worker != "" && len(states) == 0 {
		states = []string{"running"} // only what runs has a worker
	}
	return all + " where f.id = any (array(select p.id from (" + s.places(states, rest) + ") p order by " + strings.ReplaceAll(order, "f.", "p.") +
		most + ")) order by " + order, args, nil
}

// listParts are what a filter and a cursor ask for, and the order of the list.
func listParts(f *store.Filter, page *store.PageRequest, states []string) (parts []condition, order string, err error) {
	add := func(is bool, text string, arg any) {
		if is {
			parts = append(parts, condition{text, arg})
		}
	}
	labels, err := json.Marshal(f.Labels)
	if err != nil {
		return nil, "", err
	}
	onlyFailed := slices.Equal(states, []string{"failed"})
	add(onlyFailed, "f.state = 'failed'", nil) // as the index of them says it
	add(len(states) > 0 && !onlyFailed, "f.state in (select jsonb_array_elements_text($::text::jsonb))", jsonText(states))
	add(len(f.Kinds) > 0, "f.kind in (select jsonb_array_elements_text($::text::jsonb))", jsonText(f.Kinds))
	add(f.Queue != "", "f.queue = $", f.Queue)
	add(!f.Group.IsZero(), "f.grp = $::text::uuid", f.Group.String())
	add(!f.Parent.IsZero(), "f.parent = $::text::uuid", f.Parent.String())
	add(f.Worker != "", "f.worker = $ and f.state = 'running'", f.Worker)
	add(f.Unique != "", "f.ukey = $ and f.ukey <> ''", f.Unique)
	add(len(f.Labels) > 0, "f.labels @> $::text::jsonb", string(labels))
	add(!f.Before.IsZero(), "f.created_at < $", nano(f.Before))
	add(!f.After.IsZero(), "f.created_at > $", nano(f.After))
	switch {
	case !f.Group.IsZero():
		if page.Cursor != "" {
			line, id, _ := strings.Cut(page.Cursor, " ")
			if _, err := strconv.ParseInt(line, 10, 64); err != nil {
				return nil, "", fmt.Errorf("%w: cursor %.40q is not one of this list", store.ErrInvalid, page.Cursor)
			}
			add(true, "(f.line, f.id) > (($::text::jsonb->>0)::bigint, ($::text::jsonb->>1)::uuid)", jsonText([]string{line, id}))
		}
		return parts, "f.line, f.id", nil
	case page.Oldest:
		add(page.Cursor != "", "f.id > $::text::uuid", page.Cursor)
		return parts, "f.id", nil
	}
	add(page.Cursor != "", "f.id < $::text::uuid", page.Cursor)
	return parts, "f.id desc", nil
}

// storedStates are the states as they stand in the tables.
func storedStates(list []store.State) []string {
	states := make([]string, 0, len(list))
	for _, st := range list {
		if st == store.Ending {
			st = store.Running
		}
		states = append(states, string(st))
	}
	return states
}

// places picks a page by the indexes of the tables first, so that no more than that is read. Asked for all at once, the server joins and sorts all
// tasks, or the whole group, for each page. A table that has no task of these states is not looked through.
func (s *Store) places(states []string, rest string) string {
	var from []string
	for _, table := range []struct {
		place string
		ended bool
	}{{"place_live", false}, {"place_ended", true}} {
		if len(states) == 0 || slices.ContainsFunc(states, func(st string) bool { return store.State(st).Terminal() == table.ended }) {
			from = append(from, "("+s.q.get(table.place)+rest+")")
		}
	}
	return strings.Join(from, " union all ")
}

func jsonText(list []string) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // it is a list of strings
	}
	return string(b)
}

// Queues counts what waits.
func (s *Store) Queues(ctx context.Context) (list []store.QueueStatus, err error) {
	err = s.rows(ctx, "queue_list", func(r pgx.Rows) error {
		var q store.QueueStatus
		var oldest *int64
		if err := r.Scan(&q.Queue, &q.Ready, &q.Scheduled, &q.Parked, &q.Running, &oldest, &q.Paused); err != nil {
			return err
		}
		q.OldestAt = instant(oldest)
		list = append(list, q)
		return nil
	}, store.CountLimit)
	return list, err
}

// Stats lists the minutes in [from, until).
func (s *Store) Stats(ctx context.Context, from, until time.Time) (list []store.Minute, err error) {
	err = s.rows(ctx, "stat_list", func(r pgx.Rows) error {
		var m store.Minute
		var at, waited, ran int64
		err := r.Scan(&at, &m.Queue, &m.Kind, &m.Submitted, &m.Claimed, &m.Done, &m.Failed, &m.Cancelled, &m.Retried, &m.Crashed, &waited, &ran)
		m.At, m.Waited, m.Ran = instant(&at), time.Duration(waited), time.Duration(ran)
		list = append(list, m)
		return err
	}, nano(from), nano(until))
	return list, err
}

// Export calls fn for every record, as of one moment. Writers go on meanwhile.
func (s *Store) Export(ctx context.Context, fn func(store.Entry) error) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	var stopped error
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		stopped = s.export(ctx, tx, fn)
		return stopped
	})
	if stopped != nil {
		return stopped
	}
	return s.tell("export", err)
}

// exports are the kinds of records: the query that lists them, and how a row of it is read.
var exports = []struct {
	query string
	read  func(pgx.Rows) (store.Entry, error)
}{
	{"task_all", func(r pgx.Rows) (store.Entry, error) {
		var into row
		err := r.Scan(into.targets()...)
		t := into.task()
		return store.Entry{Task: &t}, err
	}},
	{"message_all", func(r pgx.Rows) (store.Entry, error) {
		m, _, err := readMessage(r)
		return store.Entry{Message: &m}, err
	}},
	{"group_all", func(r pgx.Rows) (store.Entry, error) {
		g, err := readGroup(r)
		return store.Entry{Group: &g}, err
	}},
	{"worker_all", func(r pgx.Rows) (store.Entry, error) {
		w, err := readWorker(r)
		return store.Entry{Worker: &w}, err
	}},
	{"key_all", readKey},
	{"limit_all", func(r pgx.Rows) (store.Entry, error) {
		l, err := readLimit(r)
		return store.Entry{Limit: &l}, err
	}},
	{"schedule_all", func(r pgx.Rows) (store.Entry, error) {
		sc, err := readSchedule(r)
		return store.Entry{Schedule: &sc}, err
	}},
}

// export asks for all kinds at once, and hands them on one after the other.
func (s *Store) export(ctx context.Context, tx pgx.Tx, fn func(store.Entry) error) (err error) {
	var batch pgx.Batch
	for _, part := range exports {
		batch.Queue(s.q.get(part.query))
	}
	answers := tx.SendBatch(ctx, &batch)
	defer func() {
		if closing := answers.Close(); err == nil {
			err = closing
		}
	}()
	for _, part := range exports {
		rows, err := answers.Query()
		if err != nil {
			return err
		}
		err = forEach(rows, func(r pgx.Rows) error {
			e, err := part.read(r)
			if err != nil {
				return err
			}
			return fn(e)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func readKey(r pgx.Rows) (store.Entry, error) {
	var k store.Key
	var task pgtype.UUID
	var until *int64
	err := r.Scan(&k.Kind, &k.Key, &task, &until)
	k.Task, k.Until = task.Bytes, instant(until)
	return store.Entry{Key: &k}, err
}
