package web

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

var states = []kernel.TaskState{"scheduled", "ready", "running", "parked", "held", "done", "failed", "cancelled"}

// filter is what a list of tasks is asked for, as it stands in the address.
type filter struct {
	States                               []string
	Kind, Queue, Worker, Label, Unique   string
	Group, Parent, After, Before, Search string
	Oldest                               bool
	Cursor                               string
}

func readFilter(v url.Values) filter {
	f := filter{
		Kind: v.Get("kind"), Queue: v.Get("queue"), Worker: v.Get("worker"), Label: v.Get("label"), Unique: v.Get("unique"),
		Group: v.Get("group"), Parent: v.Get("parent"), After: v.Get("after"), Before: v.Get("before"), Search: strings.TrimSpace(v.Get("q")),
		Oldest: v.Get("order") == "oldest", Cursor: v.Get("cursor"),
	}
	for _, s := range v["state"] {
		if s != "" && !slices.Contains(f.States, s) {
			f.States = append(f.States, s)
		}
	}
	return f
}

// values is the filter as it stands in an address.
func (f filter) values() url.Values {
	v := url.Values{}
	for _, p := range []field{
		{"kind", f.Kind},
		{"queue", f.Queue},
		{"worker", f.Worker},
		{"label", f.Label},
		{"unique", f.Unique},
		{"group", f.Group},
		{"parent", f.Parent},
		{"after", f.After},
		{"before", f.Before},
		{"q", f.Search},
		{"cursor", f.Cursor},
	} {
		if p.Value != "" {
			v.Set(p.Name, p.Value)
		}
	}
	if f.Oldest {
		v.Set("order", "oldest")
	}
	for _, s := range f.States {
		v.Add("state", s)
	}
	return v
}

// Link is the address of the list.
func (f filter) Link() string {
	if v := f.values(); len(v) > 0 {
		return "/tasks?" + v.Encode()
	}
	return "/tasks"
}

// Has reports whether a state is among those that are asked for.
func (f filter) Has(state kernel.TaskState) bool { return slices.Contains(f.States, string(state)) }

// Only is the filter with one state instead of those it has, or with none.
func (f filter) Only(state string) string {
	f.States, f.Cursor = nil, ""
	if state != "" {
		f.States = []string{state}
	}
	return f.Link()
}

// Any reports whether anything is asked for.
func (f filter) Any() bool {
	f.Cursor, f.Oldest = "", false
	return len(f.values()) > 0
}

// More reports whether something is asked for that stands behind the fold.
func (f filter) More() bool {
	return f.Worker+f.Label+f.Unique+f.Group+f.Parent+f.After+f.Before != ""
}

// kernel makes of it what the kernel asks for.
func (f filter) kernel(known []string) (kernel.Filter, error) {
	out := kernel.Filter{Queue: f.Queue, Worker: f.Worker, Unique: f.Unique}
	for _, s := range f.States {
		if !slices.Contains(states, kernel.TaskState(s)) {
			return out, fmt.Errorf("%w: there is no state %.40q", kernel.ErrInvalid, s)
		}
		out.States = append(out.States, kernel.TaskState(s))
	}
	if f.Kind != "" {
		out.Kinds = matching(known, f.Kind)
	}
	if f.Label != "" {
		name, value, ok := strings.Cut(f.Label, "=")
		if !ok || name == "" {
			return out, fmt.Errorf("%w: a label is name=value, not %.60q", kernel.ErrInvalid, f.Label)
		}
		out.Labels = map[string]string{name: value}
	}
	if f.Unique != "" && len(out.Kinds) != 1 {
		return out, fmt.Errorf("%w: to find a task by its unique key, name its kind as well", kernel.ErrInvalid)
	}
	var err error
	for _, p := range []struct {
		text string
		id   *kernel.ID
	}{{f.Group, &out.Group}, {f.Parent, &out.Parent}} {
		if *p.id, err = kernel.ParseID(p.text); err != nil {
			return out, fmt.Errorf("%w: %.60q is no id", kernel.ErrInvalid, p.text)
		}
	}
	for _, p := range []struct {
		text string
		at   *time.Time
	}{{f.After, &out.After}, {f.Before, &out.Before}} {
		if *p.at, err = readTime(p.text); err != nil {
			return out, err
		}
	}
	return out, nil
}

// readTime reads what a field of a form for times sends, in UTC, or a full time.
func readTime(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano, "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: %.40q is no time such as 2026-01-31T12:00", kernel.ErrInvalid, text)
}

// matching lists the known kinds that a text means: those that have it in them if it ends in *, else that kind alone.
func matching(known []string, text string) []string {
	part, wide := strings.CutSuffix(text, "*")
	if !wide {
		return []string{text}
	}
	part = strings.TrimPrefix(part, "*")
	var list []string
	for _, k := range known {
		if strings.Contains(k, part) {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		return []string{text}
	}
	return list
}
