package part

import (
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Loop calls fn again and again in the goroutines of an order, for its time, and tells how many calls a second, and how long they took.
func Loop(o Order, fn func(g int) error) (Report, error) {
	took := make([][]time.Duration, o.Goroutines)
	c := start(o.Server)
	err := parallel(o.Goroutines, func(g int) error {
		for time.Since(c.at) < o.For {
			begin := time.Now()
			if err := fn(g); err != nil {
				return err
			}
			took[g] = append(took[g], time.Since(begin))
		}
		return nil
	})
	all := slices.Concat(took...)
	n := len(all)
	return c.report(n, with(quantiles(all), "rate", float64(n)/time.Since(c.at).Seconds())), err
}

// Heap runs the tasks of an order by fn and tells their rate, and by how many KiB the process grew for each that is in flight.
func Heap(o Order, fn func() error) (Report, error) {
	runtime.GC()
	debug.FreeOSMemory()
	before, most := Memory(), 0.0
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, Memory())
			case <-stop:
				return
			}
		}
	})
	c := start(o.Server)
	err := fn()
	r := c.report(o.Tasks, map[string]float64{"rate": float64(o.Tasks) / time.Since(c.at).Seconds()})
	close(stop)
	group.Wait()
	if before < 0 {
		return r, errors.Join(err, errors.New("the memory of a process cannot be told here"))
	}
	r.Values["memory"] = (most - before) / float64(o.Slots)
	return r, err
}

// Parallel calls fn in so many goroutines and waits for all.
func Parallel(goroutines int, fn func(g int) error) error { return parallel(goroutines, fn) }

// Quantiles are the median and the 99th percentile in milliseconds, as p50 and p99.
func Quantiles(list []time.Duration) map[string]float64 {
	if len(list) == 0 {
		return map[string]float64{}
	}
	return quantiles(list)
}
