package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

func tasksCommand() *cli.Command {
	return &cli.Command{
		Name: "tasks", Short: "list tasks, newest first",
		Long: "Without --all one page is printed; if there is more, the standard error tells the --cursor of the next one.",
		Flags: targetFlags(slices.Concat(filterFlags(), []cli.Flag{
			{Name: "limit", Kind: cli.Number, Default: "50", Min: 1, Help: "how many, at most 1000"},
			{Name: "cursor", Value: "CURSOR", Help: "go on where a page before has ended"},
			{Name: "all", Kind: cli.Switch, Help: "all of them, page by page"},
			{Name: "oldest", Kind: cli.Switch, Help: "oldest first"},
			{Name: "ids", Kind: cli.Switch, Help: "print the ids alone, one per line"},
		})...),
		Example: "outlast tasks --state failed --since 24h\noutlast tasks --kind job.welcome --label customer=7 --json\noutlast tasks --state failed --ids --all | xargs outlast retry",
		Run:     tasks,
	}
}

func tasks(ctx context.Context, l *cli.Line) error {
	if l.Number("limit") > 1000 {
		return cli.Misused("--limit is %d; it can be 1000 at most, or say --all", l.Number("limit"))
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		f, err := filterOf(l, now)
		if err != nil {
			return err
		}
		page := store.PageRequest{Limit: l.Number("limit"), Cursor: l.Text("cursor"), Oldest: l.On("oldest")}
		if l.On("all") {
			page.Limit = 1000
		}
		seen := 0
		for {
			p, err := d.List(ctx, f, page)
			if err != nil {
				return err
			}
			seen += len(p.Items)
			if err := printTasks(l, p.Items, now); err != nil {
				return err
			}
			page.Cursor = p.Cursor
			if page.Cursor == "" || !l.On("all") {
				break
			}
		}
		switch {
		case page.Cursor != "":
			fmt.Fprintf(l.Err, "there is more: --cursor %s, or --all\n", page.Cursor)
		case seen == 0 && !l.AsJSON() && !l.On("ids"):
			l.Say("no tasks %s", describe(f))
		}
		return nil
	})
}

var taskHeadings = []string{"ID", "STATE", "KIND", "QUEUE", "CREATED", "TRIES", "NOTE"}

func printTasks(l *cli.Line, list []store.Task, now time.Time) error {
	if l.On("ids") && !l.AsJSON() {
		for _, t := range list {
			l.Say("%s", t.ID)
		}
		return nil
	}
	return each(l, list, func(t store.Task) any { return viewTask(&t) }, taskHeadings, func(t store.Task) []cli.Cell { return taskRow(&t, now) })
}

func taskRow(t *store.Task, now time.Time) []cli.Cell {
	tries := strconv.Itoa(t.Attempts) + "/" + strconv.Itoa(max(t.Retry.Max, 1))
	if t.Crashes > 0 {
		tries += "+" + strconv.Itoa(t.Crashes) + "c"
	}
	return []cli.Cell{
		cli.C(t.ID.String()), cli.In(stateStyle(t.Read()), string(t.Read())), cli.C(t.Kind), cli.C(t.Queue), cli.C(cli.Ago(now, t.CreatedAt)),
		cli.C(tries), cli.In(cli.Dim, note(t, now)),
	}
}

// note is what is most worth knowing of a task.
func note(t *store.Task, now time.Time) string {
	switch {
	case t.State == store.Running && t.Progress.Total > 0:
		return fmt.Sprintf("%d of %d %s", t.Progress.Done, t.Progress.Total, t.Progress.Note)
	case t.State == store.Running:
		return "on " + t.Worker
	case (t.State == store.Scheduled || t.State == store.Parked) && !t.DueAt.IsZero():
		return "due " + cli.Ago(now, t.DueAt)
	case t.Error != nil && t.State != store.Done && t.Error.Message != "":
		return t.Error.Message
	}
	return t.Reason
}
