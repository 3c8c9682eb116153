package web

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

var funcs = template.FuncMap{
	"short": short,
	"num":   func(n any) string { return number(toInt(n)) },
	"upto":  func(n int64) string { return counted(n).String() },
	"span":  span,
	"at":    func(now clock, t time.Time) moment { return now.at(t) },
	"in":    func(now clock, d time.Duration) moment { return now.at(time.Time(now).Add(d)) },
	"act":   newAct,
	"with":  func(a act, pairs ...string) act { return a.with(pairs...) },
	"link":  link,
	"hint":  stateHint,
	"pct":   percent,
	"dict":  dict,
	"list":  func(items ...string) []string { return items },
	"join":  strings.Join,
	"plus":  func(n int, more bool) string { return number(int64(n)) + map[bool]string{true: "+"}[more] },
	"many":  plural,
	"f1":    func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) },
}

func toInt(n any) int64 {
	switch v := n.(type) {
	case int:
		return int64(v)
	case int64:
		return v
	}
	return 0
}

// number writes thousands apart.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// tallied counts what a store counts up to a limit: a sum of such counts may be less than there is.
type tallied struct {
	n    int64
	more bool
}

func counted(counts ...int64) (t tallied) {
	for _, n := range counts {
		t.n += n
		t.more = t.more || n >= kernel.CountLimit
	}
	return t
}

func (t tallied) String() string {
	if t.more {
		return number(t.n) + "+"
	}
	return number(t.n)
}

// plural says how many there are of something.
func (t tallied) plural(one, more string) string {
	if t.more {
		return t.String() + " " + more
	}
	return plural(t.n, one, more)
}

func plural(n any, one, more string) string {
	if toInt(n) == 1 {
		return "1 " + one
	}
	return number(toInt(n)) + " " + more
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "0"
	}
	return strconv.FormatFloat(math.Floor(float64(part)*1000/float64(whole))/10, 'f', -1, 64)
}

// span writes a duration with two units at most.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + span(-d)
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < 24*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

func two(d, large time.Duration, first string, small time.Duration, second string) string {
	text := fmt.Sprintf("%d %s", d/large, first)
	if rest := d % large / small; rest > 0 && d/large < 10 {
		text += fmt.Sprintf(" %d %s", rest, second)
	}
	return text
}

// clock is the time by the store when a page was made.
type clock time.Time

// moment is an instant as it is shown: how long ago, and exactly.
type moment struct{ Text, Exact, Machine string }

func (c clock) at(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	t = t.UTC()
	return moment{Text: relative(time.Time(c).Sub(t)), Exact: t.Format("2006-01-02 15:04:05.000 UTC"), Machine: t.Format(time.RFC3339Nano)}
}

// relative says how long ago something was, coarsely. app.js says the same.
func relative(ago time.Duration) string {
	if ago < 0 {
		if ago > -time.Second {
			return "now"
		}
		return "in " + coarse(-ago)
	}
	if ago < time.Second {
		return "just now"
	}
	return coarse(ago) + " ago"
}

func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d d", d/(24*time.Hour))
}

// hints say what a state means, for who does not know.
var hints = map[kernel.TaskState]string{
	"scheduled": "waits for its time", "ready": "waits for a worker", "running": "a worker runs it", "ending": "its outcome is being written",
	"parked": "waits for a wake, holds no slot", "held": "waits for its group or an operator", "done": "ended well",
	"failed": "ended for good; kept until somebody retries or deletes it", "cancelled": "ended before it was done",
}

func stateHint(s any) string { return hints[kernel.TaskState(fmt.Sprint(s))] }

func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict takes pairs, and was given %d values", len(pairs))
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m, nil
}

// act is a button that does something.
type act struct {
	Verb, Label, Name string // Name tells a screen reader what it is done to
	Back              string
	Fields            []field
	Danger            bool
}

type field struct{ Name, Value string }

// newAct makes a button: a verb, its label, where to go afterwards, and pairs of fields.
func newAct(verb, label, back string, pairs ...string) act {
	a := act{Verb: verb, Label: label, Back: back, Danger: dangerous[verb]}
	return a.with(pairs...)
}

func (a act) with(pairs ...string) act {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == "name" {
			a.Name = pairs[i+1]
			continue
		}
		a.Fields = append(a.Fields, field{pairs[i], pairs[i+1]})
	}
	return a
}
