package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

func groupsCommand() *cli.Command {
	id := cli.Args{Usage: "ID", Min: 1, Max: 1}
	const example = " 0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"
	return &cli.Command{
		Name: "groups", Short: "list groups, newest first, and release or abort them",
		Flags:   targetFlags(cli.Flag{Name: "limit", Kind: cli.Number, Default: "50", Min: 1, Help: "how many"}, cli.Flag{Name: "live", Kind: cli.Switch, Help: "only those that are not closed"}),
		Example: "outlast groups --live\noutlast tasks --group" + example, Run: groups,
		Sub: []*cli.Command{
			{Name: "show", Short: "show a group", Args: id, Flags: targetFlags(), Example: "outlast groups show" + example, Run: groupVerb("show")},
			{Name: "release", Short: "let the members of a held group run", Args: id, Flags: targetFlags(), Example: "outlast groups release" + example, Run: groupVerb("release")},
			{
				Name: "abort", Short: "ask all members of a group to end", Args: id, Example: "outlast groups abort" + example + " --yes", Run: groupVerb("abort"),
				Flags: targetFlags(
					cli.Flag{Name: "reason", Value: "TEXT", Help: "why; it stands in the records"},
					cli.Flag{Name: "yes", Short: "y", Kind: cli.Switch, Help: "do not ask"},
				),
			},
		},
	}
}

type groupView struct {
	ID         store.ID          `json:"id"`
	Name       string            `json:"name,omitempty"`
	State      store.GroupState  `json:"state"`
	Aborting   string            `json:"aborting,omitempty"`
	Generation int               `json:"generation"`
	Total      int64             `json:"total"`
	Done       int64             `json:"done"`
	Failed     int64             `json:"failed"`
	Cancelled  int64             `json:"cancelled"`
	Live       int64             `json:"live"`
	Parent     store.ID          `json:"parent,omitzero"`
	Labels     map[string]string `json:"labels,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	ClosedAt   time.Time         `json:"closed_at,omitzero"`
}

func viewGroup(g store.Group) groupView {
	return groupView{
		g.ID, g.Name, g.State, g.Aborting, g.Generation, g.Total, g.Done, g.Failed, g.Cancelled, g.Live(), g.Parent, g.Labels, g.CreatedAt.UTC(), utc(g.ClosedAt),
	}
}

var groupHeadings = []string{"ID", "NAME", "STATE", "TOTAL", "DONE", "FAILED", "CANCELLED", "LIVE", "CREATED"}

func groupRow(g store.Group, now time.Time) []cli.Cell {
	state := cli.C(string(g.State))
	if g.Aborting != "" && g.State != store.GroupClosed {
		state = cli.In(cli.Yellow, "aborting")
	}
	failed := cli.N(g.Failed)
	if g.Failed > 0 {
		failed.Style = cli.Red
	}
	return []cli.Cell{
		cli.C(g.ID.String()), cli.C(g.Name), state, cli.N(g.Total), cli.N(g.Done), failed, cli.N(g.Cancelled), cli.N(g.Live()), cli.C(cli.Ago(now, g.CreatedAt)),
	}
}

func groups(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		var list []store.Group
		more := false
		err = ops.All(ctx, d.Groups, store.PageRequest{Limit: 500}, func(g store.Group) bool {
			switch {
			case l.On("live") && g.State == store.GroupClosed:
			case len(list) == l.Number("limit"):
				more = true
			default:
				list = append(list, g)
			}
			return !more
		})
		if err != nil {
			return err
		}
		if len(list) == 0 && !l.AsJSON() {
			l.Say("there are no groups")
		}
		err = each(l, list, func(g store.Group) any { return viewGroup(g) }, groupHeadings, func(g store.Group) []cli.Cell { return groupRow(g, now) })
		if more {
			fmt.Fprintln(l.Err, "there are more: raise --limit")
		}
		return err
	})
}

func groupVerb(verb string) func(context.Context, *cli.Line) error {
	return func(ctx context.Context, l *cli.Line) error {
		id, err := parseID(l.Args[0])
		if err != nil {
			return err
		}
		return with(ctx, l, want{}, func(d ops.Operator) error {
			g, err := d.Group(ctx, id)
			switch {
			case err != nil:
			case verb == "release":
				g, err = d.Release(ctx, id)
			case verb == "abort":
				if !l.On("yes") {
					ok, err := l.Confirm(fmt.Sprintf("Abort the group with %s members that have not ended?", cli.Thousands(g.Live())))
					if err != nil || !ok {
						return errors.Join(err, refusal(err))
					}
				}
				g, err = d.Abort(ctx, id, l.Text("reason"))
			}
			if err != nil {
				return err
			}
			if l.AsJSON() {
				return l.JSON(viewGroup(g))
			}
			now, err := d.Now(ctx)
			if err == nil {
				l.Table(groupHeadings, [][]cli.Cell{groupRow(g, now)})
			}
			return err
		})
	}
}
