package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// deadSample is what is known of the tasks that have failed: the newest.
type deadSample struct {
	Tasks []kernel.Task
	Count int
	More  bool
}

// deadSample reads the newest that have failed, so many at most.
func (q *request) deadSample(ctx context.Context, most int) (deadSample, error) {
	return once(ctx, &q.h.reads, "dead/"+strconv.Itoa(most), 3*time.Second, func(ctx context.Context) (deadSample, error) {
		var d deadSample
		page := kernel.PageRequest{Limit: most}
		for { // twice at most: those whose ids tell their time, and the others
			p, err := q.newest(ctx, kernel.Filter{States: []kernel.TaskState{"failed"}}, page)
			if err != nil {
				return d, err
			}
			d.Tasks = append(d.Tasks, p.Items...)
			d.Count, d.More = len(d.Tasks), p.Cursor != ""
			page.Cursor, page.Limit = p.Cursor, most-d.Count
			if !d.More || page.Limit <= 0 {
				return d, nil
			}
		}
	})
}

// deadFew is as much of it as the overview needs.
func (q *request) deadFew(ctx context.Context) (deadSample, error) {
	return q.deadSample(ctx, sampleFew)
}

// cause is why tasks have failed, as far as it is the same.
type cause struct {
	Key     string // names it in an address
	Kind    string
	Type    string
	Text    string
	Count   int
	Newest  time.Time
	Oldest  time.Time
	Example kernel.ID
	Where   string
	Open    bool
}

// varying matches what differs between errors of one cause: ids, numbers, addresses, times. A status is matched with its word, and stays.
var varying = regexp.MustCompile(`(?i:\b(?:status|code|http)[ :=]+\d{3}\b)|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]+|\b[0-9a-fA-F]{16,}\b|\d+(\.\d+)*`)

// alike is what stands for something that varies.
func alike(text string) string {
	if strings.ContainsAny(text, " :=") {
		return text
	}
	return "#"
}

// causeOf tells what a task failed of: its kind, its error's type, and the text without what varies.
func causeOf(t *kernel.Task) cause {
	c := cause{Kind: t.Kind, Text: t.Reason}
	if t.Error != nil {
		first, _, _ := strings.Cut(t.Error.Message, "\n")
		c.Type, c.Text = t.Error.Type, varying.ReplaceAllStringFunc(first, alike)
	}
	if r := []rune(c.Text); len(r) > 200 {
		c.Text = string(r[:200]) + "…"
	}
	sum := sha256.Sum256([]byte(c.Kind + "\x00" + c.Type + "\x00" + c.Text))
	c.Key = hex.EncodeToString(sum[:6])
	return c
}

func causes(tasks []kernel.Task) []cause {
	byKey := map[string]*cause{}
	for i := range tasks {
		t := &tasks[i]
		c := causeOf(t)
		have := byKey[c.Key]
		if have == nil {
			c.Example, c.Newest, c.Oldest = t.ID, t.EndedAt, t.EndedAt
			have = &c
			byKey[c.Key] = have
		}
		have.Count++
		if t.EndedAt.After(have.Newest) {
			have.Newest, have.Example = t.EndedAt, t.ID
		}
		if t.EndedAt.Before(have.Oldest) {
			have.Oldest = t.EndedAt
		}
	}
	list := make([]cause, 0, len(byKey))
	for _, c := range byKey {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b cause) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Key, b.Key)) })
	return list
}

type deadView struct {
	Causes   []cause
	Rows     []taskRow
	Count    int
	More     bool
	Cause    *cause // the one that is looked at
	Next     string
	Selected string
}

func deadPage(ctx context.Context, q *request, _ string) (*page, error) {
	sample, err := q.deadSample(ctx, sampleMost)
	if err != nil {
		return nil, err
	}
	d := deadView{Causes: causes(sample.Tasks), Count: sample.Count, More: sample.More, Selected: q.r.URL.Query().Get("cause")}
	shown := sample.Tasks
	for i := range d.Causes {
		c := &d.Causes[i]
		c.Where = link("/dead", "cause", c.Key)
		if c.Key == d.Selected {
			c.Open, d.Cause = true, c
			shown = slices.DeleteFunc(slices.Clone(shown), func(t kernel.Task) bool { return causeOf(&t).Key != c.Key })
		}
	}
	if len(shown) > pageRows {
		shown = shown[:pageRows]
		if d.Cause == nil {
			d.Next = link("/tasks", "state", "failed")
		} else {
			d.Next = link("/tasks", "state", "failed", "kind", d.Cause.Kind)
		}
	}
	d.Rows = q.rows(shown)
	return &page{Title: "Dead letter", Nav: "dead", Name: "dead", D: d}, nil
}
