package web

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// The box that charts are drawn in.
const (
	chartWide  = 340
	chartHigh  = 150
	chartLeft  = 40
	chartFoot  = 20
	chartTop   = 8
	chartParts = 60 // bars at most
)

// chart is a picture of numbers over time, as SVG that templates write.
type chart struct {
	Title, Unit, Says string // Says is what a screen reader is told
	Legend            []series
	Bars              []bar
	Lines             []line
	Marks             []mark // of the vertical axis
	Times             []mark // of the horizontal one
	Empty             bool
	W, H              int
	Rows              []chartRow // the same as a table
	PlotLeft, PlotW   int
	PlotTop, PlotH    int
}

type series struct{ Name, Class string }

type bar struct {
	X, Y, W, H  string
	Class, Text string
}

type line struct{ Class, Points string }

type mark struct {
	X, Y string
	Text string
}

type chartRow struct {
	At     time.Time
	Values []string
}

// bucket is some minutes together.
type bucket struct {
	At                                                   time.Time
	submitted, claimed, done, failed, cancelled, retried int64
	crashed                                              int64
	waited, ran                                          time.Duration
}

func (b *bucket) settled() int64 { return b.done + b.failed + b.cancelled + b.retried }

// buckets sums minutes into equal parts of the last n minutes, the present one last. Queue or kind, if not empty, pick what is summed.
func buckets(ms []kernel.Minute, now time.Time, n int, pick func(*kernel.Minute) bool) []bucket {
	step := max(1, n/chartParts)
	from := now.Truncate(time.Minute).Add(time.Minute - time.Duration(n)*time.Minute)
	list := make([]bucket, n/step)
	for i := range list {
		list[i].At = from.Add(time.Duration(i*step) * time.Minute)
	}
	for i := range ms {
		m := &ms[i]
		at := int(m.At.Sub(from) / (time.Duration(step) * time.Minute))
		if at < 0 || at >= len(list) || pick != nil && !pick(m) {
			continue
		}
		b := &list[at]
		b.submitted += m.Submitted
		b.claimed += m.Claimed
		b.done += m.Done
		b.failed += m.Failed
		b.cancelled += m.Cancelled
		b.retried += m.Retried
		b.crashed += m.Crashed
		b.waited += m.Waited
		b.ran += m.Ran
	}
	return list
}

// drawing is what a chart is made of.
type drawing struct {
	title, unit string
	series      []series
	value       func(b *bucket, i int) float64
	text        func(v float64) string
	lines       bool // side by side as lines; else stacked as bars
}

func (d drawing) draw(list []bucket) *chart {
	c := &chart{Title: d.title, Unit: d.unit, Legend: d.series, W: chartWide, H: chartHigh, PlotLeft: chartLeft, PlotTop: chartTop}
	c.PlotW, c.PlotH = chartWide-chartLeft-4, chartHigh-chartTop-chartFoot
	top := 0.0
	for i := range list {
		sum := 0.0
		for s := range d.series {
			switch v := d.value(&list[i], s); {
			case math.IsNaN(v):
			case d.lines:
				sum = max(sum, v)
			default:
				sum += v
			}
		}
		top = max(top, sum)
	}
	c.Empty = top == 0
	top = niceTop(top)
	for _, part := range []float64{0, 0.5, 1} {
		y := float64(chartTop) + float64(c.PlotH)*(1-part)
		c.Marks = append(c.Marks, mark{Y: num1(y), X: num1(chartLeft - 6), Text: d.text(top * part)})
	}
	d.plot(c, list, top)
	c.Says = d.says(list)
	step := float64(c.PlotW) / float64(len(list))
	for i := 0; i < len(list); i += max(1, len(list)/4) { // four of them fit
		c.Times = append(c.Times, mark{X: num1(float64(chartLeft) + step*float64(i)), Y: num1(chartHigh - 5), Text: list[i].At.UTC().Format("15:04")})
	}
	return c
}

// plot draws the values, and writes them down for the table.
func (d drawing) plot(c *chart, list []bucket, top float64) {
	step := float64(c.PlotW) / float64(len(list))
	for i := range list {
		b, y := &list[i], float64(chartTop+c.PlotH)
		row := chartRow{At: b.At}
		x := float64(chartLeft) + step*float64(i)
		for s, one := range d.series {
			v := d.value(b, s)
			if math.IsNaN(v) {
				row.Values = append(row.Values, "–")
				continue
			}
			row.Values = append(row.Values, d.text(v))
			if high := v / top * float64(c.PlotH); high > 0 && !d.lines {
				high = max(high, 1)
				y -= high
				text := fmt.Sprintf("%s: %s %s", b.At.UTC().Format("15:04"), d.text(v), one.Name)
				c.Bars = append(c.Bars, bar{X: num1(x + step*0.1), Y: num1(y), W: num1(step * 0.8), H: num1(high), Class: one.Class, Text: text})
			}
		}
		c.Rows = append(c.Rows, row)
	}
	if d.lines {
		d.trace(c, list, top)
	}
}

// trace draws lines. Where there is no value a line ends, and goes on at the next one.
func (d drawing) trace(c *chart, list []bucket, top float64) {
	step := float64(c.PlotW) / float64(len(list))
	for s, one := range d.series {
		points := ""
		end := func() {
			if points != "" {
				c.Lines = append(c.Lines, line{Class: one.Class, Points: points})
			}
			points = ""
		}
		for i := range list {
			v := d.value(&list[i], s)
			if math.IsNaN(v) {
				end()
				continue
			}
			x, y := float64(chartLeft)+step*float64(i), num1(float64(chartTop+c.PlotH)-v/top*float64(c.PlotH))
			if points == "" {
				points = num1(x+step*0.2) + "," + y + " " // one alone is seen as well
			}
			points += num1(x+step*0.8) + "," + y + " "
		}
		end()
	}
}

// says tells in words what the chart shows.
func (d drawing) says(list []bucket) string {
	text := d.title + ", " + d.unit + "."
	for s, one := range d.series {
		last, most := 0.0, 0.0
		for i := range list {
			if last = d.value(&list[i], s); math.IsNaN(last) {
				last = 0
			}
			most = max(most, last)
		}
		text += fmt.Sprintf(" %s: now %s, at most %s.", one.Name, d.text(last), d.text(most))
	}
	return text
}

func num1(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

// niceTop is a round number at or above a value.
func niceTop(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 5, 10} {
		if v <= m*unit {
			return m * unit
		}
	}
	return 10 * unit
}

func countText(v float64) string {
	switch {
	case v >= 1e6:
		return num1(v/1e6) + " M"
	case v >= 1e4:
		return num1(v/1e3) + " k"
	case v >= 1000:
		return number(int64(math.Round(v)))
	}
	return num1(v)
}

func secondsText(v float64) string { return span(time.Duration(v * float64(time.Second))) }
