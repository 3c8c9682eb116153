package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// breakerKind is the kind of the pauses that say that the circuit of a host is open.
const breakerKind = "call.breaker"

// kindRow is what happened to tasks of one kind in the last hour.
type kindRow struct {
	Kind, Name, Where                  string
	Submitted, Done, Failed, Cancelled int64
	Retried, Crashed                   int64
	Waited, Ran                        time.Duration // means
}

func kindRows(ms []kernel.Minute, pick func(kind string) bool) []kindRow {
	byKind := map[string]*kindRow{}
	claimed, settled := map[string]int64{}, map[string]int64{}
	for i := range ms {
		m := &ms[i]
		if !pick(m.Kind) {
			continue
		}
		r := byKind[m.Kind]
		if r == nil {
			r = &kindRow{Kind: m.Kind, Where: link("/tasks", "kind", m.Kind)}
			_, r.Name, _ = strings.Cut(m.Kind, ".")
			byKind[m.Kind] = r
		}
		r.Submitted += m.Submitted
		r.Done += m.Done
		r.Failed += m.Failed
		r.Cancelled += m.Cancelled
		r.Retried += m.Retried
		r.Crashed += m.Crashed
		r.Waited += m.Waited
		r.Ran += m.Ran
		claimed[m.Kind] += m.Claimed
		settled[m.Kind] += m.Done + m.Failed + m.Cancelled + m.Retried
	}
	var list []kindRow
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		r := byKind[kind]
		r.Waited /= time.Duration(max(claimed[kind], 1))
		r.Ran /= time.Duration(max(settled[kind], 1))
		list = append(list, *r)
	}
	return list
}

// faceView is what a face's page shows: what its kinds did, and its newest tasks.
type faceView struct {
	Kinds  []kindRow
	Charts []*chart
	Spans  []spanLink
	Rows   []taskRow
	Next   string
	Looked int
	Short  bool
}

// face reads what there is of tasks whose kinds a face has.
func (q *request) face(ctx context.Context, where string, pick func(kind string) bool) (faceView, error) {
	var d faceView
	var minutes int
	d.Spans, minutes = q.spans(where)
	ms, err := q.minutes(ctx, minutes)
	if err != nil {
		return d, err
	}
	d.Kinds = kindRows(ms, pick)
	d.Charts = charts(buckets(ms, q.now, minutes, func(m *kernel.Minute) bool { return pick(m.Kind) }), minutes)
	known, err := q.kinds(ctx)
	if err != nil {
		return d, err
	}
	f := kernel.Filter{Kinds: slices.DeleteFunc(known, func(k string) bool { return !pick(k) })}
	if len(f.Kinds) == 0 {
		return d, nil
	}
	if s := q.r.URL.Query().Get("state"); s != "" {
		f.States = []kernel.TaskState{kernel.TaskState(s)}
	}
	got, err := q.list(ctx, f, kernel.PageRequest{Limit: pageRows, Cursor: q.r.URL.Query().Get("cursor")})
	d.Rows, d.Looked, d.Short = q.rows(got.Tasks), got.Looked, got.Short
	if got.Cursor != "" {
		d.Next = link(where, "cursor", got.Cursor, "state", q.r.URL.Query().Get("state"))
	}
	return d, err
}

func endpointsPage(ctx context.Context, q *request, _ string) (*page, error) {
	d, err := q.face(ctx, "/endpoints", func(k string) bool { return strings.HasPrefix(k, "endpoint.") })
	return &page{Title: "Endpoints", Nav: "endpoints", Name: "endpoints", D: d}, err
}

type callsView struct {
	faceView
	Clients []clientView
	Hosts   []hostRow
	Senders senders
}

// senders are the processes that send requests.
type senders struct {
	InFlight, Slots, Use string // of all of them
	Rows                 []senderRow
}

type senderRow struct {
	workerRow
	Calls int // slots for requests
}

type clientView struct {
	Kind string
	call.Stats
	Mean     time.Duration
	Use      string
	Statuses []count
	Types    []count
}

type count struct {
	Name string
	N    int64
	Tone string
}

// hostRow is a host that requests go to.
type hostRow struct {
	Host               string
	Open, Done, Failed int // among the newest requests
	Ready              int64
	Types              []count
	Circuit            string
	Until              time.Time
	Limit              *limitRow
	types              map[string]int64
	Broken             bool
}

func isCall(kind string) bool { return kind == "call.send" || strings.HasPrefix(kind, "call.send.") }

