package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

func topCommand() *cli.Command {
	return &cli.Command{
		Name: "top", Short: "watch queues, workers and tasks live, on the whole terminal",
		Long: "q ends it. Where there is no terminal, with --once or with --json, it prints what there is now and ends.",
		Flags: targetFlags(
			cli.Flag{Name: "every", Kind: cli.Span, Default: "1s", Help: "how often it looks"},
			cli.Flag{Name: "once", Kind: cli.Switch, Help: "look once"},
		),
		Example: "outlast top --every 500ms\noutlast top --json", Run: top,
	}
}

// snapshot is what there is at one moment.
type snapshot struct {
	At      time.Time
	Info    store.Info
	Queues  []store.QueueStatus
	Workers []store.Worker
	Running []store.Task
	Failed  []store.Task
	Minute  []store.Minute // of the minute under way and the one before
}

const topTasks = 50

func photograph(ctx context.Context, d ops.Operator) (s snapshot, err error) {
	s.Info = d.Info()
	if s.At, err = d.Now(ctx); err != nil {
		return s, err
	}
	if s.Queues, err = d.Queues(ctx); err != nil {
		return s, err
	}
	if s.Workers, err = d.Workers(ctx); err != nil {
		return s, err
	}
	for state, into := range map[store.State]*[]store.Task{store.Running: &s.Running, store.Failed: &s.Failed} {
		p, err := d.List(ctx, store.Filter{States: []store.State{state}}, store.PageRequest{Limit: topTasks})
		if err != nil {
			return s, err
		}
		*into = p.Items
	}
	s.Minute, err = d.Stats(ctx, s.At.Truncate(time.Minute).Add(-time.Minute), s.At.Add(time.Minute))
	return s, err
}

// rates adds up the minutes of a snapshot: of the one under way, and of the whole one before it.
func (s *snapshot) rates() (now, before store.Minute) {
	begin := s.At.Truncate(time.Minute)
	for _, m := range s.Minute {
		into := &before
		if !m.At.Before(begin) {
			into = &now
		}
		into.Submitted += m.Submitted
		into.Done += m.Done
		into.Failed += m.Failed
		into.Retried += m.Retried
		into.Crashed += m.Crashed
	}
	return now, before
}

// frame is the picture of a snapshot, line by line.
func (s *snapshot) frame(w *cli.World) []string {
	now, before := s.rates()
	rate := func(name string, n, b int64) string {
		return fmt.Sprintf("%s %s (%s)", name, cli.Thousands(n), cli.Thousands(b))
	}
	list := []string{
		w.Paint(cli.Bold, "outlast top") + "  " + cli.Clean(s.Info.Engine+" "+s.Info.Namespace) + "  " + s.At.UTC().Format("2006-01-02 15:04:05Z") + "  " + w.Paint(cli.Dim, "q ends it"),
		w.Paint(cli.Dim, "this minute (the one before): ") + strings.Join([]string{
			rate("submitted", now.Submitted, before.Submitted), rate("done", now.Done, before.Done), rate("failed", now.Failed, before.Failed),
			rate("retried", now.Retried, before.Retried), rate("crashed", now.Crashed, before.Crashed),
		}, "  "),
	}
	plain := *w
	plain.Width = 0 // lines are cut as a whole
	part := func(headings []string, rows [][]cli.Cell, most int) {
		if len(rows) == 0 {
			return
		}
		more := len(rows) - most
		list = append(list, "")
		list = append(list, plain.Rows(headings, rows[:min(len(rows), most)])...)
		if more > 0 {
			list = append(list, w.Paint(cli.Dim, fmt.Sprintf("… and %d more", more)))
		}
	}
	var queues, workers, running, failed [][]cli.Cell
	for _, q := range s.Queues {
		queues = append(queues, queueRow(q, s.At))
	}
	for _, worker := range s.Workers {
		if worker.Death != store.DeathLeft {
			workers = append(workers, workerRow(worker, s.At))
		}
	}
	for i := range s.Running {
		running = append(running, taskRow(&s.Running[i], s.At))
	}
	for i := range s.Failed {
		failed = append(failed, taskRow(&s.Failed[i], s.At))
	}
	part(queueHeadings, queues, 12)
	part(workerHeadings, workers, 10)
	part(taskHeadings, running, 10)
	part(taskHeadings, failed, 5)
	return list
}

