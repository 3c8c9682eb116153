package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

// bulkLanes is how many tasks are changed at the same time.
const bulkLanes = 8

// verb is something that is done to tasks, to those that are named or to all that a filter picks.
type verb struct {
	name, past string
	short      string
	states     []store.State // that it is for; a filter without states means these
	must       bool          // a filter must name states
	reason     bool          // has --reason
	do         func(ctx context.Context, d ops.Operator, id store.ID, reason string) error
}

// verbs are what can be done to many tasks.
var verbs = []verb{
	{
		name: "retry", past: "retried", short: "make failed or cancelled tasks ready again, with all their attempts before them",
		states: []store.State{store.Failed},
		do: func(ctx context.Context, d ops.Operator, id store.ID, _ string) error {
			return d.Retry(ctx, id)
		},
	},
	{
		name: "cancel", past: "cancelled", short: "end tasks that wait, and ask those that run to end",
		states: []store.State{store.Scheduled, store.Ready, store.Running, store.Parked, store.Held}, reason: true,
		do: func(ctx context.Context, d ops.Operator, id store.ID, reason string) error {
			_, err := d.Cancel(ctx, id, reason)
			return err
		},
	},
	{
		name: "free", past: "freed", short: "let tasks go on that are held for an operator",
		states: []store.State{store.Held},
		do: func(ctx context.Context, d ops.Operator, id store.ID, _ string) error {
			return d.Free(ctx, id)
		},
	},
	{
		name: "delete", past: "deleted", short: "remove tasks that have ended", must: true,
		states: []store.State{store.Done, store.Failed, store.Cancelled},
		do: func(ctx context.Context, d ops.Operator, id store.ID, _ string) error {
			return d.Delete(ctx, id)
		},
	},
}

func bulkCommands() (list []*cli.Command) {
	for _, v := range verbs {
		flags := slices.Concat(filterFlags(), []cli.Flag{
			{Name: "dry-run", Kind: cli.Switch, Help: "say what would be done, and do nothing"},
			{Name: "yes", Short: "y", Kind: cli.Switch, Help: "do not ask before doing it to what a filter picks"},
		})
		if v.reason {
			flags = append(flags, cli.Flag{Name: "reason", Value: "TEXT", Help: "why; it stands in the record"})
		}
		list = append(list, &cli.Command{
			Name: v.name, Short: v.short, Args: cli.Args{Usage: "[ID ...]", Max: -1},
			Long: "Tasks are named by their ids, or picked by the flags of a filter. What a filter picks is counted, and asked about, before anything is\n" +
				"done; what has moved on meanwhile is passed over. Without --state a filter picks " + v.usual() + ".",
			Flags:   targetFlags(flags...),
			Example: fmt.Sprintf("outlast %s 0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c\noutlast %s --state %s --kind job.welcome --since 24h --dry-run", v.name, v.name, v.states[0]),
			Run:     v.run,
		})
	}
	return list
}

// usual says which states a filter means that names none.
func (v verb) usual() string {
	if v.must {
		return "nothing: say which"
	}
	var words []string
	for _, s := range v.states {
		words = append(words, string(s))
	}
	return "what is " + strings.Join(words, ", ")
}

// bulkReport is what became of it, as it is printed for programs.
type bulkReport struct {
	Verb    string   `json:"verb"`
	Matched int      `json:"matched"`
	Done    int      `json:"done"`
	Passed  int      `json:"passed"` // not in a state for it, or gone by now
	Failed  int      `json:"failed"`
	DryRun  bool     `json:"dry_run,omitempty"`
	Errors  []string `json:"errors,omitempty"` // the first ones
}

