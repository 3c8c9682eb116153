package web

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

type overviewView struct {
	Tiles     []tile
	Attention []concern
	Charts    []*chart
	Spans     []spanLink
	Queues    []queueRow
	Workers   []workerRow
	Fresh     bool // nothing was ever submitted
}

type tile struct {
	Name, Value, Note, Link string
	Tone                    string
}

// concern is something that somebody should look at.
type concern struct {
	Tone, Text, Link string
}

type spanLink struct {
	Label, Link string
	Here        bool
}

// spans are how far back charts go, in minutes.
var spans = []struct {
	label   string
	minutes int
}{{"1 hour", 60}, {"6 hours", 360}, {"24 hours", 1440}}

func (q *request) spans(where string) (list []spanLink, minutes int) {
	minutes = 60
	if n, err := strconv.Atoi(q.r.URL.Query().Get("minutes")); err == nil {
		minutes = n
	}
	if !slices.ContainsFunc(spans, func(s struct {
		label   string
		minutes int
	},
	) bool {
		return s.minutes == minutes
	}) {
		minutes = 60
	}
	for _, s := range spans {
		value := strconv.Itoa(s.minutes)
		if s.minutes == 60 {
			value = ""
		}
		list = append(list, spanLink{s.label, link(where, "minutes", value), s.minutes == minutes})
	}
	return list, minutes
}

func overviewPage(ctx context.Context, q *request, _ string) (*page, error) {
	var d overviewView
	var minutes int
	d.Spans, minutes = q.spans("/")
	ahead(ctx, q.lately(minutes), q.lately(60), asks(q.queues), asks(q.workers), asks(q.pauses), asks(q.heldSample), asks(q.deadFew))
	ms, err := q.minutes(ctx, minutes)
	if err != nil {
		return nil, err
	}
	queues, err := q.queueRows(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := q.workers(ctx)
	if err != nil {
		return nil, err
	}
	dead, err := q.deadFew(ctx)
	if err != nil {
		return nil, err
	}
	list := buckets(ms, q.now, minutes, nil)
	d.Charts = charts(list, minutes)
	d.Queues, d.Workers = queues, workerRows(workers, q.now)
	d.Tiles = tiles(queues, workers, dead, list)
	d.Attention, err = q.concerns(ctx, queues, workers, dead)
	d.Fresh = len(queues) == 0 && len(ms) == 0
	return &page{Title: "Overview", Nav: "overview", Name: "overview", D: d}, err
}

// charts draws what happened.
func charts(list []bucket, minutes int) []*chart {
	per := time.Duration(max(1, minutes/chartParts)) * time.Minute
	unit := "tasks a minute"
	part := per.Minutes()
	mean := func(sum time.Duration, n int64) float64 {
		if n == 0 {
			return math.NaN() // there is none
		}
		return sum.Seconds() / float64(n)
	}
	return []*chart{
		drawing{
			title: "Throughput", unit: unit, text: countText,
			series: []series{{"done", "good"}, {"cancelled", "mute"}, {"failed", "bad"}},
			value:  func(b *bucket, i int) float64 { return float64([]int64{b.done, b.cancelled, b.failed}[i]) / part },
		}.draw(list),
		drawing{
			title: "Latency", unit: "mean per task", text: secondsText, lines: true, series: []series{{"waiting", "warn"}, {"running", "busy"}},
			value: func(b *bucket, i int) float64 {
				return []float64{mean(b.waited, b.claimed), mean(b.ran, b.settled())}[i]
			},
		}.draw(list),
		drawing{
			title: "Trouble", unit: unit, text: countText,
			series: []series{{"failed", "bad"}, {"retried", "warn"}, {"crashed", "held"}},
			value:  func(b *bucket, i int) float64 { return float64([]int64{b.failed, b.retried, b.crashed}[i]) / part },
		}.draw(list),
	}
}

func tiles(queues []queueRow, workers []kernel.Worker, dead deadSample, list []bucket) []tile {
	var ready, running, later []int64
	var slots int64
	var oldest *queueRow
	for i := range queues {
		u := &queues[i]
		ready, running, later = append(ready, u.Ready), append(running, u.Running), append(later, u.Scheduled, u.Parked)
		slots += u.Slots
		if !u.OldestAt.IsZero() && (oldest == nil || u.OldestAt.Before(oldest.OldestAt)) {
			oldest = u
		}
	}
	alive := 0
	for _, w := range workers {
		if w.DeadAt.IsZero() {
			alive++
		}
	}
	var done int64
	lately := list[max(0, len(list)-6) : len(list)-1] // the present one is not over
	for _, b := range lately {
		done += b.done
	}
	over := time.Duration(len(lately)) * list[1].At.Sub(list[0].At)
	wait := tile{Name: "Oldest waiting", Value: "–", Note: "nothing waits", Link: "/queues"}
	if oldest != nil {
		wait.Value, wait.Note = oldest.Waits, "in "+oldest.Queue
		if oldest.Late {
			wait.Tone = "warn"
		}
	}
	deadTile := tile{Name: "Dead letter", Value: number(int64(dead.Count)), Note: "failed, kept for you", Link: "/dead"}
	if dead.More {
		deadTile.Value += "+"
	}
	if dead.Count > 0 {
		deadTile.Tone = "bad"
	}
	fleet := tile{Name: "Workers alive", Value: strconv.Itoa(alive), Link: "/workers", Note: fmt.Sprintf("%s slots", number(slots))}
	if alive == 0 {
		fleet.Tone, fleet.Note = "warn", "nobody works"
	}
	use := "no slots"
	if slots > 0 {
		use = fmt.Sprintf("of %s slots, %s %%", number(slots), percent(min(counted(running...).n, slots), slots))
	}
	return []tile{
		{Name: "In flight", Value: counted(running...).String(), Note: use, Link: "/tasks?state=running"},
		{Name: "Ready", Value: counted(ready...).String(), Note: counted(later...).String() + " wait for a time or a wake", Link: "/tasks?state=ready"},
		wait, deadTile, fleet,
		{Name: "Done a minute", Value: number(int64(math.Round(float64(done) / over.Minutes()))), Note: "over the last " + span(over), Link: "/tasks?state=done"},
	}
}
