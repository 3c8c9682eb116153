package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// benchPart is one thing that was measured.
type benchPart struct {
	Name    string  `json:"name"`
	What    string  `json:"what"`
	Tasks   int     `json:"tasks"`
	Seconds float64 `json:"seconds"`
	PerSec  float64 `json:"tasks_per_second,omitempty"`
	P50     float64 `json:"p50_ms,omitempty"`
	P99     float64 `json:"p99_ms,omitempty"`
}

func (p benchPart) figure() cli.Cell {
	text := cli.Thousands(int64(p.PerSec)) + " tasks/s"
	if p.P50 > 0 {
		text = fmt.Sprintf("p50 %.2f ms, p99 %.2f ms", p.P50, p.P99)
	}
	return cli.Cell{Text: text, Right: true}
}

const (
	benchKind  = "bench.nothing"
	benchStock = "stock" // the queue of what is submitted, and drained then
	benchLive  = "live"  // the queue of what runs at once: what is left of the stock does not stand in its way
	benchSlots = 100
	benchBulk  = 1000
	benchMany  = 16
)

// bencher measures a store.
type bencher struct {
	l     *cli.Line
	st    store.Store
	most  int           // tasks of a part
	share time.Duration // of a part
	ran   atomic.Int64
	start chan time.Time // when the handler began, of the part that wants to know; nil: none does
}

// measure runs all parts, one after the other.
func measure(ctx context.Context, l *cli.Line, st store.Store) (benchReport, error) {
	info := st.Info()
	r := benchReport{Engine: info.Engine, Version: info.Version, Namespace: info.Namespace, Survives: info.Survives, Settings: map[string]string{}}
	if i, ok := st.(inspector); ok {
		settings, err := i.Settings(ctx)
		if err != nil {
			return r, err
		}
		r.Settings = settings
	}
	b := &bencher{l: l, st: st, most: l.Number("tasks"), share: time.Duration(l.Number("seconds")) * time.Second / 6}
	for _, part := range []func(context.Context) (benchPart, error){
		func(ctx context.Context) (benchPart, error) { return b.submit(ctx, 1) },
		func(ctx context.Context) (benchPart, error) { return b.submit(ctx, benchMany) },
		b.bulk, b.drain, b.through, b.idle,
	} {
		p, err := part(ctx)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return r, err
		}
		r.Parts = append(r.Parts, p)
	}
	return r, nil
}

// rate is a part that counts tasks.
func (b *bencher) rate(name, what string, tasks int, begin time.Time) benchPart {
	took := b.l.Now().Sub(begin).Seconds()
	return benchPart{Name: name, What: what, Tasks: tasks, Seconds: took, PerSec: float64(tasks) / max(took, 1e-9)}
}

