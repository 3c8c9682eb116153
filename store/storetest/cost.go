package storetest

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// costTests hold the operations to "costs what it returns, never what is stored": with very many tasks that are none of its
// business an operation takes as long as without them, within a generous ratio. FT-27
func costTests() []test {
	var tests []test
	for name, fill := range map[string]func(w *world, k *worker, n int){
		"unserved":        costUnserved,
		"held":            costHeld,
		"paused":          costPaused,
		"over a limit":    costLimited,
		"in order behind": costOrdered,
		"far in time":     costScheduled,
		"terminal":        costTerminal,
	} {
		tests = append(tests, test{"tasks that are " + name + " cost nothing", func(t *testing.T, w *world) { cost(t, w, fill) }})
	}
	tests = append(tests, test{"lanes that are busy cost nothing", costLanes})
	tests = append(tests, test{"groups that are kept cost nothing", func(t *testing.T, w *world) { cost(t, w, costGroups) }})
	slices.SortFunc(tests, func(a, b test) int { return cmp.Compare(a.name, b.name) })
	return tests
}

// costKinds are served by the claims that are measured, so that what is paused, limited or ordered could be in their way.
var costKinds = []string{kind, "paused", "limited", "ordered", "scheduled", "terminal", "held"}

func cost(t *testing.T, w *world, fill func(w *world, k *worker, n int)) {
	n := w.scaled(100_000 / detectorCost)
	if os.Getenv("OUTLAST_LONG") != "" {
		n = w.scaled(1_000_000)
	}
	k := w.join()
	empty := measure(w, k)
	fill(w, k, n)
	// What the machine does besides, a collection of garbage or another test, may spoil one measurement. A scan of what is
	// stored spoils them all.
	slow := map[string]string{}
	for range 3 {
		runtime.GC()
		clear(slow)
		for op, d := range measure(w, k) {
			if limit := 20*empty[op] + 300*time.Microsecond; d > limit {
				slow[op] = fmt.Sprintf("%v, want at most %v; in an empty store it takes %v", d, limit, empty[op])
			}
		}
		if len(slow) == 0 {
			return
		}
	}
	for op, text := range slow {
		t.Errorf("%s with %d records = %s", op, n, text)
	}
}

// costLanes holds a claim against the number of lanes that have work which it could take: it costs what it takes.
func costLanes(t *testing.T, w *world) {
	n := w.scaled(20_000 / detectorCost)
	if w.e.Plain {
		n = min(n, 200)
	}
	k := w.join()
	few := takes(w, k, 10)
	slow := ""
	for range 3 {
		runtime.GC()
		many := takes(w, k, n)
		limit := 10*few + 300*time.Microsecond
		if many <= limit {
			return
		}
		slow = fmt.Sprintf("%v, want at most %v; from 10 lanes it takes %v", many, limit, few)
	}
	t.Errorf("Claim from %d busy lanes = %s", n, slow)
}

// takes returns the median time of a claim in turn from a queue with so many busy lanes.
func takes(w *world, k *worker, lanes int) time.Duration {
	w.t.Helper()
	name := "lanes-" + w.id().String()
	for i := 0; i < max(lanes, 200); i += 1000 {
		specs := w.specs(min(1000, max(lanes, 200)-i), func(s *store.Spec) { s.Queue = name })
		for j := range specs {
			specs[j].Lane = fmt.Sprint((i + j) % lanes)
		}
		w.submit(specs...)
	}
	var times []time.Duration
	cursor := ""
	for range 31 {
		req := k.request(0)
		req.Queues = []store.QueueSlots{{Queue: name, Slots: 5, Cursor: cursor}}
		begin := time.Now()
		res := k.ask(req)
		times = append(times, time.Since(begin))
		if cursor = res.Cursors[name]; len(res.Tasks) != 5 {
			w.t.Fatalf("Claim took %d tasks, want 5", len(res.Tasks))
		}
		k.beat()
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// measure returns the median times of the operations that must not cost what is stored.
func measure(w *world, k *worker) map[string]time.Duration {
	w.t.Helper()
	times := map[string][]time.Duration{}
	timed := func(op string, do func()) {
		begin := time.Now()
		do()
		times[op] = append(times[op], time.Since(begin))
	}
	for range 51 {
		w.put(retain(-1))
		var task store.Task
		timed("Claim", func() { task = k.take(costKinds...) })
		timed("Complete", func() { k.done(task) })
		timed("Claim of nothing", func() { k.claim(1, costKinds...) })
		timed("Promote", func() { w.promote() })
		timed("Recover", func() { k.recover() })
		timed("Prune", func() { w.prune() })
		timed("Beat", func() { k.beat() })
	}
	medians := map[string]time.Duration{}
	for op, all := range times {
		slices.Sort(all)
		medians[op] = all[len(all)/2]
	}
	return medians
}

// flood submits n tasks in calls of a thousand, in a hundred lanes.
func (w *world) flood(n int, edits ...edit) {
	w.t.Helper()
	for i := 0; i < n; i += 1000 {
		specs := w.specs(min(1000, n-i), edits...)
		for j := range specs {
			if specs[j].Lane == "" {
				specs[j].Lane = fmt.Sprint((i + j) % 100)
			}
		}
		w.submit(specs...)
	}
}

func ofKind(name string) edit { return func(s *store.Spec) { s.Kind, s.Priority = name, 5 } }

func costUnserved(w *world, _ *worker, n int) { w.flood(n, ofKind("unserved")) }

func costHeld(w *world, _ *worker, n int) {
	g := w.group(store.NewGroup{})
	w.flood(n, ofKind("held"), func(s *store.Spec) { s.Group = g })
}

func costPaused(w *world, _ *worker, n int) {
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Kind: "paused"}, 0, "test"))
	w.flood(n, ofKind("paused"))
}

func costLimited(w *world, k *worker, n int) {
	w.limit(store.Limit{Key: "full", Running: 1})
	w.flood(n, ofKind("limited"), limited("full"))
	k.take("limited")
}

func costOrdered(w *world, k *worker, n int) {
	w.put(ofKind("ordered"), lane("chain"), ordered(store.OrderSkip))
	k.take("ordered")
	w.flood(n, ofKind("ordered"), lane("chain"), ordered(store.OrderSkip))
}

func costScheduled(w *world, _ *worker, n int) { w.flood(n, ofKind("scheduled"), w.delay(1_000_000)) }

func costTerminal(w *world, k *worker, n int) {
	for i := 0; i < n; i += 1000 {
		w.flood(min(1000, n-i), ofKind("terminal"), retain(-1))
		var req store.CompleteRequest
		for _, task := range k.claim(1000, "terminal") {
			req.Items = append(req.Items, store.Completion{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}})
		}
		_, err := k.st.Complete(w.ctx(), req)
		w.ok("Complete", err)
	}
}

func costGroups(w *world, _ *worker, n int) {
	for i := 0; i < n; i += 1000 {
		groups := make([]store.NewGroup, min(1000, n-i))
		for j := range groups {
			groups[j] = store.NewGroup{ID: w.id(), Seal: true, Retention: w.units(1_000_000)}
		}
		_, err := w.st.Submit(w.ctx(), store.SubmitRequest{Groups: groups})
		w.ok("Submit", err)
	}
}
