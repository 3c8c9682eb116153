package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Real is the world of this process.
func Real() World {
	w := World{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Now: time.Now}
	out := IsTerminal(os.Stdout)
	w.Terminal = out && IsTerminal(os.Stdin)
	w.Colour = out && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if out {
		w.Width, _ = Size(os.Stdout)
	}
	return w
}

// Plain is a world without a terminal.
func Plain(out, errs io.Writer) World {
	return World{In: strings.NewReader(""), Out: out, Err: errs, Getenv: os.Getenv, Now: time.Now}
}

// AsJSON reports whether the output is for programs.
func (w *Line) AsJSON() bool { return w.Has("json") && w.On("json") }

// JSON prints a value on one line.
func (w *World) JSON(v any) error {
	e := json.NewEncoder(w.Out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Style is how a text looks on a terminal.
type Style string

// The styles.
const (
	Normal Style = ""
	Bold   Style = "1"
	Dim    Style = "90"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
	Cyan   Style = "36"
)

// Paint makes a text safe to show, in a style if Out takes colours.
func (w *World) Paint(s Style, text string) string {
	text = Clean(text)
	if !w.Colour || s == Normal || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// Say prints one line for people.
func (w *World) Say(format string, args ...any) { fmt.Fprintf(w.Out, format+"\n", args...) }

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
	Right bool // numbers stand at the right
}

// C is a plain cell.
func C(text string) Cell { return Cell{Text: text} }

// In is a cell in a style.
func In(s Style, text string) Cell { return Cell{Text: text, Style: s} }

// N is a cell with a number.
func N[T int | int64](n T) Cell { return Cell{Text: Thousands(int64(n)), Right: true} }

// Table prints rows under their headings. On a terminal the last column is cut where the line ends.
func (w *World) Table(headings []string, rows [][]Cell) {
	for _, line := range w.Rows(headings, rows) {
		fmt.Fprintln(w.Out, line)
	}
}

// Rows are the lines of a table.
func (w *World) Rows(headings []string, rows [][]Cell) []string {
	wide := make([]int, len(headings))
	for i, h := range headings {
		wide[i] = len(h)
	}
	for _, row := range rows {
		for i, c := range row {
			wide[i] = max(wide[i], utf8.RuneCountInString(Clean(c.Text)))
		}
	}
	head := make([]Cell, len(headings))
	for i, h := range headings {
		head[i] = Cell{Text: h, Style: Dim}
		if len(rows) > 0 {
			head[i].Right = rows[0][i].Right
		}
	}
	lines := []string{w.row(head, wide)}
	for _, row := range rows {
		lines = append(lines, w.row(row, wide))
	}
	return lines
}

func (w *World) row(cells []Cell, wide []int) string {
	var b strings.Builder
	at := 0
	for i, c := range cells {
		text := Clean(c.Text)
		if i == len(cells)-1 && w.Width > at+1 {
			text = Cut(text, w.Width-at)
		}
		pad := strings.Repeat(" ", max(0, wide[i]-utf8.RuneCountInString(text)))
		switch {
		case c.Right:
			b.WriteString(pad + w.Paint(c.Style, text))
		case i == len(cells)-1:
			b.WriteString(w.Paint(c.Style, text))
		default:
			b.WriteString(w.Paint(c.Style, text) + pad)
		}
		if i < len(cells)-1 {
			b.WriteString("  ")
		}
		at += wide[i] + 2
	}
	return strings.TrimRight(b.String(), " ")
}

// Cut shortens a text to so many letters.
func Cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	letters := []rune(text)
	return string(letters[:max(n-1, 0)]) + "…"
}

// Thousands writes a number with its thousands apart.
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Ago writes how long ago something was, coarsely; a time to come as "in 5m". The zero time is "-".
func Ago(now, at time.Time) string {
	switch d := now.Sub(at); {
	case at.IsZero():
		return "-"
	case d < 0:
		return "in " + Coarse(-d)
	default:
		return Coarse(d) + " ago"
	}
}

// Coarse writes a duration with one unit, or two of small ones.
func Coarse(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Confirm asks somebody whether to go on. Where nobody can answer it is an error that names the flag to give instead.
func (w *World) Confirm(question string) (bool, error) {
	if !w.Terminal {
		return false, Misused("nobody is there to confirm it; say --yes, or --dry-run to see what would be done")
	}
	fmt.Fprintf(w.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(w.In).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(w.Err)
		return false, nil //nolint:nilerr // no answer is no
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
