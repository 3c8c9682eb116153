package redis_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// few is a store with many tasks that have ended, and one in each of some other states.
type few struct {
	t      *testing.T
	s      *redis.Store
	server *servers.Redis
	in     map[store.State]store.ID
}

func newFew(t *testing.T, ended int) *few {
	t.Helper()
	server := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	mustJoin(t, s, "w")
	f := &few{t: t, s: s, server: server, in: map[store.State]store.ID{}}
	f.in[store.Parked] = f.run(1, store.Outcome{Kind: store.OutcomePark})
	f.in[store.Failed] = f.run(1, store.Outcome{Kind: store.OutcomeFail})
	f.run(ended, store.Outcome{Kind: store.OutcomeDone})
	f.in[store.Running] = f.run(1, store.Outcome{})
	later, now := newSpec(), newSpec()
	later.Delay = time.Hour
	mustSubmit(t, s, []store.Spec{later, now})
	f.in[store.Scheduled], f.in[store.Ready] = later.ID, now.ID
	return f
}

// run submits so many tasks, claims them and ends them so; an empty outcome leaves them running. It returns the id of the last one.
func (f *few) run(n int, out store.Outcome) (last store.ID) {
	f.t.Helper()
	for ; n > 0; n -= min(n, 500) {
		mustSubmit(f.t, f.s, specs(min(n, 500)))
		res, err := f.s.Claim(f.t.Context(), claimOf("w", 500))
		if err != nil || len(res.Tasks) != min(n, 500) {
			f.t.Fatalf("Claim = %d tasks, %v, want %d", len(res.Tasks), err, min(n, 500))
		}
		var req store.CompleteRequest
		for _, t := range res.Tasks {
			last = t.ID
			req.Items = append(req.Items, store.Completion{Fence: t.Fence(), Outcome: out})
		}
		if out.Kind == "" {
			continue
		}
		if _, err := f.s.Complete(f.t.Context(), req); err != nil {
			f.t.Fatal(err)
		}
	}
	return last
}

// lookups is how many keys the server has looked up so far.
func (f *few) lookups() int {
	f.t.Helper()
	sum := 0
	for _, name := range []string{"keyspace_hits", "keyspace_misses"} {
		n, err := strconv.Atoi(field(f.server.Do("INFO", "stats"), name))
		if err != nil {
			f.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// listed lists by states and returns the ids, and how many keys were looked up for them.
func (f *few) listed(states ...store.State) ([]store.ID, int) {
	f.t.Helper()
	before := f.lookups()
	page, err := f.s.List(f.t.Context(), store.Filter{States: states}, store.PageRequest{})
	if err != nil {
		f.t.Fatal(err)
	}
	cost := f.lookups() - before
	var ids []store.ID
	for _, t := range page.Items {
		ids = append(ids, t.ID)
	}
	return ids, cost
}

func TestAListOfWhatHasNotEndedCostsWhatItReturns(t *testing.T) {
	f := newFew(t, 3000)
	for state, id := range f.in {
		t.Run(string(state), func(t *testing.T) {
			ids, cost := f.listed(state)
			if !slices.Equal(ids, []store.ID{id}) {
				t.Errorf("List of %s = %v, want %v", state, ids, id)
			}
			if cost > 30 {
				t.Errorf("List of %s looked up %d keys, want few: it found %d", state, cost, len(ids))
			}
		})
	}
	ids, cost := f.listed(store.Ready, store.Running, store.Scheduled, store.Parked)
	if len(ids) != 4 || cost > 60 {
		t.Errorf("List of four states = %d tasks by %d keys, want 4 by few", len(ids), cost)
	}
}

// A program of an older version parks tasks without an index of those that wait for no time. They are listed all the same.
func TestWhatAnOlderProgramHasParkedIsListed(t *testing.T) {
	f := newFew(t, 600)
	key := "outlast:{default}:idle"
	if got := f.server.Do("TYPE", key); got != "zset" {
		t.Fatalf("%s is a %s, want a zset: this test is about it", key, got)
	}
	f.server.Do("DEL", key)
	if ids, _ := f.listed(store.Parked); !slices.Equal(ids, []store.ID{f.in[store.Parked]}) {
		t.Errorf("List of parked = %v, want %v", ids, f.in[store.Parked])
	}
	running := f.in[store.Running]
	// One that an older program has woken is left behind in the index; another is missing in it.
	f.server.Do("ZADD", key, "0", string(running[:]))
	if ids, _ := f.listed(store.Parked, store.Scheduled); len(ids) != 2 {
		t.Errorf("List of parked and scheduled = %v, want 2", ids)
	}
}

// What is too much to be found at once is found piece by piece.
func TestAListOfManyThatWaitIsWhole(t *testing.T) {
	s := mustOpen(t)
	const n = 5200
	want := map[store.ID]bool{}
	for range n / 400 {
		list := specs(400)
		mustSubmit(t, s, list)
		for _, spec := range list {
			want[spec.ID] = true
		}
	}
	page := store.PageRequest{Limit: 1000}
	f := store.Filter{States: []store.State{store.Ready}, Queue: "default"}
	for {
		p, err := s.List(t.Context(), f, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range p.Items {
			if !want[task.ID] {
				t.Fatalf("List = %v again, or another's", task.ID)
			}
			delete(want, task.ID)
		}
		if page.Cursor = p.Cursor; page.Cursor == "" {
			break
		}
	}
	if len(want) > 0 {
		t.Errorf("List lacks %d of %d tasks", len(want), n)
	}
}
