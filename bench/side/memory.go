package side

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/bench/part"
)

// measureMemory lets a worker run tasks at a steady pace for the time of the order, and tells its memory after a twelfth of it, when its
// caches are full, and at the end: resident, and of the heap after a collection, in MiB.
func measureMemory(ctx context.Context, o part.Order, _ *part.Wire) (r part.Report, err error) {
	q, err := openOurs(ctx, o)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	ctx, stop := context.WithTimeout(ctx, o.For)
	defer stop()
	var ran atomic.Int64
	var fed, worked error
	var group sync.WaitGroup
	group.Go(func() { fed = feed(ctx, q) })
	group.Go(func() { worked = q.Work(ctx, func(context.Context, int64) { ran.Add(1) }) })
	r = part.Report{CPU: -1, ServerCPU: -1, Values: map[string]float64{}}
	begun := time.Now()
	for i := range 12 {
		select {
		case <-time.After(time.Until(begun.Add(o.For * time.Duration(i+1) / 12).Add(-o.For / 100))):
		case <-ctx.Done():
		}
		heap, resident := occupied()
		if i == 0 {
			r.Values["heap before"], r.Values["resident before"] = heap, resident
		}
		r.Values["heap"], r.Values["resident"] = heap, resident
		r.Notes = append(r.Notes, fmt.Sprintf("after %v: %.1f MiB resident, %.1f MiB of heap, %d tasks", time.Since(begun).Round(time.Second), resident, heap, ran.Load()))
	}
	stop()
	group.Wait()
	r.Tasks = int(ran.Load())
	if r.Tasks == 0 {
		err = errors.New("no tasks ran")
	}
	return r, errors.Join(err, fed, worked)
}

// feed submits four hundred tasks a second.
func feed(ctx context.Context, q part.Queue) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if err := q.SubmitMany(ctx, hundred); err != nil && ctx.Err() == nil {
			return fmt.Errorf("submit: %w", err)
		}
	}
}

// occupied is the memory of this process in MiB: of the heap, and resident.
func occupied() (heap, resident float64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / mebi, part.Memory() / 1024
}
