package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

// findingView is a finding as it is printed for programs.
type findingView struct {
	Rule   string `json:"rule"`
	ID     string `json:"id"`
	Text   string `json:"text"`
	Repair string `json:"repair"` // possible, none; mended, left
	Advice string `json:"advice,omitempty"`
}

// What can be said of the repair of a finding.
const (
	repairable = "possible"
	hopeless   = "none"
	mended     = "mended"
	left       = "left"
)

// advice is what to do about findings that nothing mends.
var advice = map[string]string{
	"orphan": "a process that works on the store puts it back within a minute: start one",
	"onend":  "what should have followed is not there: submit it by hand, or retry the task",
	"close":  "what should have followed is not there: submit it by hand, or retry a member",
	"inbox":  "delete the task, or retry it",
	"order":  "let all but the first end: they run beside each other",
}

const usualAdvice = "the record itself is wrong: look at it with \"outlast show\", and report it with what happened before"

func check(ctx context.Context, l *cli.Line) error {
	if l.On("dry-run") && !l.On("repair") {
		return cli.Misused("--dry-run is for --repair; without it nothing is changed anyway")
	}
	return withStore(ctx, l, want{}, func(d *ops.Direct) error {
		begin := l.Now()
		findings, err := fsck.Check(ctx, d.Store())
		if err != nil {
			return err
		}
		if len(findings) == 0 {
			if !l.AsJSON() {
				l.Say("nothing was found, in %s", cli.Coarse(l.Now().Sub(begin).Round(time.Millisecond)))
			}
			return nil
		}
		list := viewFindings(findings, nil, false)
		if l.On("repair") && !l.On("dry-run") {
			if _, err := fsck.Repair(ctx, d.Store(), findings); err != nil {
				return err
			}
			after, err := fsck.Check(ctx, d.Store())
			if err != nil {
				return err
			}
			list = viewFindings(findings, after, true)
		}
		if err := printFindings(l, list); err != nil {
			return err
		}
		return verdict(l, list)
	})
}

// viewFindings says of each finding what became of it, or could; after are those of a second look, once what can be was mended.
func viewFindings(before, after []fsck.Finding, repaired bool) (list []findingView) {
	for _, f := range before {
		v := findingView{Rule: f.Rule, ID: f.ID, Text: f.Text, Repair: repairable}
		switch {
		case repaired && !slices.Contains(after, f):
			v.Repair = mended
		case repaired:
			v.Repair = left
		case f.Repair == (store.Repair{}):
			v.Repair = hopeless
		}
		list = append(list, v)
	}
	for _, f := range after {
		if !slices.Contains(before, f) {
			list = append(list, findingView{Rule: f.Rule, ID: f.ID, Text: f.Text, Repair: left})
		}
	}
	for i := range list {
		if list[i].Repair == hopeless || list[i].Repair == left {
			if list[i].Advice = advice[list[i].Rule]; list[i].Advice == "" {
				list[i].Advice = usualAdvice
			}
		}
	}
	return list
}

func printFindings(l *cli.Line, list []findingView) error {
	for _, f := range list {
		if l.AsJSON() {
			if err := l.JSON(f); err != nil {
				return err
			}
			continue
		}
		style := cli.Red
		if f.Repair == mended {
			style = cli.Green
		}
		l.Say("%s %s %s", l.Paint(style, f.Rule), cli.Clean(f.ID), cli.Clean(f.Text))
		switch {
		case f.Advice != "":
			l.Say("  %s %s", l.Paint(cli.Dim, "→"), f.Advice)
		case f.Repair == mended:
			l.Say("  %s mended", l.Paint(cli.Dim, "→"))
		default:
			l.Say("  %s \"outlast fsck --repair\" mends it", l.Paint(cli.Dim, "→"))
		}
	}
	return nil
}

// verdict is how it ended: an error as long as something is wrong.
func verdict(l *cli.Line, list []findingView) error {
	count := map[string]int{}
	for _, f := range list {
		count[f.Repair]++
	}
	switch {
	case l.On("dry-run"):
		return fmt.Errorf("%s findings: %s would be mended, %s not", number(len(list)), number(count[repairable]), number(count[hopeless]))
	case !l.On("repair"):
		return fmt.Errorf("%s findings; --repair mends %s of them", number(len(list)), number(count[repairable]))
	case count[left] > 0:
		return fmt.Errorf("%s findings were mended, %s are left; please report them, with what happened before", number(count[mended]), number(count[left]))
	}
	if !l.AsJSON() {
		l.Say("%s findings were mended, none is left", number(count[mended]))
	}
	return nil
}
