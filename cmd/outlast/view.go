package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/test/crash"
)

// view shows how a demo goes: live on a terminal, as plain lines anywhere else.
type view struct {
	out   io.Writer
	o     demoOptions
	live  bool
	mu    sync.Mutex
	lines int // drawn the last time
	last  crash.Status
	said  time.Duration
	event string
}

// colours are what NO_COLOR takes away.
var colours = regexp.MustCompile("\x1b\\[[0-9]+m")

func newView(out io.Writer, o demoOptions) *view {
	v := &view{out: out, o: o}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		v.live = err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	}
	return v
}

// show takes in how it stands now.
func (v *view) show(s crash.Status) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last = s
	if v.live {
		v.draw(s)
		return
	}
	if s.Event != v.event || s.Elapsed-v.said >= 2*time.Second {
		v.say(s)
	}
}

// say prints one plain line.
func (v *view) say(s crash.Status) {
	v.said = s.Elapsed
	text := fmt.Sprintf("%6.1fs  done %s of %s, kills %d, stops %d, put back %d, refused %d",
		s.Elapsed.Seconds(), number(s.Done), number(max(s.Tasks, s.Submitted)), s.Kills, s.Stops, s.Recovered, s.Refused)
	if s.Event != v.event {
		v.event = s.Event
		text += "  " + s.Event
	}
	fmt.Fprintln(v.out, text)
}

// draw repaints the terminal.
func (v *view) draw(s crash.Status) {
	var b strings.Builder
	if v.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", v.lines)
	}
	rows := v.rows(s)
	for _, row := range rows {
		if os.Getenv("NO_COLOR") != "" {
			row = colours.ReplaceAllString(row, "")
		}
		b.WriteString("\x1b[2K" + row + "\n")
	}
	v.lines = len(rows)
	_, _ = io.WriteString(v.out, b.String()) // a terminal that is gone sees nothing
}

func (v *view) rows(s crash.Status) []string {
	total := max(s.Tasks, s.Submitted, 1)
	share := min(float64(s.Done)/float64(total), 1)
	const width = 40
	full := int(share * width)
	rate := float64(s.Done) / max(s.Elapsed.Seconds(), 0.1)
	rows := []string{
		fmt.Sprintf("\x1b[1moutlast demo\x1b[0m  %s  %.1f s", cli.Mask(v.o.store), s.Elapsed.Seconds()),
		fmt.Sprintf("\x1b[32m%s\x1b[90m%s\x1b[0m %3d%%  %s of %s done, %s per second",
			strings.Repeat("█", full), strings.Repeat("░", width-full), int(100*share), number(s.Done), number(total), number(int(rate))),
		fmt.Sprintf("kills \x1b[31m%d\x1b[0m of %d   stops \x1b[33m%d\x1b[0m of %d   put back %d   late outcomes refused %d",
			s.Kills, v.o.kills, s.Stops, v.o.stops, s.Recovered, s.Refused),
		workersRow(s.Workers),
		"\x1b[90m" + s.Event + "\x1b[0m",
	}
	return rows
}

// workersRow shows the workers that live, and how many do not.
func workersRow(all []crash.WorkerStatus) string {
	var parts []string
	gone := 0
	for _, w := range all {
		switch w.State {
		case "killed", "ended":
			gone++
		case "stopped":
			parts = append(parts, fmt.Sprintf("\x1b[33m%s stopped\x1b[0m", w.Name))
		default:
			parts = append(parts, fmt.Sprintf("%s %d running", w.Name, w.Started))
		}
	}
	row := "workers: " + strings.Join(parts, ", ")
	if len(parts) == 0 {
		row = "workers: none"
	}
	if gone > 0 {
		row += fmt.Sprintf(" \x1b[90m(%d gone)\x1b[0m", gone)
	}
	return row
}

// close leaves the terminal as it should be.
func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.live && v.last.Elapsed > 0 {
		v.say(v.last)
	}
}

// tell prints a report for people.
func tell(out io.Writer, r crash.Report) {
	fmt.Fprintf(out, "\n%s tasks were accepted; %s ended as they should, in %.1f s.\n", number(r.Tasks), number(r.Done), r.Seconds)
	fmt.Fprintf(out, "%d workers were killed, %d stopped and woken.\n\n", r.Kills, r.Stops)
	for _, row := range []struct {
		what  string
		value string
		why   string
	}{
		{"lost", number(r.Lost), "accepted, and did not end or was done by nobody"},
		{"completed twice", number(r.CompletedTwice), "two endings of one task were both accepted"},
		{"robbed while alive", number(r.RobbedLive), "workers declared dead that ran"},
		{"late outcomes refused", number(r.FencedRefused), "a worker came back and could not spoil what others had done"},
		{"put back", number(r.Recovered), "tasks of dead workers that went on elsewhere"},
		{"recovery", recoveryText(r.Recovery), "from the kill to running elsewhere"},
	} {
		fmt.Fprintf(out, "  %-22s %-34s %s\n", row.what, row.value, row.why)
	}
	for _, f := range r.Findings {
		fmt.Fprintf(out, "  ! %s\n", f)
	}
	verdict := "Nothing was lost, nothing was completed twice, nobody alive was robbed."
	if !r.Good() {
		verdict = "THE PROMISES WERE BROKEN: see above. Please report this with the seed."
	}
	fmt.Fprintf(out, "\n%s\n", verdict)
}

func recoveryText(r crash.Recovery) string {
	if r.Count == 0 {
		return "nothing had to be recovered"
	}
	return fmt.Sprintf("p50 %.0f ms, p99 %.0f ms, max %.0f ms", r.P50, r.P99, r.Max)
}

// number writes a number with its thousands apart.
func number(n int) string { return cli.Thousands(int64(n)) }
