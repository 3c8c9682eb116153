package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/store"
)

var stateWords = []string{"scheduled", "ready", "running", "parked", "held", "done", "failed", "cancelled"}

// filterFlags pick tasks.
func filterFlags() []cli.Flag {
	return []cli.Flag{
		{Name: "state", Kind: cli.Many, Value: "STATE", Words: stateWords, Help: "tasks in this state"},
		{Name: "kind", Kind: cli.Many, Value: "KIND", Help: "tasks of this kind"},
		{Name: "queue", Value: "QUEUE", Help: "tasks of this queue"},
		{Name: "group", Value: "ID", Help: "members of this group"},
		{Name: "parent", Value: "ID", Help: "what follows this task, or belongs to it"},
		{Name: "worker", Value: "WORKER", Help: "what this worker runs"},
		{Name: "label", Kind: cli.Many, Value: "NAME=VALUE", Help: "tasks with this label"},
		{Name: "key", Value: "KEY", Help: "the task of this unique key; needs one --kind"},
		{Name: "since", Value: "TIME", Help: "created at or after it: 2h, 2026-01-31 or 2026-01-31T12:00:00Z"},
		{Name: "until", Value: "TIME", Help: "created before it"},
	}
}

// filtered reports whether a flag of the filter was given.
func filtered(l *cli.Line) bool {
	return slices.ContainsFunc(filterFlags(), func(f cli.Flag) bool { return l.Given(f.Name) })
}

// filterOf reads the flags of the filter. Ages are told by now.
func filterOf(l *cli.Line, now time.Time) (f store.Filter, err error) {
	f = store.Filter{Kinds: l.Many("kind"), Queue: l.Text("queue"), Worker: l.Text("worker"), Unique: l.Text("key")}
	for _, s := range l.Many("state") {
		f.States = append(f.States, store.State(s))
	}
	if f.Unique != "" && len(f.Kinds) != 1 {
		return f, cli.Misused("--key needs exactly one --kind: keys of different kinds do not meet")
	}
	for name, into := range map[string]*store.ID{"group": &f.Group, "parent": &f.Parent} {
		if l.Given(name) {
			if *into, err = parseID(l.Text(name)); err != nil {
				return f, err
			}
		}
	}
	for _, label := range l.Many("label") {
		name, value, ok := strings.Cut(label, "=")
		if !ok {
			return f, cli.Misused("--label is %q; write it as NAME=VALUE", label)
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[name] = value
	}
	for name, into := range map[string]*time.Time{"since": &f.After, "until": &f.Before} {
		if l.Given(name) {
			if *into, err = parseTime(name, l.Text(name), now); err != nil {
				return f, err
			}
		}
	}
	return f, nil
}

// parseTime reads a time, or an age.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cli.Misused("--%s is %q; write it as an age (2h) or as a time (2026-01-31, 2026-01-31T12:00:00Z)", flag, text)
}

// parseID reads an id that somebody typed.
func parseID(text string) (store.ID, error) {
	id, err := store.ParseID(strings.TrimSpace(text))
	if err != nil || id.IsZero() {
		return id, cli.Misused("%q is not an id; an id looks like 0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c", text)
	}
	return id, nil
}

// parseIDs reads the arguments of a command as ids.
func parseIDs(args []string) (ids []store.ID, err error) {
	for _, text := range args {
		id, err := parseID(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// describe says in words what a filter picks.
func describe(f store.Filter) string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	var states []string
	for _, s := range f.States {
		states = append(states, string(s))
	}
	add("state", strings.Join(states, " or "))
	add("kind", strings.Join(f.Kinds, " or "))
	add("queue", f.Queue)
	add("group", f.Group.String())
	add("parent", f.Parent.String())
	add("worker", f.Worker)
	for name, value := range f.Labels {
		add("label", name+"="+value)
	}
	add("key", f.Unique)
	if !f.After.IsZero() {
		add("since", f.After.UTC().Format(time.RFC3339))
	}
	if !f.Before.IsZero() {
		add("until", f.Before.UTC().Format(time.RFC3339))
	}
	if len(parts) == 0 {
		return "all"
	}
	return fmt.Sprintf("(%s)", strings.Join(parts, ", "))
}