// kernel makes one that does nothing, well.
func (b *bencher) kernel(queue string) (*kernel.Kernel, error) {
	k, err := kernel.New(b.st, kernel.Config{Slots: map[string]int{queue: benchSlots}, ShutdownTimeout: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	k.Handle(benchKind, func(context.Context, *kernel.Run) (kernel.Outcome, error) {
		if b.start != nil {
			b.start <- b.l.Now()
		}
		b.ran.Add(1)
		return kernel.Done(nil), nil
	})
	return k, nil
}

func benchSpec(queue string) kernel.Spec {
	return kernel.Spec{Kind: benchKind, Queue: queue, Retention: kernel.Forget}
}

// send submits tasks one at a time from so many callers, until there are enough or the time is up.
func (b *bencher) send(ctx context.Context, k *kernel.Kernel, queue string, callers int) (int, error) {
	var crew sync.WaitGroup
	var taken, sent atomic.Int64
	end := b.l.Now().Add(b.share)
	errs := make([]error, callers)
	for i := range callers {
		crew.Go(func() {
			for errs[i] == nil && b.l.Now().Before(end) && taken.Add(1) <= int64(b.most) {
				if _, errs[i] = k.Submit(ctx, benchSpec(queue)); errs[i] == nil {
					sent.Add(1)
				}
			}
		})
	}
	crew.Wait()
	return int(sent.Load()), errors.Join(errs...)
}

// submit measures how fast tasks are accepted, each durable before the next is sent by the same caller.
func (b *bencher) submit(ctx context.Context, callers int) (benchPart, error) {
	k, err := b.kernel(benchStock)
	if err != nil {
		return benchPart{}, err
	}
	defer k.Close()
	begin := b.l.Now()
	n, err := b.send(ctx, k, benchStock, callers)
	return b.rate(fmt.Sprintf("submit_%d", callers), fmt.Sprintf("one task per call, %d callers", callers), n, begin), err
}

// bulk measures how fast tasks are accepted by the thousand.
func (b *bencher) bulk(ctx context.Context) (benchPart, error) {
	k, err := b.kernel(benchStock)
	if err != nil {
		return benchPart{}, err
	}
	defer k.Close()
	begin, n := b.l.Now(), 0
	for n < b.most && b.l.Now().Sub(begin) < b.share {
		specs := make([]kernel.Spec, min(benchBulk, b.most-n))
		for i := range specs {
			specs[i] = benchSpec(benchStock)
		}
		if _, err := k.SubmitMany(ctx, specs); err != nil {
			return benchPart{}, err
		}
		n += len(specs)
	}
	return b.rate("submit_bulk", fmt.Sprintf("%d tasks per call", benchBulk), n, begin), nil
}

// run works in this process while fn goes on.
func (b *bencher) run(ctx context.Context, queue string, fn func(k *kernel.Kernel) error) error {
	k, err := b.kernel(queue)
	if err != nil {
		return err
	}
	defer k.Close()
	work, stop := context.WithCancel(ctx)
	var crew sync.WaitGroup
	var ran error
	crew.Go(func() { ran = k.Run(work) })
	err = fn(k)
	stop()
	crew.Wait()
	return errors.Join(err, ran)
}

// until waits until nothing of a queue is left to do, or enough was done.
func (b *bencher) until(ctx context.Context, queue string, enough func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 100_000 {
		list, err := b.st.Queues(ctx)
		if err != nil {
			return err
		}
		busy := slices.ContainsFunc(list, func(q store.QueueStatus) bool { return q.Queue == queue && q.Ready+q.Running+q.Scheduled > 0 })
		if !busy || enough() {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errors.New("the tasks do not end")
}

// drain measures how fast one process works off what waits: what the parts before have submitted.
func (b *bencher) drain(ctx context.Context) (p benchPart, err error) {
	err = b.run(ctx, benchStock, func(*kernel.Kernel) error {
		begin, before := b.l.Now(), b.ran.Load()
		err := b.until(ctx, benchStock, func() bool { return b.l.Now().Sub(begin) > b.share && b.ran.Load() > before }) // a busy machine may take longer to begin
		p = b.rate("drain", fmt.Sprintf("what waits is worked off by one process with %d slots", benchSlots), int(b.ran.Load()-before), begin)
		return err
	})
	return p, err
}

// through measures submit and work together, in one process.
func (b *bencher) through(ctx context.Context) (p benchPart, err error) {
	err = b.run(ctx, benchLive, func(k *kernel.Kernel) error {
		begin := b.l.Now()
		n, err := b.send(ctx, k, benchLive, benchMany)
		if err == nil {
			err = b.until(ctx, benchLive, func() bool { return false })
		}
		p = b.rate("end_to_end", fmt.Sprintf("from submit to done; %d callers and %d slots in one process", benchMany, benchSlots), n, begin)
		return err
	})
	return p, err
}

// idle measures how soon a task begins that is submitted to a worker that waits.
func (b *bencher) idle(ctx context.Context) (p benchPart, err error) {
	b.start = make(chan time.Time, 1)
	defer func() { b.start = nil }()
	var took []float64
	begin := b.l.Now()
	err = b.run(ctx, benchLive, func(k *kernel.Kernel) error {
		for i := 0; i < 1000 && b.l.Now().Sub(begin) < b.share || i < 20; i++ {
			at := b.l.Now()
			if _, err := k.Submit(ctx, benchSpec(benchLive)); err != nil {
				return err
			}
			select {
			case started := <-b.start:
				took = append(took, started.Sub(at).Seconds()*1000)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	if err != nil || len(took) == 0 {
		return p, err
	}
	slices.Sort(took)
	return benchPart{
		Name: "idle_latency", What: "from the call of submit to the begin of the run; one task at a time", Tasks: len(took),
		Seconds: b.l.Now().Sub(begin).Seconds(), P50: took[len(took)/2], P99: took[len(took)*99/100],
	}, nil
}
