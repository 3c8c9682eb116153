package history

import (
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// cell is some tasks that share a queue.
type cell struct {
	kind  kind
	queue string
	group store.ID           // of all its tasks, in a cell of that kind
	ids   [room + 1]store.ID // from 1, in the order of their ids
	tasks int                // so many of them are used
}

// number is the place of a task in its cell; 0: it is none of it.
func (c *cell) number(id store.ID) int {
	for i := 1; i <= c.tasks; i++ {
		if c.ids[i] == id {
			return i
		}
	}
	return 0
}

// messageID is the id of a message of a task.
func (c *cell) messageID(task, n int) store.ID {
	return store.DeriveID("message", c.ids[task].String(), string(rune('0'+n)))
}

// record is one call of the history. One that concerns a whole cell has no task; one that concerns all has no cell: what its worker
// held, or if it names none whatever runs and whoever lives.
type record struct {
	cell      *cell
	task      int
	client    int
	call, ret time.Duration
	in        input
	out       output
}

// log is what one client has recorded.
type log struct {
	client  int
	loose   bool      // what is allowed: see Config
	since   time.Time // when the round began
	calls   int       // how many calls it made
	tasks   []record
	workers []record
}

func (l *log) now() time.Duration { return time.Since(l.since) }

// add records a call about tasks. Where each task is judged by itself, what concerns the cell is recorded for each of them.
func (l *log) add(r record) {
	r.client, r.in.Loose = l.client, l.loose
	if r.cell == nil || !r.cell.kind.apart() || r.task > 0 {
		l.tasks = append(l.tasks, r)
		return
	}
	given := map[int]taken{}
	for _, got := range r.out.Tasks {
		given[got.Task] = got
	}
	for i := 1; i <= r.cell.tasks; i++ {
		one := r
		got, ok := given[i]
		if one.out.Tasks = nil; ok {
			one.out.Tasks = []taken{got}
		} else if r.in.Op == opClaim && !r.out.Unknown && !r.in.Still {
			continue // a claim that left it says nothing of it
		}
		one.task, one.in.Task = i, i
		l.tasks = append(l.tasks, one)
	}
}

// addWorker records a call about a worker.
func (l *log) addWorker(r record) {
	r.client = l.client
	l.workers = append(l.workers, r)
}

// place names a partition: a task of a plain cell, another cell, or a worker.
type place struct {
	cell   *cell
	task   int
	worker string
}

// partitions sorts the records of a round into what is judged together. Calls whose answer was lost may come until the end.
func partitions(logs []*log, end time.Duration) map[place][]record {
	parts := map[place][]record{}
	workers := map[place]map[string]bool{} // who claimed there, or may have
	var everywhere []record
	for _, l := range logs {
		for _, r := range l.tasks {
			if r.out.Unknown && r.ret == 0 {
				r.ret = end
			}
			r.in.Call, r.in.Ret = r.call, r.ret
			if r.cell == nil {
				everywhere = append(everywhere, r)
				continue
			}
			p := place{cell: r.cell, task: r.task}
			if !r.cell.kind.apart() {
				p.task = 0
			}
			parts[p] = append(parts[p], r)
			if r.in.Op == opClaim {
				if workers[p] == nil {
					workers[p] = map[string]bool{}
				}
				workers[p][r.in.Worker] = true
			}
		}
		for _, r := range l.workers {
			if r.out.Unknown && r.ret == 0 {
				r.ret = end
			}
			p := place{worker: r.in.Worker}
			parts[p] = append(parts[p], r)
		}
	}
	for p := range parts {
		if p.worker != "" && !slices.ContainsFunc(parts[p], func(r record) bool { return r.in.Op == opJoin }) {
			delete(parts, p) // of a round before
			continue
		}
		for _, r := range everywhere {
			if r.in.Worker == "" || workers[p][r.in.Worker] {
				r.in.Task = p.task
				parts[p] = append(parts[p], r)
			}
		}
	}
	return parts
}
