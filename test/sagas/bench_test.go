package sagas

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/storetest"
)

// empty is a saga of so many empty steps; async of them, the last ones, have a queue.
func empty(steps, async int) *saga.Def[int, int] {
	return saga.Define(fmt.Sprintf("empty-%d-%d", steps, async), func(b *saga.Builder[int]) *saga.Node[int] {
		var last *saga.Node[int]
		from := b.In()
		for i := range steps {
			last = saga.Step1(b, fmt.Sprintf("s%d", i), func(_ context.Context, n int) (int, error) { return n + 1, nil }, from)
			if i >= steps-async {
				last.Async("q")
			}
			from = last
		}
		return last
	})
}

// bench runs a worker on an engine, whose writes are counted.
func bench(b *testing.B, e engine, def *saga.Def[int, int]) (*kernel.Kernel, *atomic.Int64) {
	b.Helper()
	var writes atomic.Int64
	st := storetest.Wrap(e.open(b)(), func(_ context.Context, op string, do func() error) error {
		switch op {
		case "Submit", "Save", "Complete":
			writes.Add(1)
		}
		return do()
	})
	k, err := kernel.New(store.Store(st), kernel.Config{Slots: map[string]int{"default": 64, "q": 64}, Logger: quiet(b)})
	if err != nil {
		b.Fatal(err)
	}
	def.Serve(k)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = k.Run(ctx) })
	b.Cleanup(func() {
		cancel()
		group.Wait()
		k.Close()
	})
	return k, &writes
}

// Sagas of empty steps per second, 32 callers at once.
func BenchmarkSagas(b *testing.B) {
	for _, e := range engines {
		for _, steps := range []int{3, 5} {
			for _, here := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/steps=%d/caller=%v", e.name, steps, here), func(b *testing.B) {
					def := empty(steps, 0)
					k, _ := bench(b, e, def)
					b.SetParallelism(16)
					b.ResetTimer()
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							run(b, def, k, here)
						}
					})
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sagas/s")
				})
			}
		}
	}
}

func run(b *testing.B, def *saga.Def[int, int], k *kernel.Kernel, here bool) {
	b.Helper()
	start := def.Start
	if here {
		start = def.Run
	}
	h, err := start(b.Context(), k, 0, saga.Options{})
	if err == nil {
		_, err = h.Wait(b.Context())
	}
	if err != nil {
		b.Error(err)
	}
}

// One saga at a time: how long it takes, and how many commits it costs. The one with a hand-off against the one without is what a hand-off costs.
func BenchmarkHandOff(b *testing.B) {
	for _, e := range engines {
		for _, async := range []int{0, 1} {
			for _, here := range []bool{true, false} {
				b.Run(fmt.Sprintf("%s/steps=5/async=%d/caller=%v", e.name, async, here), func(b *testing.B) {
					def := empty(5, async)
					k, writes := bench(b, e, def)
					run(b, def, k, here)
					before := writes.Load()
					times := make([]time.Duration, 0, b.N)
					b.ResetTimer()
					for range b.N {
						begin := time.Now()
						run(b, def, k, here)
						times = append(times, time.Since(begin))
					}
					slices.Sort(times)
					b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
					b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "p99-ms")
					b.ReportMetric(float64(writes.Load()-before)/float64(b.N), "commits")
				})
			}
		}
	}
}

// The workload of the seed: five steps of 20 ms, one of them Async, against the same functions called one after the other.
func BenchmarkOverhead(b *testing.B) {
	work := func(_ context.Context, n int) (int, error) {
		<-time.After(20 * time.Millisecond)
		return n + 1, nil
	}
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			def := saga.Define("overhead", func(b *saga.Builder[int]) *saga.Node[int] {
				last := saga.Step1(b, "s0", work, b.In())
				for i := 1; i < 5; i++ {
					last = saga.Step1(b, fmt.Sprintf("s%d", i), work, last)
					if i == 2 {
						last.Async("q")
					}
				}
				return last
			})
			k, _ := bench(b, e, def)
			run(b, def, k, true)
			var plain, inSaga []time.Duration
			b.ResetTimer()
			for range b.N {
				begin := time.Now()
				for range 5 {
					_, _ = work(b.Context(), 0)
				}
				plain = append(plain, time.Since(begin))
				begin = time.Now()
				run(b, def, k, true)
				inSaga = append(inSaga, time.Since(begin))
			}
			slices.Sort(plain)
			slices.Sort(inSaga)
			b.ReportMetric(100*(float64(inSaga[b.N/2])/float64(plain[b.N/2])-1), "%-more-p50")
		})
	}
}
