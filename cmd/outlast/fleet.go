package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

func fleetCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "workers", Short: "list the processes that work on the store, and those that have died", Flags: targetFlags(),
			Example: "outlast workers\noutlast workers --json", Run: workers,
		},
		{
			Name: "stats", Short: "count what happened, by queue and kind",
			Flags: targetFlags(
				cli.Flag{Name: "since", Value: "TIME", Default: "1h", Help: "from then on: an age (1h), or a time"},
				cli.Flag{Name: "minutes", Kind: cli.Switch, Help: "minute by minute"},
			),
			Example: "outlast stats --since 24h\noutlast stats --minutes --json", Run: stats,
		},
	}
}

type workerView struct {
	ID        string         `json:"id"`
	State     string         `json:"state"` // running, draining, …; late; dead; left
	Host      string         `json:"host,omitempty"`
	PID       int            `json:"pid,omitempty"`
	Version   string         `json:"version,omitempty"`
	Slots     map[string]int `json:"slots,omitempty"`
	Kinds     []string       `json:"kinds,omitempty"`
	Evidence  string         `json:"evidence"`
	Running   int            `json:"running"`
	Stuck     int            `json:"stuck,omitempty"`
	JoinedAt  time.Time      `json:"joined_at"`
	BeatAt    time.Time      `json:"beat_at"`
	DeadAfter float64        `json:"dead_after_seconds"`
	DeadAt    time.Time      `json:"dead_at,omitzero"`
	Death     string         `json:"death,omitempty"`
}

// workerState says in a word how a worker is.
func workerState(w store.Worker, now time.Time) string {
	switch {
	case w.Death == store.DeathLeft:
		return "left"
	case !w.DeadAt.IsZero():
		return "dead"
	case now.Sub(w.BeatAt) > max(3*w.Beat, w.DeadAfter/3):
		return "late"
	}
	return cmp.Or(w.Load.State, "running")
}

func viewWorker(w store.Worker, now time.Time) workerView {
	return workerView{
		w.ID, workerState(w, now), w.Info.Host, w.Info.PID, w.Info.Version, w.Info.Slots, w.Info.Kinds, string(w.Evidence), w.Load.Running, w.Load.Stuck,
		w.JoinedAt.UTC(), w.BeatAt.UTC(), w.DeadAfter.Seconds(), utc(w.DeadAt), string(w.Death),
	}
}

var workerHeadings = []string{"WORKER", "STATE", "RUNNING", "BEAT", "JOINED", "SLOTS"}

func workerRow(w store.Worker, now time.Time) []cli.Cell {
	state := workerState(w, now)
	style := map[string]cli.Style{"dead": cli.Red, "left": cli.Dim, "late": cli.Yellow, "running": cli.Green}[state]
	if state == "dead" {
		state += " (" + string(w.Death) + ")"
	}
	var slots []string
	for _, q := range slices.Sorted(maps.Keys(w.Info.Slots)) {
		slots = append(slots, fmt.Sprintf("%s:%d", q, w.Info.Slots[q]))
	}
	return []cli.Cell{
		cli.C(w.ID), cli.In(style, state), cli.N(w.Load.Running), cli.C(cli.Ago(now, w.BeatAt)), cli.C(cli.Ago(now, w.JoinedAt)), cli.C(strings.Join(slots, " ")),
	}
}

func workers(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		list, err := d.Workers(ctx)
		if err != nil {
			return err
		}
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 && !l.AsJSON() {
			l.Say("no process works on this store")
		}
		return each(l, list, func(w store.Worker) any { return viewWorker(w, now) }, workerHeadings,
			func(w store.Worker) []cli.Cell { return workerRow(w, now) })
	})
}

// statView is what happened in a while.
type statView struct {
	At        time.Time `json:"at,omitzero"`
	Queue     string    `json:"queue"`
	Kind      string    `json:"kind"`
	Submitted int64     `json:"submitted"`
	Claimed   int64     `json:"claimed"`
	Done      int64     `json:"done"`
	Failed    int64     `json:"failed"`
	Cancelled int64     `json:"cancelled"`
	Retried   int64     `json:"retried"`
	Crashed   int64     `json:"crashed"`
	Waited    float64   `json:"mean_wait_seconds"`
	Ran       float64   `json:"mean_run_seconds"`
}

// sum adds minutes up by queue and kind.
func sum(list []store.Minute) []store.Minute {
	type name struct{ queue, kind string }
	at := map[name]*store.Minute{}
	for _, m := range list {
		s := at[name{m.Queue, m.Kind}]
		if s == nil {
			s = &store.Minute{Queue: m.Queue, Kind: m.Kind}
			at[name{m.Queue, m.Kind}] = s
		}
		s.Submitted += m.Submitted
		s.Claimed += m.Claimed
		s.Done += m.Done
		s.Failed += m.Failed
		s.Cancelled += m.Cancelled
		s.Retried += m.Retried
		s.Crashed += m.Crashed
		s.Waited += m.Waited
		s.Ran += m.Ran
	}
	var all []store.Minute
	for _, s := range at {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b store.Minute) int { return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind)) })
	return all
}

// mean is the share of one of many.
func mean(sum time.Duration, n int64) time.Duration {
	if n == 0 {
		return 0
	}
	return sum / time.Duration(n)
}

func stats(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		from, err := parseTime("since", l.Text("since"), now)
		if err != nil {
			return err
		}
		list, err := d.Stats(ctx, from.Truncate(time.Minute), now.Add(time.Minute))
		if err != nil {
			return err
		}
		if !l.On("minutes") {
			list = sum(list)
		}
		if len(list) == 0 && !l.AsJSON() {
			l.Say("nothing happened since %s", from.UTC().Format(time.RFC3339))
		}
		if l.On("minutes") {
			return each(l, list, viewStat, slices.Concat([]string{"MINUTE"}, statHeadings), func(m store.Minute) []cli.Cell {
				return slices.Concat([]cli.Cell{cli.In(cli.Dim, m.At.UTC().Format("01-02 15:04"))}, statRow(m))
			})
		}
		return each(l, list, viewStat, statHeadings, statRow)
	})
}

func ends(m store.Minute) int64 { return m.Done + m.Failed + m.Retried }

func viewStat(m store.Minute) any {
	return statView{
		utc(m.At), m.Queue, m.Kind, m.Submitted, m.Claimed, m.Done, m.Failed, m.Cancelled, m.Retried, m.Crashed,
		mean(m.Waited, m.Claimed).Seconds(), mean(m.Ran, ends(m)).Seconds(),
	}
}

var statHeadings = []string{"QUEUE", "KIND", "SUBMITTED", "DONE", "FAILED", "CANCELLED", "RETRIED", "CRASHED", "WAITED", "RAN"}

func statRow(m store.Minute) []cli.Cell {
	failed, crashed := cli.N(m.Failed), cli.N(m.Crashed)
	if m.Failed > 0 {
		failed.Style = cli.Red
	}
	if m.Crashed > 0 {
		crashed.Style = cli.Red
	}
	return []cli.Cell{
		cli.C(m.Queue), cli.C(m.Kind), cli.N(m.Submitted), cli.N(m.Done), failed, cli.N(m.Cancelled), cli.N(m.Retried), crashed,
		cli.C(cli.Coarse(mean(m.Waited, m.Claimed))), cli.C(cli.Coarse(mean(m.Ran, ends(m)))),
	}
}
