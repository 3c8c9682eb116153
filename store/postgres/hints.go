package postgres

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/store"
)

// wireHints is what a step tells, as the function hints writes it.
type wireHints struct {
	Work  string `json:"work"`  // queues, each between two \x01
	All   string `json:"all"`   // a limit or a pause has changed, and it may open any queue
	Tasks string `json:"tasks"` // ids, each before a space
	Rest  string `json:"rest"`  // those of them that may have come to rest
	Asked string `json:"asked"` // id, space, worker, \x01
}

// hints is what watchers are told once a step is durable.
type hints struct {
	All    bool        `json:"l,omitempty"`
	Many   bool        `json:"m,omitempty"` // more tasks than it is worth to name
	Queues []string    `json:"w,omitempty"`
	Tasks  []string    `json:"t,omitempty"`
	Moves  string      `json:"v,omitempty"` // of each of Tasks: m if it is ready or runs. Shorter: that is not known of the others
	Asked  [][2]string `json:"a,omitempty"` // task and worker
	From   string      `json:"f,omitempty"` // the handle that has told its own watchers already
}

// task adds a task that has changed.
func (h *hints) task(id string, moves bool) {
	mark := "-"
	if moves {
		mark = "m"
	}
	h.Moves += strings.Repeat("-", len(h.Tasks)-len(h.Moves)) + mark
	h.Tasks = append(h.Tasks, id)
}

// moves reports whether a task is known to be ready or to run.
func (h *hints) moves(i int) bool { return i < len(h.Moves) && h.Moves[i] == 'm' }

func (w *wireHints) read() (h hints) {
	if w == nil {
		return h
	}
	h.All = w.All != ""
	for _, q := range strings.Split(w.Work, "\x01") {
		if q != "" {
			h.Queues = append(h.Queues, q)
		}
	}
	rest := strings.Fields(w.Rest)
	for _, id := range strings.Fields(w.Tasks) {
		h.task(id, !slices.Contains(rest, id))
	}
	for _, a := range strings.Split(w.Asked, "\x01") {
		if id, worker, ok := strings.Cut(a, " "); ok {
			h.Asked = append(h.Asked, [2]string{id, worker})
		}
	}
	return h
}

func (h *hints) empty() bool {
	return !h.All && !h.Many && len(h.Queues) == 0 && len(h.Tasks) == 0 && len(h.Asked) == 0
}

// add joins hints that wait to be sent.
func (h *hints) add(o *hints) {
	h.All, h.Many = h.All || o.All, h.Many || o.Many
	for _, q := range o.Queues {
		if !slices.Contains(h.Queues, q) {
			h.Queues = append(h.Queues, q)
		}
	}
	for i, id := range o.Tasks {
		h.task(id, o.moves(i))
	}
	h.Asked = append(h.Asked, o.Asked...)
}

// noticeSize is what the server lets one notice hold, and some room.
const noticeSize = 7500

// texts writes hints as notices that the server takes.
func (h hints) texts() (list []string) {
	if len(h.Tasks) > 150 || len(h.Queues) > 100 {
		h.All, h.Many, h.Tasks, h.Moves, h.Queues = h.All || len(h.Queues) > 100, h.Many || len(h.Tasks) > 150, nil, "", nil
	}
	for len(h.Asked) > 10 {
		list = append(list, hints{Asked: h.Asked[:10], From: h.From}.texts()...)
		h.Asked = h.Asked[10:]
	}
	text, err := json.Marshal(h)
	if err != nil || len(text) > noticeSize {
		text = []byte(`{"l":true,"m":true}`)
	}
	return append(list, string(text))
}

// hear hands on what of some hints concerns a watcher.
func (w *watch) hear(to *watcher, h *hints) {
	for _, q := range to.queues {
		if h.All || slices.Contains(h.Queues, q) {
			to.tell(store.Notice{Kind: store.NoticeWork, Queue: q})
		}
	}
	for _, a := range h.Asked {
		if id, err := store.ParseID(a[0]); err == nil && to.worker != "" && a[1] == to.worker {
			to.tell(store.Notice{Kind: store.NoticeAsked, Task: id})
		}
	}
	if h.Many {
		for id := range w.follows {
			to.tell(store.Notice{Kind: store.NoticeTask, Task: id})
		}
		return
	}
	for i, text := range h.Tasks {
		if id, err := store.ParseID(text); err == nil && w.follows[id] > 0 {
			to.tell(store.Notice{Kind: store.NoticeTask, Task: id, Moving: h.moves(i)})
		}
	}
}
