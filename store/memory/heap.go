package memory

import (
	"bytes"
	"time"

	"github.com/outlast-go/outlast/store"
)

// A task stands in several heaps at once, in each under its own slot.
const (
	slotLane = iota
	slotDue
	slotStartBy
	slotExpiry
	slotDeadline
	slotLine    // of an ordered lane
	slotHeld    // by a worker
	slotWaiting // for its group to open
	slotMember  // of its group: living, asked or ended
	slots
)

// task is a record and where it stands.
type task struct {
	store.Task
	entries map[string][]byte
	inbox   []store.Message
	seen    map[store.ID]bool // messages that came, consumed or not
	corrupt bool
	marked  bool // nothing of its group keeps it from expiring
	lane    *lane
	member  *taskHeap  // which heap of its group it is in
	at      [slots]int // 1 + index in each heap; 0: not in it
}

// taskHeap is a heap of tasks that knows where each stands, so that any of them can be taken out.
type taskHeap struct {
	slot  int
	less  func(a, b *task) bool
	tasks []*task
}

func (h *taskHeap) len() int { return len(h.tasks) }

func (h *taskHeap) head() *task {
	if len(h.tasks) == 0 {
		return nil
	}
	return h.tasks[0]
}

// add puts a task in, or into its right place if it is in already.
func (h *taskHeap) add(t *task) {
	if i := t.at[h.slot]; i > 0 {
		h.fix(i - 1)
		return
	}
	h.tasks = append(h.tasks, t)
	t.at[h.slot] = len(h.tasks)
	h.up(len(h.tasks) - 1)
}

// remove takes a task out. It need not be in.
func (h *taskHeap) remove(t *task) {
	i := t.at[h.slot] - 1
	if i < 0 {
		return
	}
	last := len(h.tasks) - 1
	h.swap(i, last)
	h.tasks[last] = nil
	h.tasks = h.tasks[:last]
	t.at[h.slot] = 0
	if i < last {
		h.fix(i)
	}
}

func (h *taskHeap) fix(i int) {
	h.up(i)
	h.down(i)
}

func (h *taskHeap) swap(i, j int) {
	h.tasks[i], h.tasks[j] = h.tasks[j], h.tasks[i]
	h.tasks[i].at[h.slot], h.tasks[j].at[h.slot] = i+1, j+1
}

func (h *taskHeap) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !h.less(h.tasks[i], h.tasks[p]) {
			return
		}
		h.swap(i, p)
		i = p
	}
}

func (h *taskHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h.tasks) {
			return
		}
		if c+1 < len(h.tasks) && h.less(h.tasks[c+1], h.tasks[c]) {
			c++
		}
		if !h.less(h.tasks[c], h.tasks[i]) {
			return
		}
		h.swap(i, c)
		i = c
	}
}

// earlier orders by time, then by id.
func earlier(a, b *task, at, bt time.Time) bool {
	if !at.Equal(bt) {
		return at.Before(bt)
	}
	return idLess(a.ID, b.ID)
}

func idLess(a, b store.ID) bool { return bytes.Compare(a[:], b[:]) < 0 }

func byID(a, b *task) bool { return idLess(a.ID, b.ID) }
