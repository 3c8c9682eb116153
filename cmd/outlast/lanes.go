package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

var scopeFlags = []cli.Flag{
	{Name: "queue", Value: "QUEUE", Help: "tasks of this queue"},
	{Name: "kind", Value: "KIND", Help: "tasks of this kind"},
	{Name: "lane", Value: "LANE", Help: "tasks of this lane key"},
	{Name: "everything", Kind: cli.Switch, Help: "all tasks of the namespace"},
}

func laneCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "queues", Short: "count what waits and runs, by queue", Flags: targetFlags(),
			Long: "Counts stop at 10,000.", Example: "outlast queues\noutlast queues --json", Run: queues,
		},
		{
			Name: "lanes", Short: "list the lanes of a queue that have ready tasks, and what blocks them", Args: cli.Args{Usage: "QUEUE", Min: 1, Max: 1},
			Flags: targetFlags(cli.Flag{Name: "limit", Kind: cli.Number, Default: "50", Min: 1, Help: "how many"}), Example: "outlast lanes default", Run: lanes,
		},
		{
			Name: "pause", Short: "keep a queue, a kind or a lane from being claimed; what runs goes on", Args: cli.Args{Usage: "[QUEUE]", Max: 1},
			Flags: targetFlags(slices.Concat(scopeFlags, []cli.Flag{
				{Name: "for", Kind: cli.Span, Shown: "until it is resumed", Help: "how long"},
				{Name: "reason", Value: "TEXT", Help: "why; it is shown with the pause"},
			})...),
			Example: "outlast pause default --for 10m --reason deploy\noutlast pause --kind call.send --lane api.example.com", Run: pause,
		},
		{
			Name: "resume", Short: "end a pause", Args: cli.Args{Usage: "[QUEUE]", Max: 1}, Flags: targetFlags(scopeFlags...),
			Long: "The flags name the pause as it was made: \"outlast pauses\" lists them.", Example: "outlast resume default", Run: resume,
		},
		{Name: "pauses", Short: "list the pauses that stand", Flags: targetFlags(), Example: "outlast pauses", Run: pauses},
		limitsCommand(),
	}
}

type queueView struct {
	Queue     string    `json:"queue"`
	Ready     int64     `json:"ready"`
	Scheduled int64     `json:"scheduled"`
	Parked    int64     `json:"parked"`
	Running   int64     `json:"running"`
	OldestAt  time.Time `json:"oldest_ready_at,omitzero"`
	Paused    bool      `json:"paused"`
}

func viewQueue(q store.QueueStatus) queueView {
	return queueView{q.Queue, q.Ready, q.Scheduled, q.Parked, q.Running, utc(q.OldestAt), q.Paused}
}

func queues(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		list, err := d.Queues(ctx)
		if err != nil {
			return err
		}
		now, err := d.Now(ctx)
		if err == nil && len(list) == 0 && !l.AsJSON() {
			l.Say("nothing waits and nothing runs")
		}
		if err != nil {
			return err
		}
		return each(l, list, func(q store.QueueStatus) any { return viewQueue(q) }, queueHeadings, func(q store.QueueStatus) []cli.Cell { return queueRow(q, now) })
	})
}

var queueHeadings = []string{"QUEUE", "READY", "RUNNING", "SCHEDULED", "PARKED", "OLDEST", ""}

func queueRow(q store.QueueStatus, now time.Time) []cli.Cell {
	state := cli.C("")
	if q.Paused {
		state = cli.In(cli.Yellow, "paused")
	}
	return []cli.Cell{cli.C(q.Queue), cli.N(q.Ready), cli.N(q.Running), cli.N(q.Scheduled), cli.N(q.Parked), cli.C(cli.Ago(now, q.OldestAt)), state}
}

func lanes(ctx context.Context, l *cli.Line) error {
	type view struct {
		Queue    string    `json:"queue"`
		Kind     string    `json:"kind"`
		Lane     string    `json:"lane,omitempty"`
		Limit    string    `json:"limit,omitempty"`
		Ordered  bool      `json:"ordered,omitempty"`
		Suspect  bool      `json:"suspect,omitempty"`
		Ready    int64     `json:"ready"`
		Priority int       `json:"priority"`
		OldestAt time.Time `json:"oldest_ready_at,omitzero"`
		Weight   int       `json:"weight"`
		Blocked  string    `json:"blocked,omitempty"`
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		p, err := d.Lanes(ctx, l.Args[0], store.PageRequest{Limit: min(l.Number("limit"), 1000)})
		if err != nil {
			return err
		}
		if len(p.Items) == 0 && !l.AsJSON() {
			l.Say("no lane of %s has ready tasks", l.Args[0])
		}
		err = each(l, p.Items, func(s store.LaneStatus) any {
			return view{s.Queue, s.Kind, s.Lane, s.Limit, s.Ordered, s.Suspect, s.Ready, s.Priority, utc(s.OldestAt), s.Weight, s.Blocked}
		}, []string{"KIND", "LANE", "LIMIT", "READY", "PRIORITY", "WEIGHT", "OLDEST", "BLOCKED"}, func(s store.LaneStatus) []cli.Cell {
			return []cli.Cell{
				cli.C(s.Kind), cli.C(s.Lane), cli.C(s.Limit), cli.N(s.Ready), cli.N(s.Priority), cli.N(s.Weight), cli.C(cli.Ago(now, s.OldestAt)),
				cli.In(cli.Yellow, s.Blocked),
			}
		})
		if err == nil && p.Cursor != "" {
			fmt.Fprintln(l.Err, "there are more: raise --limit")
		}
		return err
	})
}

