package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func listTests() []test {
	return []test{
		{"pages cover all, once, newest or oldest first", listPages},
		{"a page is stable while others come", listStable},
		{"every filter picks what it says", listFilters},
		{"filters are joined by and", listAnd},
		{"what has failed, what runs and what waits are listed apart and together", listStates},
		{"what moves is listed by the state that it is in", listMoving},
		{"members of a group are listed by line, then id", listLines},
		{"payload comes only if it is asked for", listPayload},
		{"limit 0 is 100, and 1,000 is the most", listLimits},
		{"a unique key needs exactly one kind", listUnique},
	}
}

func (w *world) pages(f store.Filter, page store.PageRequest) []store.ID {
	w.t.Helper()
	var all []store.ID
	for range 10_000 {
		p, err := w.st.List(w.ctx(), f, page)
		w.ok("List", err)
		if len(p.Items) > page.Limit {
			w.t.Errorf("List = %d tasks, want at most %d", len(p.Items), page.Limit)
		}
		all = append(all, ids(p.Items)...)
		if page.Cursor = p.Cursor; page.Cursor == "" {
			return all
		}
	}
	w.t.Fatalf("List never came to its last page")
	return nil
}

func listPages(_ *testing.T, w *world) {
	specs := w.specs(23)
	w.submit(specs...)
	want := specIDs(specs)
	for _, limit := range []int{1, 5, 22, 23, 24} {
		w.sameIDs("List oldest first", w.pages(store.Filter{}, store.PageRequest{Limit: limit, Oldest: true}), want)
		newest := slices.Clone(want)
		slices.Reverse(newest)
		w.sameIDs("List newest first", w.pages(store.Filter{}, store.PageRequest{Limit: limit}), newest)
	}
}

func listStable(_ *testing.T, w *world) {
	specs := w.specs(6)
	w.submit(specs...)
	first, err := w.st.List(w.ctx(), store.Filter{}, store.PageRequest{Limit: 3})
	w.ok("List", err)
	w.submit(w.specs(3)...)
	second, err := w.st.List(w.ctx(), store.Filter{}, store.PageRequest{Limit: 3, Cursor: first.Cursor})
	w.ok("List", err)
	want := specIDs(specs)
	slices.Reverse(want)
	w.sameIDs("List", append(ids(first.Items), ids(second.Items)...), want)
}

// Instants that are farther away than nanoseconds of 64 bits reach.
var farAhead, farBehind = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1066, 10, 14, 0, 0, 0, 0, time.UTC)

func listFilters(_ *testing.T, w *world) {
	k := w.join()
	parent := w.put(func(s *store.Spec) { s.Kind = "parent" })
	w.pass(2)
	early := w.now()
	w.pass(2)
	g := w.group(store.NewGroup{}, w.spec(func(s *store.Spec) { s.Kind, s.Labels = "member", map[string]string{"a": "1", "b": "2"} }))
	member := w.list(store.Filter{Group: g})
	child := w.put(func(s *store.Spec) { s.Kind, s.Parent, s.Queue = "child", parent, "other" })
	running := k.start(func(s *store.Spec) { s.Kind, s.Labels = "runs", map[string]string{"a": "1"} })
	done := k.start(func(s *store.Spec) { s.Kind = "done" })
	k.done(done)
	w.pass(2)
	keyed := w.put(unique(store.Keep, 0))
	if len(member) != 1 {
		w.t.Fatalf("List of the group = %d, want 1", len(member))
	}
	for name, c := range map[string]struct {
		filter store.Filter
		want   []store.ID
	}{
		"nothing":       {store.Filter{Queue: "none"}, nil},
		"states":        {store.Filter{States: []store.State{store.Done, store.Running}}, []store.ID{running.ID, done.ID}},
		"ending":        {store.Filter{States: []store.State{store.Ending}}, []store.ID{running.ID}},
		"kinds":         {store.Filter{Kinds: []string{"child", "parent"}}, []store.ID{parent, child}},
		"queue":         {store.Filter{Queue: "other"}, []store.ID{child}},
		"group":         {store.Filter{Group: g}, ids(member)},
		"parent":        {store.Filter{Parent: parent}, []store.ID{child}},
		"worker":        {store.Filter{Worker: k.id}, []store.ID{running.ID}},
		"label":         {store.Filter{Labels: map[string]string{"a": "1"}}, []store.ID{member[0].ID, running.ID}},
		"labels":        {store.Filter{Labels: map[string]string{"a": "1", "b": "2"}}, ids(member)},
		"another value": {store.Filter{Labels: map[string]string{"a": "2"}}, nil},
		"unique":        {store.Filter{Unique: "key", Kinds: []string{kind}}, []store.ID{keyed}},
		"before":        {store.Filter{Before: early}, []store.ID{parent}},
		"after":         {store.Filter{After: w.now().Add(-w.u)}, []store.ID{keyed}},
		"after the end": {store.Filter{After: farAhead}, nil},
		"before time":   {store.Filter{Before: farBehind}, nil},
		"in all time":   {store.Filter{Before: farAhead, After: farBehind, Queue: "other"}, []store.ID{child}},
	} {
		got := ids(w.list(c.filter))
		if !slices.Equal(got, c.want) {
			w.t.Errorf("List by %s = %v, want %v", name, got, c.want)
		}
	}
}

