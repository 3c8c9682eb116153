package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

func limitsCommand() *cli.Command {
	key := cli.Args{Usage: "KEY", Min: 1, Max: 1}
	return &cli.Command{
		Name: "limits", Short: "list the limits of the fleet and their use", Flags: targetFlags(), Example: "outlast limits", Run: limits,
		Sub: []*cli.Command{
			{
				Name: "set", Short: "bound the tasks of a limit key across the fleet", Args: key,
				Flags: targetFlags(
					cli.Flag{Name: "running", Kind: cli.Number, Default: "0", Min: 1, Shown: "no bound", Help: "at most so many at once"},
					cli.Flag{Name: "rate", Kind: cli.Many, Value: "N/TIME[+BURST]", Help: "at most so many starts in that time"},
				),
				Example: "outlast limits set host:api.example.com --running 10 --rate 100/1m", Run: limitsSet,
			},
			{Name: "remove", Short: "remove a limit", Args: key, Flags: targetFlags(), Example: "outlast limits remove host:api.example.com", Run: limitsRemove},
		},
	}
}

type rateView struct {
	N     int     `json:"n"`
	Per   float64 `json:"per_seconds"`
	Burst int     `json:"burst,omitempty"`
}

type limitView struct {
	Key     string     `json:"key"`
	Running int        `json:"running,omitempty"`
	Rates   []rateView `json:"rates,omitempty"`
	InUse   int        `json:"in_use"`
	Opens   float64    `json:"opens_in_seconds,omitempty"`
}

func viewLimit(s store.LimitStatus) any {
	v := limitView{Key: s.Key, Running: s.Running, InUse: s.InUse, Opens: s.Opens.Seconds()}
	for _, r := range s.Rates {
		v.Rates = append(v.Rates, rateView{r.N, r.Per.Seconds(), r.Burst})
	}
	return v
}

func limits(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		list, err := d.Limits(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 && !l.AsJSON() {
			l.Say("there are no limits")
		}
		return each(l, list, viewLimit, []string{"KEY", "RUNNING", "OF", "RATES", "OPENS"}, func(s store.LimitStatus) []cli.Cell {
			var rates []string
			for _, r := range s.Rates {
				text := fmt.Sprintf("%d/%s", r.N, r.Per)
				if r.Burst > 0 {
					text += fmt.Sprintf("+%d", r.Burst)
				}
				rates = append(rates, text)
			}
			of, opens := cli.C("-"), cli.C("now")
			if s.Running > 0 {
				of = cli.N(s.Running)
			}
			if s.Opens > 0 {
				opens = cli.In(cli.Yellow, "in "+cli.Coarse(s.Opens))
			}
			of.Right = true
			return []cli.Cell{cli.C(s.Key), cli.N(s.InUse), of, cli.C(strings.Join(rates, " ")), opens}
		})
	})
}

func limitsSet(ctx context.Context, l *cli.Line) error {
	limit := store.Limit{Key: l.Args[0], Running: l.Number("running")}
	for _, text := range l.Many("rate") {
		r, err := parseRate(text)
		if err != nil {
			return err
		}
		limit.Rates = append(limit.Rates, r)
	}
	if limit.Running == 0 && len(limit.Rates) == 0 {
		return cli.Misused("say which bound: --running N or --rate N/TIME; \"outlast limits remove\" removes one")
	}
	return putLimit(ctx, l, limit, "set")
}

func limitsRemove(ctx context.Context, l *cli.Line) error {
	return putLimit(ctx, l, store.Limit{Key: l.Args[0]}, "removed")
}

func putLimit(ctx context.Context, l *cli.Line, limit store.Limit, done string) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		before, err := d.PutLimit(ctx, limit)
		if err != nil {
			return err
		}
		if done == "removed" && before.Running == 0 && len(before.Rates) == 0 {
			return fmt.Errorf("there is no limit %s; \"outlast limits\" lists them", limit.Key)
		}
		if l.AsJSON() {
			return l.JSON(viewLimit(store.LimitStatus{Limit: limit}))
		}
		l.Say("limit %s was %s", limit.Key, done)
		return nil
	})
}
