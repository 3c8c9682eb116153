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

func schedulesCommand() *cli.Command {
	name := cli.Args{Usage: "NAME", Min: 1, Max: 1}
	toggle := func(paused bool) func(context.Context, *cli.Line) error {
		return func(ctx context.Context, l *cli.Line) error { return pauseSchedule(ctx, l, paused) }
	}
	return &cli.Command{
		Name: "schedules", Short: "list schedules, and pause, resume or delete them", Flags: targetFlags(), Example: "outlast schedules", Run: schedules,
		Sub: []*cli.Command{
			{Name: "pause", Short: "let a schedule submit nothing until it is resumed", Args: name, Flags: targetFlags(), Example: "outlast schedules pause nightly", Run: toggle(true)},
			{Name: "resume", Short: "let a paused schedule go on from its next tick", Args: name, Flags: targetFlags(), Example: "outlast schedules resume nightly", Run: toggle(false)},
			{
				Name: "delete", Short: "remove a schedule; tasks that it has submitted stay", Args: name,
				Flags:   targetFlags(cli.Flag{Name: "yes", Short: "y", Kind: cli.Switch, Help: "do not ask"}),
				Example: "outlast schedules delete nightly --yes", Run: deleteSchedule,
			},
		},
	}
}

type scheduleView struct {
	Name     string    `json:"name"`
	Rule     string    `json:"rule"`
	Zone     string    `json:"zone,omitempty"`
	CatchUp  string    `json:"catch_up,omitempty"`
	Overlap  string    `json:"overlap,omitempty"`
	Jitter   float64   `json:"jitter_seconds,omitempty"`
	Paused   bool      `json:"paused"`
	Kind     string    `json:"kind"`
	Queue    string    `json:"queue"`
	LastTick time.Time `json:"last_tick,omitzero"`
	LastTask store.ID  `json:"last_task,omitzero"`
	NextAt   time.Time `json:"next_at,omitzero"`
	Version  int64     `json:"version"`
}

func viewSchedule(s store.Schedule) any {
	return scheduleView{
		s.Name, s.Rule, s.Zone, s.CatchUp, string(s.Overlap), s.Jitter.Seconds(), s.Paused, s.Task.Kind, s.Task.Queue, utc(s.LastTick), s.LastTask,
		utc(s.NextAt), s.Version,
	}
}

func schedules(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		var list []store.Schedule
		err = ops.All(ctx, d.Schedules, store.PageRequest{Limit: 1000}, func(s store.Schedule) bool {
			list = append(list, s)
			return true
		})
		if err != nil {
			return err
		}
		if len(list) == 0 && !l.AsJSON() {
			l.Say("there are no schedules")
		}
		return each(l, list, viewSchedule, []string{"NAME", "RULE", "KIND", "QUEUE", "LAST", "NEXT", "LAST TASK"}, func(s store.Schedule) []cli.Cell {
			next := cli.C(cli.Ago(now, s.NextAt))
			if s.Paused {
				next = cli.In(cli.Yellow, "paused")
			}
			return []cli.Cell{cli.C(s.Name), cli.C(s.Rule), cli.C(s.Task.Kind), cli.C(s.Task.Queue), cli.C(cli.Ago(now, s.LastTick)), next, cli.C(s.LastTask.String())}
		})
	})
}

// noSchedule says what to do about a name that there is not.
func noSchedule(name string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no schedule %q; \"outlast schedules\" lists them", name)
	}
	return err
}

func pauseSchedule(ctx context.Context, l *cli.Line, paused bool) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		s, err := d.PauseSchedule(ctx, l.Args[0], paused)
		if err != nil {
			return noSchedule(l.Args[0], err)
		}
		if l.AsJSON() {
			return l.JSON(viewSchedule(s))
		}
		l.Say("schedule %s is %s", s.Name, map[bool]string{true: "paused", false: "going on"}[paused])
		return nil
	})
}

func deleteSchedule(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		s, err := d.Schedule(ctx, l.Args[0])
		if err != nil {
			return noSchedule(l.Args[0], err)
		}
		if !l.On("yes") {
			if ok, err := l.Confirm(fmt.Sprintf("Delete the schedule %s (%s)?", s.Name, s.Rule)); err != nil || !ok {
				return errors.Join(err, refusal(err))
			}
		}
		if err := d.DeleteSchedule(ctx, s.Name); err != nil {
			return err
		}
		if l.AsJSON() {
			return l.JSON(viewSchedule(s))
		}
		l.Say("schedule %s was deleted", s.Name)
		return nil
	})
}
