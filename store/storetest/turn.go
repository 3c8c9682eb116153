package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/store"
)

// Who has a backlog does not keep those away that have come since.
func orderAgedTurns(t *testing.T, w *world) {
	w.submit(w.specs(4, lane("a"))...)
	w.Pass(w.timing.Aged)
	w.pass(1)
	w.submit(w.specs(2, lane("b"))...)
	if got := w.join().lanes(6); got != "a b a b a a" {
		t.Errorf("lanes = %q, want a b a b a a", got)
	}
}

func orderShare(t *testing.T, w *world) {
	const few, slots = 10, 4
	w.submit(w.specs(1000, lane("many"))...)
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "many", 3))
	k := w.join()
	k.claim(slots)
	w.submit(w.specs(few, lane("few"))...)
	cursor, got, taken := "", 0, 0
	for got < few && taken < 1000 {
		req := k.request(slots)
		req.Queues[0].Cursor = cursor
		res := k.ask(req)
		cursor = res.Cursors[queue]
		for _, task := range res.Tasks {
			if taken++; task.Lane == "few" {
				got++
			}
		}
	}
	// One of few for three of many, and the claim that took the last.
	if most := few*(1+3) + slots; got != few || taken > most {
		t.Errorf("%d of the few had come among %d tasks, want all %d among %d at most", got, taken, few, most)
	}
}

// oneByOne claims n tasks, one at a time, and tells their lane keys.
func (k *worker) oneByOne(n int) string {
	k.w.t.Helper()
	var keys []string
	cursor := ""
	for range n {
		req := k.request(1)
		req.Queues[0].Cursor = cursor
		res := k.ask(req)
		for _, task := range res.Tasks {
			keys = append(keys, task.Lane)
		}
		cursor = res.Cursors[queue]
	}
	return strings.Join(keys, " ")
}

func orderWeightCut(t *testing.T, w *world) {
	threeLanes(w, 6)
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "b", 3))
	if got := w.join().oneByOne(10); got != "a b b b c a b b b c" {
		t.Errorf("lanes = %q, want a b b b c a b b b c", got)
	}
}

// What a lane gives in a turn is its own affair: that its second task is less urgent than another lane's first does not end the turn.
func orderWeightRank(t *testing.T, w *world) {
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "b", 2))
	w.put(lane("b"), priority(2))
	w.put(lane("b"))
	w.put(lane("c"), priority(1))
	if got := w.join().lanes(2); got != "b b" {
		t.Errorf("lanes = %q, want b b", got)
	}
}

func orderWeightGone(t *testing.T, w *world) {
	threeLanes(w, 2)
	w.ok("PutWeight", w.st.PutWeight(w.ctx(), queue, "b", 3))
	if got := w.join().oneByOne(6); got != "a b b c a c" {
		t.Errorf("lanes = %q, want a b b c a c", got)
	}
}

// manyLanes submits two tasks into each of n lanes, and tells the names of these.
func manyLanes(w *world, n int) []string {
	w.t.Helper()
	var specs []store.Spec
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%03d", i))
		specs = append(specs, w.specs(2, lane(names[i]))...)
	}
	w.submit(specs...)
	return names
}

func orderManyLanes(t *testing.T, w *world) {
	names := manyLanes(w, 100)
	k := w.join()
	cursor := ""
	var got []string
	for _, n := range []int{1, 7, 60, 40, 92} {
		req := k.request(n)
		req.Queues[0].Cursor = cursor
		res := k.ask(req)
		if want := len(got)+n < 2*len(names); res.Again != want {
			t.Errorf("Claim after %d of %d says again %v, want %v", len(got)+n, 2*len(names), res.Again, want)
		}
		cursor = res.Cursors[queue]
		for _, task := range res.Tasks {
			got = append(got, task.Lane)
		}
	}
	if want := append(names, names...); !slices.Equal(got, want) {
		t.Errorf("lanes = %q, want %q", got, want)
	}
}

func orderUrgent(t *testing.T, w *world) {
	manyLanes(w, 100)
	w.put(lane("050"), priority(2))
	w.put(lane("070"), priority(1))
	w.put(lane("030"), priority(-1))
	if got := w.join().lanes(4); got != "050 070 071 072" {
		t.Errorf("lanes = %q, want 050 070 071 072", got)
	}
}
