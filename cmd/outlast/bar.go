package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
)

// bar shows how far a batch is: one line that is drawn again and again on a terminal, a line now and then anywhere else. It is written to the
// standard error.
type bar struct {
	l     *cli.Line
	began time.Time
	first int64 // rows that had ended when it began
	said  time.Time
	ended int64 // when it was said
	drawn bool
	rate  float64 // rows per second, the newest counting most
	last  time.Time
	seen  int64
}

func newBar(l *cli.Line) *bar { return &bar{l: l, began: l.Now(), first: -1} }

// every is how often it wants to be shown something new.
func (b *bar) every() time.Duration {
	if b.l.Terminal {
		return 200 * time.Millisecond
	}
	return time.Second
}

// show takes in how the batch stands.
func (b *bar) show(s batch.Status) {
	now, ended := b.l.Now(), s.Rows-s.Left()
	if b.first < 0 {
		b.first, b.last, b.seen = ended, now, ended
	}
	if d := now.Sub(b.last).Seconds(); d > 0 {
		const memory = 5.0 // seconds
		weight := min(d/memory, 1)
		b.rate += weight * (float64(ended-b.seen)/d - b.rate)
		b.last, b.seen = now, ended
	}
	if b.l.Terminal {
		fmt.Fprintf(b.l.Err, "\r\x1b[2K%s", b.line(s, ended))
		b.drawn = true
		return
	}
	if now.Sub(b.said) >= 5*time.Second || s.State.Ended() && ended != b.ended {
		b.said, b.ended = now, ended
		fmt.Fprintln(b.l.Err, b.line(s, ended))
	}
}

// line is how it stands, in one line.
func (b *bar) line(s batch.Status, ended int64) string {
	share := 1.0
	if s.Rows > 0 {
		share = float64(ended) / float64(s.Rows)
	}
	const width = 30
	full := int(share * width)
	rate := b.rate
	if whole := b.last.Sub(b.began).Seconds(); rate == 0 && whole > 0 {
		rate = float64(ended-b.first) / whole
	}
	text := fmt.Sprintf("%s%s %3d%%  %s of %s", b.l.Paint(cli.Green, strings.Repeat("█", full)), b.l.Paint(cli.Dim, strings.Repeat("░", width-full)),
		int(100*share), cli.Thousands(ended), cli.Thousands(s.Rows))
	if rate > 0 {
		text += fmt.Sprintf("  %.0f/s", rate)
	}
	if rate > 0 && s.Left() > 0 {
		text += "  " + cli.Coarse(time.Duration(float64(s.Left())/rate*float64(time.Second))) + " left"
	}
	if s.Failed > 0 {
		text += "  " + b.l.Paint(cli.Red, cli.Thousands(s.Failed)+" failed")
	}
	return text
}

// close leaves the terminal as it should be.
func (b *bar) close() {
	if b.drawn {
		fmt.Fprintln(b.l.Err)
	}
}
