package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

func showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Short: "show a task: what it is, what happened to it, what follows it",
		Long: "The timeline has attempts, crashes and recoveries with the workers that had it; the newest 20 events are kept. What is sealed is shown if the\n" +
			"keys are there. --wait waits until the task has ended; the exit code is then 1 if it ended otherwise than done.",
		Args: cli.Args{Usage: "ID", Min: 1, Max: 1},
		Flags: targetFlags(
			cli.Flag{Name: "payload", Kind: cli.Switch, Help: "print args and result as a whole; otherwise long ones are cut"},
			cli.Flag{Name: "wait", Kind: cli.Switch, Help: "wait until it has ended"},
		),
		Example: "outlast show 0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c\noutlast show 0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c --json | jq .history",
		Run:     show,
	}
}

// shown is a task with all that is known of it.
type shown struct {
	taskView
	Args     any         `json:"args,omitempty"`
	Result   any         `json:"result,omitempty"`
	Detail   any         `json:"error_detail,omitempty"`
	Stripped bool        `json:"stripped,omitempty"`
	Locked   string      `json:"locked,omitempty"` // why what is sealed, or in a blob, is not shown
	History  []eventView `json:"history"`
	Follows  []followed  `json:"follows"`
	GroupIs  *groupView  `json:"group_status,omitempty"`
}

// followed is a task that belongs to another.
type followed struct {
	ID    store.ID    `json:"id"`
	Kind  string      `json:"kind"`
	State store.State `json:"state"`
}

const followsShown = 100

func show(ctx context.Context, l *cli.Line) error {
	id, err := parseID(l.Args[0])
	if err != nil {
		return err
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		if l.On("wait") {
			if _, err := d.Wait(ctx, id); err != nil && !locked(err) {
				return err
			}
		}
		t, s, err := look(ctx, d, id)
		if err != nil {
			return err
		}
		if l.AsJSON() {
			err = l.JSON(s)
		} else {
			var now time.Time
			if now, err = d.Now(ctx); err == nil {
				printTask(l, &t, s, now)
			}
		}
		if err == nil && l.On("wait") && t.State != store.Done {
			err = cli.Told
		}
		return err
	})
}

