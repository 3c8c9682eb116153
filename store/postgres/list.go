package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/store"
)

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

// listQuery joins the parts of a filter that are set. Each part is fixed text; what the caller gave is an argument, but for the count and the states:
// the server keeps its plan of a statement only where it knows from the text how little is asked for.
func (s *Store) listQuery(f *store.Filter, page *store.PageRequest, limit int) (query string, args []any, err error) {
	states := storedStates(f)
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
	sorted := " order by " + order
	most := " limit " + strconv.Itoa(limit)
	rest := b.String() + sorted + most
	name := "brief"
	if page.Payload {
		name = "task"
	}
	if len(f.Labels) > 0 { // they stand in the body
		return s.q.get(name+"_all") + rest, args, nil
	}
	// A page is picked by the indexes of each table first, so that no more than that is read. Asked for all at once, the server joins and sorts all
	// tasks, or the whole group, for each page.
	picked := s.picks(states, rest)
	if len(picked) > 1 {
		picked = []string{"select f.* from ((" + strings.Join(picked, ") union all (") + ")) f" + sorted + most}
	}
	return strings.Replace(s.q.get(name+"_page"), ":page", picked[0], 1) + sorted, args, nil
}

// picks are the statements that pick a page, one for each table. One that has no task of these states is not looked through.
func (s *Store) picks(states []store.State, rest string) (list []string) {
	for _, table := range []struct {
		pick  string
		ended bool
	}{{"pick_live", false}, {"pick_ended", true}} {
		if len(states) == 0 || slices.ContainsFunc(states, func(st store.State) bool { return st.Terminal() == table.ended }) {
			list = append(list, s.q.get(table.pick)+rest)
		}
	}
	return list
}

// listParts are what a filter and a cursor ask for, and the order of the list.
func listParts(f *store.Filter, page *store.PageRequest, states []store.State) (parts []condition, order string, err error) {
	add := func(is bool, text string, arg any) {
		if is {
			parts = append(parts, condition{text, arg})
		}
	}
	labels, err := json.Marshal(f.Labels)
	if err != nil {
		return nil, "", err
	}
	add(len(states) > 0, "f.state in ("+stateList(states)+")", nil)
	add(len(f.Kinds) == 1, "f.kind = $", strings.Join(f.Kinds, ""))
	add(len(f.Kinds) > 1, "f.kind in (select jsonb_array_elements_text($::text::jsonb))", jsonText(f.Kinds))
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

// storedStates are the states of a filter as they stand in the tables; none if it asks for all.
func storedStates(f *store.Filter) []store.State {
	states := slices.Clone(f.States)
	if f.Worker != "" && len(states) == 0 {
		states = []store.State{store.Running} // only what runs has a worker
	}
	for i, st := range states {
		if st == store.Ending {
			states[i] = store.Running
		}
	}
	slices.Sort(states)
	return slices.Compact(states)
}

// stateList is a list of states in SQL. One that there is not stands for no task.
func stateList(states []store.State) string {
	texts := make([]string, len(states))
	for i, st := range states {
		switch st {
		case store.Scheduled, store.Ready, store.Running, store.Parked, store.Held, store.Done, store.Failed, store.Cancelled:
			texts[i] = "'" + string(st) + "'"
		default:
			texts[i] = "''"
		}
	}
	return strings.Join(texts, ", ")
}

func jsonText(list []string) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // it is a list of strings
	}
	return string(b)
}