func callsPage(ctx context.Context, q *request, _ string) (*page, error) {
	ahead(ctx, asks(q.queues), asks(q.workers), asks(q.pauses), asks(q.limits))
	face, err := q.face(ctx, "/calls", isCall)
	if err != nil {
		return nil, err
	}
	d := callsView{faceView: face}
	for _, c := range q.h.cfg.Calls {
		d.Clients = append(d.Clients, viewClient(c, q.h.k))
	}
	queues := map[string]bool{"calls": true}
	for i := range face.Rows {
		queues[face.Rows[i].Queue] = true
	}
	if d.Senders, err = q.senders(ctx, queues); err != nil {
		return nil, err
	}
	d.Hosts, err = q.hosts(ctx, face.Rows, queues)
	return &page{Title: "Calls", Nav: "calls", Name: "calls", D: d}, err
}

// senders lists the living processes that give slots to requests.
func (q *request) senders(ctx context.Context, queues map[string]bool) (senders, error) {
	var s senders
	workers, err := q.workers(ctx)
	if err != nil {
		return s, err
	}
	slots := 0
	for _, r := range workerRows(workers, q.now) {
		row := senderRow{workerRow: r}
		for queue := range queues {
			row.Calls += r.Info.Slots[queue]
		}
		if row.Calls > 0 && r.DeadAt.IsZero() && slices.ContainsFunc(r.Info.Kinds, isCall) {
			slots += row.Calls
			s.Rows = append(s.Rows, row)
		}
	}
	known, err := q.queues(ctx)
	var running []int64
	for _, u := range known {
		if queues[u.Queue] {
			running = append(running, u.Running)
		}
	}
	sum := counted(running...)
	s.InFlight, s.Slots, s.Use = sum.String(), number(int64(slots)), percent(min(sum.n, int64(slots)), int64(slots))
	return s, err
}

func viewClient(c *call.Client, k *kernel.Kernel) clientView {
	s := c.Stats(k)
	v := clientView{Kind: c.Kind(), Stats: s, Mean: s.Mean(), Use: percent(int64(s.InFlight), int64(s.Capacity))}
	for _, status := range slices.Sorted(maps.Keys(s.Statuses)) {
		tone := []string{"", "", "good", "", "warn", "bad"}[min(max(status/100, 0), 5)]
		v.Statuses = append(v.Statuses, count{number(int64(status)), s.Statuses[status], tone})
	}
	for _, t := range slices.Sorted(maps.Keys(s.Types)) {
		v.Types = append(v.Types, count{string(t), s.Types[t], "bad"})
	}
	slices.SortStableFunc(v.Types, func(a, b count) int { return cmp.Compare(b.N, a.N) })
	return v
}

// hosts gathers what is known of hosts: lanes with requests that wait, circuits, limits, and the newest requests.
func (q *request) hosts(ctx context.Context, rows []taskRow, queues map[string]bool) ([]hostRow, error) {
	byHost := map[string]*hostRow{}
	at := func(host string) *hostRow {
		if byHost[host] == nil {
			byHost[host] = &hostRow{Host: host, types: map[string]int64{}}
		}
		return byHost[host]
	}
	for i := range rows {
		t := &rows[i]
		countCall(at(t.Lane), t)
	}
	for _, queue := range slices.Sorted(maps.Keys(queues)) {
		lanes, err := q.h.k.Lanes(ctx, queue, kernel.PageRequest{Limit: 200})
		if err != nil {
			return nil, err
		}
		for _, l := range lanes.Items {
			if isCall(l.Kind) {
				at(l.Lane).Ready += l.Ready
			}
		}
	}
	if err := q.circuits(ctx, queues, at); err != nil {
		return nil, err
	}
	delete(byHost, "")
	var list []hostRow
	for _, r := range byHost {
		for _, t := range slices.Sorted(maps.Keys(r.types)) {
			r.Types = append(r.Types, count{t, r.types[t], "bad"})
		}
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b hostRow) int {
		return cmp.Or(boolInt(b.Broken)-boolInt(a.Broken), b.Failed-a.Failed, strings.Compare(a.Host, b.Host))
	})
	return list[:min(len(list), 100)], nil
}

func countCall(h *hostRow, t *taskRow) {
	switch t.State {
	case "done":
		h.Done++
	case "failed":
		h.Failed++
	case "cancelled":
	default:
		h.Open++
	}
	if t.Error != nil && t.Error.Type != "" && t.State != "done" {
		h.types[t.Error.Type]++
	}
}

// circuits adds breakers and limits.
func (q *request) circuits(ctx context.Context, queues map[string]bool, at func(string) *hostRow) error {
	pauses, err := q.pauses(ctx)
	if err != nil {
		return err
	}
	for _, p := range pauses {
		if !queues[p.Scope.Queue] || p.Scope.Lane == "" {
			continue
		}
		r := at(p.Scope.Lane)
		if p.Scope.Kind == breakerKind {
			r.Broken = true
			continue
		}
		r.Circuit, r.Until = p.Reason, p.Until
	}
	limits, err := q.limits(ctx)
	for _, l := range limits {
		if host, ok := strings.CutPrefix(l.Key, "call/"); ok {
			v := limitView(l)
			at(host).Limit = &v
		}
	}
	return err
}