func (v verb) run(ctx context.Context, l *cli.Line) error {
	byFilter := filtered(l)
	switch {
	case byFilter && len(l.Args) > 0:
		return cli.Misused("name tasks by their ids or pick them by a filter, not both")
	case !byFilter && len(l.Args) == 0:
		return cli.Misused("say which: ids, or a filter such as --state %s", v.states[0])
	case byFilter && v.must && !l.Given("state"):
		return cli.Misused("say what may be deleted: --state done, failed or cancelled")
	}
	ids, err := parseIDs(l.Args)
	if err != nil {
		return err
	}
	return with(ctx, l, want{}, func(d ops.Operator) error {
		if byFilter {
			if ids, err = v.pick(ctx, l, d); err != nil {
				return err
			}
		}
		r := bulkReport{Verb: v.name, Matched: len(ids), DryRun: l.On("dry-run")}
		if !r.DryRun && byFilter && len(ids) > 0 && !l.On("yes") {
			ok, err := l.Confirm(fmt.Sprintf("%s %s tasks?", strings.ToUpper(v.name[:1])+v.name[1:], number(len(ids))))
			if err != nil || !ok {
				return errors.Join(err, refusal(err))
			}
		}
		if !r.DryRun {
			v.all(ctx, l, d, ids, &r)
		}
		return v.tell(ctx, l, r, !byFilter)
	})
}

// refusal is the end after somebody said no.
func refusal(err error) error {
	if err != nil {
		return nil
	}
	return errors.New("nothing was done")
}

// pick lists what the filter picks.
func (v verb) pick(ctx context.Context, l *cli.Line, d ops.Operator) (ids []store.ID, err error) {
	now, err := d.Now(ctx)
	if err != nil {
		return nil, err
	}
	f, err := filterOf(l, now)
	if err != nil {
		return nil, err
	}
	if len(f.States) == 0 {
		f.States = v.states
	}
	list := func(ctx context.Context, page store.PageRequest) (store.Page[store.Task], error) {
		return d.List(ctx, f, page)
	}
	err = ops.All(ctx, list, store.PageRequest{Limit: 1000, Oldest: true}, func(t store.Task) bool {
		ids = append(ids, t.ID)
		return true
	})
	return ids, err
}

// all does it to each, several at a time. An error of one does not stop the others; a store that is away does.
func (v verb) all(ctx context.Context, l *cli.Line, d ops.Operator, ids []store.ID, r *bulkReport) {
	var mu sync.Mutex
	var crew sync.WaitGroup
	reason := ""
	if v.reason {
		reason = l.Text("reason")
	}
	away := false
	for lane := range bulkLanes {
		crew.Go(func() {
			for i := lane; i < len(ids) && ctx.Err() == nil; i += bulkLanes {
				err := v.do(ctx, d, ids[i], reason)
				mu.Lock()
				r.count(err)
				away = away || err != nil && !store.Answered(err)
				stop := away
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	crew.Wait()
}

const errorsShown = 10

func (r *bulkReport) count(err error) {
	switch {
	case err == nil:
		r.Done++
		return
	case errors.Is(err, store.ErrState), errors.Is(err, store.ErrNotFound):
		r.Passed++
	default:
		r.Failed++
	}
	if len(r.Errors) < errorsShown {
		r.Errors = append(r.Errors, cli.Mask(cli.OneLine(err.Error())))
	}
}

// tell prints the report. Of tasks that were named it is an error if one was passed over; of a filter it is not.
func (v verb) tell(ctx context.Context, l *cli.Line, r bulkReport, named bool) error {
	bad := r.Failed > 0 || named && r.Passed > 0 || r.Done+r.Passed < r.Matched && !r.DryRun
	switch {
	case l.AsJSON():
		if err := l.JSON(r); err != nil {
			return err
		}
	case r.DryRun:
		l.Say("%s tasks would be %s", number(r.Matched), v.past)
	case !bad:
		text := fmt.Sprintf("%s tasks were %s", number(r.Done), v.past)
		if r.Passed > 0 {
			text += fmt.Sprintf(", %s had moved on and were passed over", number(r.Passed))
		}
		l.Say("%s", text)
	}
	if !bad {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %s of %s tasks were %s", number(r.Done), number(r.Matched), v.past)
	}
	return fmt.Errorf("%s of %s tasks were %s; the first that was not: %s", number(r.Done), number(r.Matched), v.past, r.Errors[0])
}
