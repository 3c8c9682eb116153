package sqlite

import (
	"encoding/binary"
	"slices"

	"github.com/outlast-go/outlast/store"
)

// hints is what a step tells watchers once it is durable.
type hints struct {
	all    bool // a limit or a pause has changed, and it may open any queue
	queues []string
	tasks  []taskHint
	asks   []askHint
}

// taskHint is a change of a task, and whether it is known to have left the task on its way.
type taskHint struct {
	id    store.ID
	moves bool
}

type askHint struct {
	task   store.ID
	worker string
}

func (h *hints) everything() { h.all = true }

func (h *hints) work(queue string) {
	if !slices.Contains(h.queues, queue) {
		h.queues = append(h.queues, queue)
	}
}

// task notes a change. A task that changes several times in a row is noted once.
func (h *hints) task(id store.ID, moves bool) {
	if n := len(h.tasks); n > 0 && h.tasks[n-1].id == id {
		h.tasks[n-1].moves = moves
		return
	}
	h.tasks = append(h.tasks, taskHint{id, moves})
}

func (h *hints) asked(id store.ID, worker string) { h.asks = append(h.asks, askHint{id, worker}) }

func (h *hints) empty() bool {
	return !h.all && len(h.queues) == 0 && len(h.tasks) == 0 && len(h.asks) == 0
}

// Hints travel between processes as records of a kind, an id, and a name with its length before it.
const (
	hintAll  = 'l'
	hintWork = 'w'
	hintTask = 't'
	hintMany = 'm' // more tasks than it is worth to name
	hintAsk  = 'a'
)

// hintSize is what one write into a pipe may hold to be one piece everywhere.
const hintSize = 512

func appendHint(b []byte, kind byte, id store.ID, name string) []byte {
	b = append(b, kind)
	b = append(b, id[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(min(len(name), 400)))
	return append(b, name[:min(len(name), 400)]...)
}

// pieces writes hints as pieces that fit into a pipe each.
func (h *hints) pieces() (list [][]byte) {
	var b []byte
	add := func(kind byte, id store.ID, name string) {
		record := appendHint(nil, kind, id, name)
		if len(b)+len(record) > hintSize {
			list, b = append(list, b), nil
		}
		b = append(b, record...)
	}
	if h.all {
		add(hintAll, store.ID{}, "")
	}
	for _, q := range h.queues {
		add(hintWork, store.ID{}, q)
	}
	for _, a := range h.asks {
		add(hintAsk, a.task, a.worker)
	}
	if len(h.tasks) > 100 {
		add(hintMany, store.ID{}, "")
	} else {
		for _, t := range h.tasks {
			add(hintTask, t.id, "")
		}
	}
	return append(list, b)
}

// nextHint takes the first record off what came through a pipe; ok says whether it is whole.
func nextHint(b []byte) (kind byte, id store.ID, name string, rest []byte, ok bool) {
	const head = 1 + 16 + 2
	if len(b) < head {
		return 0, id, "", b, false
	}
	n := int(binary.BigEndian.Uint16(b[17:]))
	if len(b) < head+n {
		return 0, id, "", b, false
	}
	copy(id[:], b[1:])
	return b[0], id, string(b[head : head+n]), b[head+n:], true
}