func listAnd(_ *testing.T, w *world) {
	k := w.join()
	k.start()
	want := w.put(func(s *store.Spec) { s.Labels = map[string]string{"a": "1"} })
	w.put(func(s *store.Spec) { s.Kind, s.Labels = "other", map[string]string{"a": "1"} })
	got := w.list(store.Filter{Kinds: []string{kind}, States: []store.State{store.Ready}, Labels: map[string]string{"a": "1"}, Queue: queue})
	w.sameIDs("List", ids(got), []store.ID{want})
}

func listStates(_ *testing.T, w *world) {
	k := w.join()
	var failed, done, waiting []store.ID
	for i := range 7 {
		t := k.start(func(s *store.Spec) { s.Kind = fmt.Sprint("k", i%2) })
		if i%3 == 0 {
			k.end(t, store.Outcome{Kind: store.OutcomeDone})
			done = append(done, t.ID)
			continue
		}
		k.end(t, store.Outcome{Kind: store.OutcomeFail, Reason: "r"})
		failed = append(failed, t.ID)
	}
	held := k.start()
	for range 3 {
		waiting = append(waiting, w.put())
	}
	pick := func(states ...store.State) store.Filter { return store.Filter{States: states} }
	newest := func(list ...[]store.ID) []store.ID {
		all := slices.Concat(list...)
		slices.SortFunc(all, func(a, b store.ID) int { return slices.Compare(b[:], a[:]) })
		return all
	}
	for _, limit := range []int{2, 50} {
		page := store.PageRequest{Limit: limit}
		w.sameIDs("List of failed", w.pages(pick(store.Failed), page), newest(failed))
		w.sameIDs("List of failed, oldest first", w.pages(pick(store.Failed), store.PageRequest{Limit: limit, Oldest: true}), failed)
		w.sameIDs("List of ended", w.pages(pick(store.Failed, store.Done), page), newest(failed, done))
		w.sameIDs("List of failed and ready", w.pages(pick(store.Failed, store.Ready), page), newest(failed, waiting))
		w.sameIDs("List of running", w.pages(pick(store.Running), page), []store.ID{held.ID})
		w.sameIDs("List of a worker", w.pages(store.Filter{Worker: k.id}, page), []store.ID{held.ID})
		w.sameIDs("List of a worker's ended", w.pages(store.Filter{Worker: k.id, States: []store.State{store.Done, store.Failed}}, page), nil)
		w.sameIDs("List of a worker's running", w.pages(store.Filter{Worker: k.id, States: []store.State{store.Running, store.Done}}, page), []store.ID{held.ID})
		w.sameIDs("List of failed of a kind", w.pages(store.Filter{States: []store.State{store.Failed}, Kinds: []string{"k1"}}, page), newest(failed[:1], failed[3:]))
	}
}

