//go:build unix

package turns

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/test/servers"
)

// bench is a store and a worker on it.
type bench struct {
	b  *testing.B
	st store.Store
}

func newID() store.ID {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return store.MakeID(time.Now(), random)
}

// onEngines runs a benchmark on each engine. other opens another store of the same server, which shares nothing with it.
func onEngines(b *testing.B, fn func(w, other *bench)) {
	for name, url := range map[string]func(b *testing.B) (string, string){
		"memory": func(*testing.B) (string, string) { return "memory:", "memory:" },
		"sqlite": func(b *testing.B) (string, string) {
			return "sqlite:" + filepath.Join(b.TempDir(), "bench.db"), "sqlite:" + filepath.Join(b.TempDir(), "other.db")
		},
		"postgres": func(b *testing.B) (string, string) {
			url := servers.StartPostgres(b).URL()
			return url, named(b, url)
		},
		"redis": func(b *testing.B) (string, string) {
			url := servers.NewRedis(b, servers.RedisConfig{}).URL()
			return url, named(b, url)
		},
	} {
		b.Run(name, func(b *testing.B) {
			one, two := url(b)
			fn(open(b, one), open(b, two))
		})
	}
}

// named is the address of another namespace of a server.
func named(b *testing.B, address string) string {
	b.Helper()
	u, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	q := u.Query()
	q.Set("namespace", "other")
	u.RawQuery = q.Encode()
	return u.String()
}

func open(b *testing.B, url string) *bench {
	b.Helper()
	st, err := engine.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	err = st.Join(b.Context(), store.JoinRequest{ID: "bench", Beat: time.Minute, DeadAfter: 10 * time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	return &bench{b, st}
}

// fill submits tasks, n at a time.
func (w *bench) fill(n int, spec func(i int) store.Spec) {
	for from := 0; from < n; from += 500 {
		var specs []store.Spec
		for i := from; i < min(from+500, n); i++ {
			s := spec(i)
			s.ID, s.Kind = newID(), "work"
			specs = append(specs, s)
		}
		if _, err := w.st.Submit(w.b.Context(), store.SubmitRequest{Specs: specs}); err != nil {
			w.b.Fatal(err)
		}
	}
}

// turn claims up to n tasks of a queue and completes them. It returns how long the claim took.
func (w *bench) turn(queue, cursor string, n int) (time.Duration, string) {
	begin := time.Now()
	res, err := w.st.Claim(w.b.Context(), store.ClaimRequest{
		Worker: "bench", Nonce: newID(), Kinds: []string{"work"}, Queues: []store.QueueSlots{{Queue: queue, Slots: n, Cursor: cursor}},
	})
	took := time.Since(begin)
	if err != nil || len(res.Tasks) != n {
		w.b.Fatalf("Claim = %d tasks, %v, want %d", len(res.Tasks), err, n)
	}
	var items []store.Completion
	for _, t := range res.Tasks {
		items = append(items, store.Completion{Fence: t.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}})
	}
	if _, err := w.st.Complete(w.b.Context(), store.CompleteRequest{Items: items}); err != nil {
		w.b.Fatal(err)
	}
	return took, res.Cursors[queue]
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// Claims under a limit, with two rates, beside claims without: in turn, so that whatever else the machine does hits both.
func BenchmarkClaimsUnderLimits(b *testing.B) {
	const size, rounds = 20, 60
	onEngines(b, func(w, _ *bench) {
		limit := store.Limit{Key: "l", Running: 1 << 20, Rates: []store.Rate{{N: 1 << 20, Per: time.Second}, {N: 1 << 28, Per: time.Hour}}}
		if _, err := w.st.PutLimit(w.b.Context(), limit); err != nil {
			w.b.Fatal(err)
		}
		for w.b.Loop() {
			w.fill(size*rounds, func(int) store.Spec { return store.Spec{Queue: "plain"} })
			w.fill(size*rounds, func(int) store.Spec { return store.Spec{Queue: "bound", Limit: "l"} })
			var plain, bound []time.Duration
			for range rounds {
				p, _ := w.turn("plain", "", size)
				l, _ := w.turn("bound", "", size)
				plain, bound = append(plain, p), append(bound, l)
			}
			w.b.ReportMetric(float64(median(bound))/float64(median(plain)), "limited/plain")
			w.b.ReportMetric(float64(median(plain).Microseconds()), "plain-µs")
		}
	})
}

// Claims in a store with 100,000 keys that have limits and nothing runs under, beside the same in one without: in turn.
func BenchmarkClaimsBesideIdleKeys(b *testing.B) {
	const size, rounds, keys, parts = 20, 60, 100_000, 32
	onEngines(b, func(w, other *bench) {
		put := func(w *bench, l store.Limit) {
			if _, err := w.st.PutLimit(w.b.Context(), l); err != nil {
				w.b.Error(err)
			}
		}
		busy := store.Limit{Key: "busy", Running: 1 << 20}
		put(w, busy)
		put(other, busy)
		var group sync.WaitGroup
		for part := range parts {
			group.Go(func() {
				for i := part; i < keys; i += parts {
					put(w, store.Limit{Key: fmt.Sprintf("idle %d", i), Running: 1 << 20, Rates: []store.Rate{{N: 1 << 20, Per: time.Hour}}[:i%2]})
				}
			})
		}
		group.Wait()
		for w.b.Loop() {
			var with, without []time.Duration
			for _, side := range []*bench{w, other} {
				side.fill(size*rounds, func(int) store.Spec { return store.Spec{Queue: "q", Limit: "busy"} })
			}
			for range rounds {
				a, _ := w.turn("q", "", size)
				c, _ := other.turn("q", "", size)
				with, without = append(with, a), append(without, c)
			}
			w.b.ReportMetric(float64(median(with))/float64(median(without)), "idle/none")
			w.b.ReportMetric(float64(median(without).Microseconds()), "none-µs")
		}
	})
}

// Claims from a queue with many lanes that all have work, beside one with ten.
func BenchmarkClaimsFromManyLanes(b *testing.B) {
	const size, rounds = 10, 20
	for _, lanes := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(lanes), func(b *testing.B) {
			onEngines(b, func(w, _ *bench) {
				for w.b.Loop() {
					w.fill(size*rounds*2, func(i int) store.Spec { return store.Spec{Queue: "few", Lane: fmt.Sprint(i % 10)} })
					w.fill(max(lanes, size*rounds*2), func(i int) store.Spec { return store.Spec{Queue: "many", Lane: fmt.Sprint(i % lanes)} })
					var few, many []time.Duration
					cursors := [2]string{}
					for range rounds {
						var a, c time.Duration
						a, cursors[0] = w.turn("few", cursors[0], size)
						c, cursors[1] = w.turn("many", cursors[1], size)
						few, many = append(few, a), append(many, c)
					}
					w.b.ReportMetric(float64(median(many))/float64(median(few)), "many/few")
					w.b.ReportMetric(float64(median(many).Microseconds()), "many-µs")
				}
			})
		})
	}
}