// locked reports whether an error is of what is sealed or kept elsewhere: the rest of the record is there.
func locked(err error) bool {
	return err != nil && !store.Answered(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// look reads a task, its group and what follows it.
func look(ctx context.Context, d ops.Operator, id store.ID) (store.Task, shown, error) {
	t, err := d.Get(ctx, id)
	if err != nil && t.ID.IsZero() {
		return t, shown{}, err
	}
	s := shown{taskView: viewTask(&t), Stripped: t.Stripped, Follows: []followed{}, History: []eventView{}}
	if err != nil {
		s.Locked = cli.OneLine(err.Error())
	} else {
		s.Args, s.Result = payload(t.Args), payload(t.Result)
		if t.Error != nil {
			s.Detail = payload(t.Error.Detail)
		}
	}
	for _, e := range t.History {
		s.History = append(s.History, eventView{e.At.UTC(), e.Kind, e.Epoch, e.Worker, e.Text})
	}
	p, err := d.List(ctx, store.Filter{Parent: id}, store.PageRequest{Limit: followsShown, Oldest: true})
	if err != nil {
		return t, s, err
	}
	for _, c := range p.Items {
		s.Follows = append(s.Follows, followed{c.ID, c.Kind, c.Read()})
	}
	if !t.Group.IsZero() {
		g, err := d.Group(ctx, t.Group)
		if err == nil {
			v := viewGroup(g)
			s.GroupIs = &v
		} else if !errors.Is(err, store.ErrNotFound) {
			return t, s, err
		}
	}
	return t, s, nil
}

func printTask(l *cli.Line, t *store.Task, s shown, now time.Time) {
	state := l.Paint(stateStyle(s.State), string(s.State))
	if s.Reason != "" && s.Reason != string(s.State) {
		state += " (" + cli.Clean(s.Reason) + ")"
	}
	l.Say("%s  %s  %s", l.Paint(cli.Bold, s.ID.String()), cli.Clean(s.Kind), state)
	field := func(name, format string, args ...any) {
		l.Say("  %s %s", l.Paint(cli.Dim, fmt.Sprintf("%-10s", name)), cli.Clean(fmt.Sprintf(format, args...)))
	}
	where := "queue " + s.Queue
	for _, p := range []struct{ name, value string }{{"lane", s.Lane}, {"limit", s.Limit}, {"key", s.Key}} {
		if p.value != "" {
			where += ", " + p.name + " " + p.value
		}
	}
	field("where", "%s", where)
	field("tries", "%d of %d failed, %d crashes, round %d", s.Attempts, s.MaxAttempts, s.Crashes, s.Round)
	for _, at := range []struct {
		name string
		at   time.Time
	}{{"created", s.CreatedAt}, {"due", s.DueAt}, {"started", s.StartedAt}, {"ended", s.EndedAt}, {"expires", s.ExpireAt}} {
		if !at.at.IsZero() && (at.name != "due" || !at.at.Equal(s.CreatedAt)) {
			field(at.name, "%s (%s)", at.at.UTC().Format("2006-01-02 15:04:05.000Z"), cli.Ago(now, at.at))
		}
	}
	if s.Worker != "" {
		field("worker", "%s", s.Worker)
	}
	if p := s.Progress; p != nil {
		field("progress", "%d of %d %s", p.Done, p.Total, p.Note)
	}
	if s.Asked != "" {
		field("asked", "to end: %s", s.Asked)
	}
	if !s.Parent.IsZero() {
		field("parent", "%s", s.Parent)
	}
	if g := s.GroupIs; g != nil {
		field("group", "%s %s, %d of %d ended (line %d)", g.ID, g.State, g.Done+g.Failed+g.Cancelled, g.Total, s.Line)
	}
	for name, value := range s.Labels {
		field("label", "%s=%s", name, value)
	}
	printPayload(l, t, s, field)
	printTimeline(l, t)
	printFollows(l, s)
}

func printPayload(l *cli.Line, t *store.Task, s shown, field func(name, format string, args ...any)) {
	if s.Error != nil {
		text := s.Error.Message
		if s.Error.Type != "" {
			text = s.Error.Type + ": " + text
		}
		field("error", "%s", text)
	}
	switch {
	case s.Locked != "":
		field("locked", "%s", s.Locked)
		return
	case s.Stripped:
		field("stripped", "args, result and history were not kept")
	}
	for _, p := range []struct {
		name string
		data []byte
	}{{"args", t.Args}, {"result", t.Result}} {
		text := payloadText(p.data)
		if !l.On("payload") {
			text = cli.Cut(text, max(l.Width-14, 120))
		}
		if text != "" {
			field(p.name, "%s", text)
		}
	}
}

// printTimeline prints what happened, by the time since the task was created.
func printTimeline(l *cli.Line, t *store.Task) {
	l.Say("\n%s", l.Paint(cli.Bold, "timeline"))
	rows := [][]cli.Cell{{{Text: "0ms", Right: true}, cli.C("submitted"), cli.C(""), cli.C("")}}
	if len(t.History) == store.HistoryLimit {
		rows = append(rows, []cli.Cell{{Text: "…", Right: true}, cli.In(cli.Dim, "earlier"), cli.C(""), cli.In(cli.Dim, "events before these were not kept")})
	}
	for _, e := range t.History {
		rows = append(rows, []cli.Cell{
			{Text: cli.Coarse(e.At.Sub(t.CreatedAt)), Right: true}, cli.In(eventStyle(e.Kind), string(e.Kind)), cli.C(e.Worker), cli.C(e.Text),
		})
	}
	w := l.World
	w.Width = max(w.Width-2, 0)
	for _, line := range w.Rows([]string{"AFTER", "EVENT", "WORKER", "TEXT"}, rows) {
		l.Say("  %s", strings.TrimRight(line, " "))
	}
}

func eventStyle(k store.EventKind) cli.Style {
	switch k {
	case store.EventCrashed, store.EventHeld:
		return cli.Red
	case store.EventRetried, store.EventRecovered, store.EventAsked:
		return cli.Yellow
	case store.EventEnded:
		return cli.Bold
	}
	return cli.Normal
}

func printFollows(l *cli.Line, s shown) {
	if len(s.Follows) == 0 {
		return
	}
	l.Say("\n%s", l.Paint(cli.Bold, "follow-ups"))
	for _, f := range s.Follows {
		l.Say("  %s  %s  %s", f.ID, l.Paint(stateStyle(f.State), string(f.State)), cli.Clean(f.Kind))
	}
	if len(s.Follows) == followsShown {
		l.Say("  … \"outlast tasks --parent %s\" lists all", s.ID)
	}
}