// clip cuts a line with colours to a width.
func clip(line string, width int) string {
	if width <= 0 {
		return line
	}
	var b strings.Builder
	seen, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case seen == width:
			continue
		default:
			seen++
		}
		b.WriteRune(r)
	}
	return b.String()
}

func top(ctx context.Context, l *cli.Line) error {
	return with(ctx, l, want{}, func(d ops.Operator) error {
		in, ok1 := l.In.(*os.File)
		out, ok2 := l.Out.(*os.File)
		if ok1 && ok2 && l.Terminal && !l.On("once") && !l.AsJSON() {
			return watchTop(ctx, l, d, in, out)
		}
		s, err := photograph(ctx, d)
		if err != nil {
			return err
		}
		if l.AsJSON() {
			return l.JSON(viewTop(&s))
		}
		for _, line := range s.frame(&l.World) {
			l.Say("%s", line)
		}
		return nil
	})
}

// watchTop draws until somebody types q or ctx ends, and leaves the terminal as it was.
func watchTop(ctx context.Context, l *cli.Line, d ops.Operator, in, out *os.File) error {
	keys, restore, err := cli.Keys(in)
	if err != nil {
		return err
	}
	_, _ = io.WriteString(out, "\x1b[?1049h\x1b[?25l") // another screen, without a cursor
	defer func() {
		_, _ = io.WriteString(out, "\x1b[?25h\x1b[?1049l")
		restore()
	}()
	var list []string
	var due time.Time
	width, height := 0, 0
	for ctx.Err() == nil {
		fresh := false
		if !l.Now().Before(due) {
			list, fresh = picture(ctx, l, d, list), true
			due = l.Now().Add(max(l.Span("every"), 100*time.Millisecond))
		}
		if w, h := cli.Size(out); fresh || w != width || h != height {
			width, height = w, h
			draw(out, list, w, h)
		}
		key, err := keys() // waits for a moment
		if err != nil || key == 'q' || key == 'Q' || key == 3 || key == 4 {
			return err
		}
	}
	return nil
}

// picture looks, and draws; if the store does not answer, what was there last stays, with a line that says so.
func picture(ctx context.Context, l *cli.Line, d ops.Operator, last []string) []string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	s, err := photograph(ctx, d)
	if err == nil {
		return s.frame(&l.World)
	}
	if len(last) == 0 {
		last = []string{""}
	}
	text := l.Paint(cli.Red, "the store does not answer: ") + cli.Mask(cli.OneLine(err.Error()))
	return append([]string{text}, last[1:]...)
}

func draw(out io.Writer, list []string, width, height int) {
	var b strings.Builder
	b.WriteString("\x1b[H")
	for i, line := range list {
		if height > 0 && i == height {
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(clip(line, width) + "\x1b[0m\x1b[K")
	}
	b.WriteString("\x1b[J")
	_, _ = io.WriteString(out, b.String()) // a terminal that is gone sees nothing
}

// topView is a snapshot as it is printed for programs.
type topView struct {
	At      time.Time    `json:"at"`
	Queues  []queueView  `json:"queues"`
	Workers []workerView `json:"workers"`
	Running []taskView   `json:"running"`
	Failed  []taskView   `json:"failed"`
	Stats   []any        `json:"stats"`
}

func viewTop(s *snapshot) topView {
	v := topView{At: s.At.UTC(), Queues: []queueView{}, Workers: []workerView{}, Running: []taskView{}, Failed: []taskView{}, Stats: []any{}}
	for _, q := range s.Queues {
		v.Queues = append(v.Queues, viewQueue(q))
	}
	for _, w := range s.Workers {
		v.Workers = append(v.Workers, viewWorker(w, s.At))
	}
	for i := range s.Running {
		v.Running = append(v.Running, viewTask(&s.Running[i]))
	}
	for i := range s.Failed {
		v.Failed = append(v.Failed, viewTask(&s.Failed[i]))
	}
	for _, m := range s.Minute {
		v.Stats = append(v.Stats, viewStat(m))
	}
	return v
}