// listMoving moves tasks through all states, and after each step lists them by every state, and by every two.
func listMoving(_ *testing.T, w *world) {
	k := w.join()
	all := []store.ID{w.put(), w.put(func(s *store.Spec) { s.Queue = "other" }), w.put(w.delay(5)), w.put(func(s *store.Spec) { s.Priority = 3 })}
	start := func() store.Task {
		t := k.start(func(s *store.Spec) { s.Kind = "moves" })
		all = append(all, t.ID)
		return t
	}
	w.listedByState(all)
	runs, parked, idle, held, failed := start(), start(), start(), start(), start()
	w.listedByState(all)
	k.end(parked, store.Outcome{Kind: store.OutcomePark, Delay: w.units(5)})
	k.park(idle)
	k.end(held, store.Outcome{Kind: store.OutcomeHold, Reason: "r"})
	k.end(failed, store.Outcome{Kind: store.OutcomeFail, Reason: "r"})
	k.end(start(), store.Outcome{Kind: store.OutcomeRetry, Delay: w.units(5)})
	k.end(start(), store.Outcome{Kind: store.OutcomeRelease})
	w.group(store.NewGroup{Hold: true}, w.spec(func(s *store.Spec) { all = append(all, s.ID) }))
	w.listedByState(all)
	k.done(runs)
	w.send(idle.ID, "go")
	w.ok("Free", w.st.Free(w.ctx(), held.ID))
	w.ok("Retry", w.st.Retry(w.ctx(), failed.ID))
	w.cancel(all[0])
	w.listedByState(all)
	w.pass(6)
	w.promote()
	k.claim(3, "moves")
	w.listedByState(all)
	w.prune()
	w.listedByState(all)
}

// listedByState lists some tasks, which are all there are, by every state and by every two, and compares that with what each of them says.
func (w *world) listedByState(all []store.ID) {
	w.t.Helper()
	in := map[store.State][]store.ID{}
	queues := map[store.ID]string{}
	for _, id := range all {
		t := w.get(id)
		in[t.State] = append(in[t.State], id)
		queues[id] = t.Queue
	}
	states := []store.State{
		store.Scheduled, store.Ready, store.Running, store.Parked, store.Held, store.Done, store.Failed, store.Cancelled,
	}
	for i, one := range states {
		for _, other := range states[i:] {
			want := slices.Clone(in[one])
			if other != one {
				want = append(want, in[other]...)
			}
			slices.SortFunc(want, func(a, b store.ID) int { return slices.Compare(a[:], b[:]) })
			f := store.Filter{States: []store.State{one, other}}
			w.sameIDs(fmt.Sprintf("List of %s and %s", one, other), w.pages(f, store.PageRequest{Limit: 2, Oldest: true}), want)
			f.Queue = "other"
			want = slices.DeleteFunc(want, func(id store.ID) bool { return queues[id] != "other" })
			w.sameIDs(fmt.Sprintf("List of %s and %s of a queue", one, other), w.pages(f, store.PageRequest{Limit: 2}), want)
		}
	}
}

func listLines(_ *testing.T, w *world) {
	a, b, c, d := w.spec(), w.spec(), w.spec(), w.spec()
	a.Line, b.Line, c.Line, d.Line = 3, 1, 1, -2
	g := w.group(store.NewGroup{}, a, b, c, d)
	want := []store.ID{d.ID, b.ID, c.ID, a.ID}
	for _, limit := range []int{1, 3, 9} {
		for _, oldest := range []bool{false, true} {
			w.sameIDs("List", w.pages(store.Filter{Group: g}, store.PageRequest{Limit: limit, Oldest: oldest}), want)
		}
	}
}

func listPayload(t *testing.T, w *world) {
	k := w.join()
	k.end(k.start(func(s *store.Spec) { s.Args = []byte("args") }), store.Outcome{Kind: store.OutcomeDone, Result: []byte("result")})
	for _, payload := range []bool{false, true} {
		p, err := w.st.List(w.ctx(), store.Filter{}, store.PageRequest{Payload: payload})
		w.ok("List", err)
		got := p.Items[0]
		if (len(got.Args) > 0) != payload || (len(got.Result) > 0) != payload || (len(got.History) > 0) != payload {
			t.Errorf("List with payload %v = args %q, result %q, %d events", payload, got.Args, got.Result, len(got.History))
		}
	}
}

func listLimits(t *testing.T, w *world) {
	w.submit(w.specs(1100)...)
	for limit, want := range map[int]int{0: 100, 1000: 1000, 5000: 1000} {
		p, err := w.st.List(w.ctx(), store.Filter{}, store.PageRequest{Limit: limit})
		w.ok("List", err)
		if len(p.Items) != want {
			t.Errorf("List with limit %d = %d tasks, want %d", limit, len(p.Items), want)
		}
	}
}

func listUnique(_ *testing.T, w *world) {
	for _, kinds := range [][]string{nil, {"a", "b"}} {
		_, err := w.st.List(w.ctx(), store.Filter{Unique: "key", Kinds: kinds}, store.PageRequest{})
		w.refused(fmt.Sprintf("List with %d kinds", len(kinds)), err, store.ErrInvalid)
	}
}
