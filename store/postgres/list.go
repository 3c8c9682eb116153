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

// condition is one part of what a list asks for. $ stands for the argument.
type condition struct {
	text string
	arg  any
}

// listQuery joins the parts of a filter that are set. Each part is fixed text; what the caller gave is an argument.
func (s *Store) listQuery(f *store.Filter, page *store.PageRequest, limit int) (query string, args []any, err error) {
	states := storedStates(f)
	parts, order, err := listParts(f, page, states)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString(" where true")
	for _, p := range parts {
		args = append(args, p.arg)
		b.WriteString(" and " + strings.ReplaceAll(p.text, "$", "$"+strconv.Itoa(len(args))))
	}
	where := b.String()
	args = append(args, limit)
	first := " order by " + order + " limit $" + strconv.Itoa(len(args))
	name := "brief"
	if page.Payload {
		name = "task"
	}
	if len(f.Labels) > 0 { // they stand in the body
		return s.q.get(name+"_all") + where + first, args, nil
	}
	// A page is picked by indexes first, so that no more than that is read. Asked for all at once, the server joins and sorts all tasks, or the
	// whole group, for each page.
	picks := s.picks(f, states, where, first)
	if len(picks) > 1 {
		picks = []string{"select f.* from ((" + strings.Join(picks, ") union all (") + ")) f" + first}
	}
	// How many is said twice: as an argument, of which the server assumes that it is a part of all, so that it goes by the order whatever it knows of a
	// table; and as a number, so that the plan it keeps does not look dearer to it than one that it makes for each call.
	picked := "select f.* from (" + picks[0] + ") f limit " + strconv.Itoa(limit)
	return strings.Replace(s.q.get(name+"_page"), ":page", picked, 1) + " order by " + order, args, nil
}

// picks are statements that pick a page between them, each by one index. A table that has no task of these states is not looked through.
func (s *Store) picks(f *store.Filter, states []store.State, where, first string) (list []string) {
	if len(states) == 0 || slices.ContainsFunc(states, func(st store.State) bool { return !st.Terminal() }) {
		list = append(list, s.q.get("pick_live")+where+first)
	}
	ended := s.q.get("pick_ended") + where
	for _, st := range []store.State{store.Done, store.Failed, store.Cancelled} {
		switch {
		case len(states) > 0 && !slices.Contains(states, st):
		case f.Queue != "" || len(states) == 1 && st == store.Failed: // by the index of the queue's, or of all that failed
			list = append(list, ended+" and f.state = '"+string(st)+"'"+first)
		default:
			return append(list, ended+first)
		}
	}
	return list
}

// perhaps has the server take a condition for one that every other task meets, whatever it knows of them. So it looks through tasks in the order of
// the list until there are enough. It keeps plans, and one that was made when few tasks were there, or when it knew nothing of them, would sort all of
// them for each page.
func perhaps(text string) string { return "case when " + text + " then true else false end" }

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
	add(len(states) > 0, perhaps("f.state = any ($::text[])"), stateTexts(states))
	add(len(f.Kinds) > 0, perhaps("f.kind = any ($::text[])"), f.Kinds)
	add(f.Queue != "", "f.queue = $", f.Queue)
	add(!f.Group.IsZero(), "f.grp = $::text::uuid", f.Group.String())
	add(!f.Parent.IsZero(), "f.parent = $::text::uuid", f.Parent.String())
	add(f.Worker != "", "f.worker = $ and f.state = 'running'", f.Worker)
	add(f.Unique != "", "(f.kind, f.ukey) = (($::text[])[1], ($::text[])[2]) and f.ukey <> ''", append(slices.Clone(f.Kinds), f.Unique))
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
			add(true, "(f.line, f.id) > (($::text[])[1]::bigint, ($::text[])[2]::uuid)", []string{line, id})
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

// stateTexts are states as the driver knows them.
func stateTexts(states []store.State) []string {
	texts := make([]string, len(states))
	for i, st := range states {
		texts[i] = string(st)
	}
	return texts
}
