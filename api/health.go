package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// text answers with plain text.
func (q *request) text(format string, args ...any) error {
	q.w.Header().Set("Content-Type", plainText)
	_, _ = fmt.Fprintf(q.w, format, args...) // a client that is gone needs no answer
	return nil
}

// healthz says that the process answers, and nothing of what it depends on: a restart would mend none of it.
func healthz(q *request) error { return q.text("ok\n") }

// readyTimeout is how long the store may take to say that it is there.
const readyTimeout = 3 * time.Second

// readyz says whether the daemon can do its work.
func readyz(q *request) error {
	for name, k := range q.s.spaces() {
		h := k.Health()
		switch {
		case h.Problem != "":
			return q.unready("namespace %s: %s", name, h.Problem)
		case h.State != kernel.Running:
			return q.unready("namespace %s: the daemon is %s", name, h.State)
		}
		ctx, cancel := context.WithTimeout(q, readyTimeout)
		_, err := k.Now(ctx)
		cancel()
		if err != nil {
			q.s.log.Warn("store does not answer", "err", err)
			return q.unready("namespace %s: the store does not answer", name)
		}
	}
	return q.text("ready\n")
}

func (q *request) unready(format string, args ...any) error {
	return problem(http.StatusServiceUnavailable, "not_ready", format, args...)
}

// spaces are the kernels of all namespaces.
func (s *Server) spaces() map[string]*kernel.Kernel {
	all := map[string]*kernel.Kernel{s.k.Store().Namespace: s.k}
	for name, space := range s.cfg.Spaces {
		all[name] = space.Kernel
	}
	return all
}

// counters count the events of this process.
type counters struct {
	mu        sync.Mutex
	events    map[series]float64
	ran       map[series]float64 // seconds
	recovered map[string]float64 // by namespace
}

// series is what events are told apart by.
type series struct{ space, event, state, kind, queue string }

func newCounters() *counters {
	return &counters{events: map[series]float64{}, ran: map[series]float64{}, recovered: map[string]float64{}}
}

// manySeries is when kinds and queues are no longer told apart: their names come from outside.
const manySeries = 10_000

func (c *counters) add(space string, e kernel.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := series{space, string(e.Kind), string(e.State), e.Name, e.Queue}
	if _, known := c.events[s]; !known && len(c.events) > manySeries {
		s.kind, s.queue = "", ""
	}
	c.events[s]++
	switch {
	case e.Kind == kernel.RecoveryRan:
		c.recovered[space] += float64(e.Count)
	case e.Kind == kernel.TaskSettled && e.Took > 0:
		c.ran[series{space: space, kind: s.kind, queue: s.queue}] += e.Took.Seconds()
	}
}

// snapshot returns what was counted, by the names of metrics.
func (c *counters) snapshot() map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]float64{}
	for s, n := range c.events {
		all[fmt.Sprintf("outlast_events_total{namespace=%q,event=%q,state=%q,kind=%q,queue=%q}", s.space, s.event, s.state, s.kind, s.queue)] = n
	}
	for s, n := range c.ran {
		all[fmt.Sprintf("outlast_run_seconds_total{namespace=%q,kind=%q,queue=%q}", s.space, s.kind, s.queue)] = n
	}
	for space, n := range c.recovered {
		all[fmt.Sprintf("outlast_recovered_tasks_total{namespace=%q}", space)] = n
	}
	return all
}

// metricHelp says what a metric is, and of which type.
var metricHelp = []struct{ name, kind, help string }{
	{"outlast_events_total", "counter", "Events of this process, by kind."},
	{"outlast_recovered_tasks_total", "counter", "Tasks that recovery passes of this process put back."},
	{"outlast_run_seconds_total", "counter", "Time that runs in this process took."},
	{"outlast_queue_tasks", "gauge", "Tasks in a queue, by state; counting stops at 10,000."},
	{"outlast_queue_oldest_seconds", "gauge", "How long the oldest ready task has waited."},
	{"outlast_queue_paused", "gauge", "1 if the queue is paused."},
	{"outlast_workers", "gauge", "Workers on record that live."},
	{"outlast_running", "gauge", "Runs in this process."},
	{"outlast_stuck", "gauge", "Handlers in this process that do not return though their context has ended."},
	{"outlast_beat_age_seconds", "gauge", "Time since the last answered beat of this process."},
	{"outlast_recovery_age_seconds", "gauge", "Time since the last recovery pass of this process was answered."},
}

// metrics answers with the text that Prometheus reads.
func metrics(q *request) error {
	text, err := q.s.Metrics(q)
	if err != nil {
		return err
	}
	return q.text("%s", text)
}

// Metrics returns what /metrics tells, for who sends it elsewhere.
func (s *Server) Metrics(ctx context.Context) (string, error) {
	all := s.counters.snapshot()
	for name, k := range s.spaces() {
		if err := gauges(ctx, all, name, k); err != nil {
			return "", err
		}
	}
	names := slices.Sorted(maps.Keys(all))
	var b strings.Builder
	for _, m := range metricHelp {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, name := range names {
			if strings.HasPrefix(name, m.name+"{") {
				fmt.Fprintf(&b, "%s %g\n", name, all[name])
			}
		}
	}
	return b.String(), nil
}

// gauges measures a namespace.
func gauges(ctx context.Context, all map[string]float64, space string, k *kernel.Kernel) error {
	queues, err := queueHealth(ctx, k)
	if err != nil {
		return err
	}
	set := func(name, labels string, value float64) {
		all[fmt.Sprintf("%s{namespace=%q%s}", name, space, labels)] = value
	}
	for _, v := range queues {
		of := fmt.Sprintf(",queue=%q", v.Queue)
		for state, n := range map[string]int64{"ready": v.Ready, "scheduled": v.Scheduled, "parked": v.Parked, "running": v.Running} {
			set("outlast_queue_tasks", of+fmt.Sprintf(",state=%q", state), float64(n))
		}
		set("outlast_queue_oldest_seconds", of, v.OldestSeconds)
		paused := 0.0
		if v.Paused {
			paused = 1
		}
		set("outlast_queue_paused", of, paused)
	}
	workers, err := k.Workers(ctx)
	if err != nil {
		return err
	}
	living := 0
	for _, w := range workers {
		if w.DeadAt.IsZero() {
			living++
		}
	}
	h := k.Health()
	set("outlast_workers", "", float64(living))
	set("outlast_running", "", float64(h.Running))
	set("outlast_stuck", "", float64(h.Stuck))
	set("outlast_beat_age_seconds", "", h.Beat.Seconds())
	set("outlast_recovery_age_seconds", "", h.Recovery.Seconds())
	return nil
}