// scopeOf reads what is to be paused or resumed.
func scopeOf(l *cli.Line) (store.Scope, error) {
	s := store.Scope{Queue: l.Text("queue"), Kind: l.Text("kind"), Lane: l.Text("lane")}
	if len(l.Args) > 0 {
		if s.Queue != "" && s.Queue != l.Args[0] {
			return s, cli.Misused("two queues are named, %s and %s; name one", l.Args[0], s.Queue)
		}
		s.Queue = l.Args[0]
	}
	switch all := l.On("everything"); {
	case s == store.Scope{} && !all:
		return s, cli.Misused("say what: a queue, --kind, --lane, or --everything")
	case s != store.Scope{} && all:
		return s, cli.Misused("--everything leaves nothing to name beside it")
	}
	return s, nil
}

func scopeText(s store.Scope) string {
	var parts []string
	for _, p := range []struct{ name, value string }{{"queue", s.Queue}, {"kind", s.Kind}, {"lane", s.Lane}} {
		if p.value != "" {
			parts = append(parts, p.name+" "+p.value)
		}
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, ", ")
}

type pauseView struct {
	Queue  string    `json:"queue,omitempty"`
	Kind   string    `json:"kind,omitempty"`
	Lane   string    `json:"lane,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Until  time.Time `json:"until,omitzero"`
}

func viewPause(p store.Pause) any {
	return pauseView{p.Scope.Queue, p.Scope.Kind, p.Scope.Lane, p.Reason, utc(p.At), utc(p.Until)}
}

func pause(ctx context.Context, l *cli.Line) error {
	s, err := scopeOf(l)
	if err != nil {
		return err
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		if err := d.Pause(ctx, s, l.Span("for"), l.Text("reason")); err != nil {
			return err
		}
		list, err := d.Pauses(ctx)
		if err != nil {
			return err
		}
		for _, p := range list {
			if p.Scope == s && l.AsJSON() {
				return l.JSON(viewPause(p))
			}
		}
		if !l.AsJSON() {
			l.Say("paused: %s", scopeText(s))
		}
		return nil
	})
}

func resume(ctx context.Context, l *cli.Line) error {
	s, err := scopeOf(l)
	if err != nil {
		return err
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		list, err := d.Pauses(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(p store.Pause) bool { return p.Scope == s }) {
			return fmt.Errorf("there is no pause of exactly this: %s; \"outlast pauses\" lists those that stand", scopeText(s))
		}
		if err := d.Resume(ctx, s); err != nil {
			return err
		}
		if l.AsJSON() {
			return l.JSON(pauseView{Queue: s.Queue, Kind: s.Kind, Lane: s.Lane})
		}
		l.Say("resumed: %s", scopeText(s))
		return nil
	})
}

func pauses(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		list, err := d.Pauses(ctx)
		if err != nil {
			return err
		}
		if len(list) == 0 && !l.AsJSON() {
			l.Say("nothing is paused")
		}
		return each(l, list, viewPause, []string{"WHAT", "SINCE", "ENDS", "REASON"}, func(p store.Pause) []cli.Cell {
			return []cli.Cell{cli.C(scopeText(p.Scope)), cli.C(cli.Ago(now, p.At)), cli.C(cli.Ago(now, p.Until)), cli.C(p.Reason)}
		})
	})
}

// parseRate reads "10/1s", or "10/1s+20" with a burst.
func parseRate(text string) (r store.Rate, err error) {
	n, rest, ok := strings.Cut(text, "/")
	per, burst, bursts := strings.Cut(rest, "+")
	if ok {
		if r.N, err = strconv.Atoi(n); err == nil {
			if !strings.ContainsAny(per, "0123456789") {
				per = "1" + per
			}
			r.Per, err = time.ParseDuration(per)
		}
	}
	if err == nil && bursts {
		r.Burst, err = strconv.Atoi(burst)
	}
	if !ok || err != nil || r.N < 1 || r.Per <= 0 || r.Burst < 0 {
		return r, cli.Misused("--rate is %q; write it as 10/1s (ten a second), or 10/1s+20 with a burst of twenty", text)
	}
	return r, nil
}
