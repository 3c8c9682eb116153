package side

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/storetest"
)

// Settings of an order for idle workers.
const (
	Unadvised = "unadvised" // they beat as often as they are set to, whatever the store advises
	Slow      = "slow"      // they are set to beat, and to look for the dead, every ten seconds
)

// perHandle is how many workers share a handle of the store, lest there be thousands of connections. A file of SQLite is shared by few
// processes, and each handle is one more that writes.
func perHandle(o part.Order) int {
	if strings.HasPrefix(o.URL, "sqlite:") {
		return 250
	}
	return 50
}

// idlers are workers without work and what they ask of the store.
type idlers struct {
	mu      sync.Mutex
	calls   map[string]*atomic.Int64 // by operation
	handles []store.Store
}

// measureIdle runs workers that have nothing to do, and tells how often they call the store, and how much of a core they and the server keep busy.
func measureIdle(ctx context.Context, o part.Order, _ *part.Wire) (r part.Report, err error) {
	f := &idlers{calls: map[string]*atomic.Int64{}}
	defer func() {
		for _, st := range f.handles {
			err = errors.Join(err, st.Close())
		}
	}()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, o.Tasks)
	var group sync.WaitGroup
	for i := range o.Tasks {
		if i%50 == 49 { // a fleet is not started in one moment
			<-time.After(200 * time.Millisecond)
		}
		k, err := f.worker(ctx, o, i)
		if err != nil {
			stop()
			group.Wait()
			return r, err
		}
		group.Go(func() {
			errs[i] = k.Run(ctx)
			k.Close()
		})
	}
	if err = f.joined(ctx, o.Tasks); err == nil {
		r = f.watch(o)
	}
	stop()
	group.Wait()
	return r, errors.Join(err, errors.Join(errs...))
}

// worker makes a kernel, and a handle for it and the next ones if need be.
func (f *idlers) worker(ctx context.Context, o part.Order, i int) (*kernel.Kernel, error) {
	if i%perHandle(o) == 0 {
		address := o.URL
		if strings.HasPrefix(address, "postgres:") {
			address += "&conns=4"
		}
		st, err := engine.Open(ctx, address)
		if err != nil {
			return nil, err
		}
		f.handles = append(f.handles, st)
	}
	cfg := kernel.Config{Logger: quiet}
	if o.Setting == Slow {
		cfg.Beat, cfg.DeadAfter, cfg.RecoverEvery = 10*time.Second, time.Minute, 10*time.Second
	}
	st := f.handles[len(f.handles)-1]
	if o.Setting == Unadvised {
		st = deaf{st, time.Second}
	}
	k, err := kernel.New(storetest.Wrap(st, f.count), cfg)
	if err != nil {
		return nil, err
	}
	job.Define("noop", func(context.Context, args) (struct{}, error) { return struct{}{}, nil }, job.Config{}).Serve(k)
	return k, nil
}

// deaf does not let the advice of the store through.
type deaf struct {
	store.Store
	every time.Duration
}

// Beat beats, and answers with the worker's own pace.
func (d deaf) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	res, err := d.Store.Beat(ctx, req)
	res.Every = d.every
	return res, err
}

func (f *idlers) count(_ context.Context, op string, do func() error) error {
	f.mu.Lock()
	n, ok := f.calls[op]
	if !ok {
		n = &atomic.Int64{}
		f.calls[op] = n
	}
	f.mu.Unlock()
	n.Add(1)
	return do()
}

// joined waits until all have joined, and then as long as it takes until all have heard how often to beat.
func (f *idlers) joined(ctx context.Context, n int) error {
	for begun := time.Now(); ; {
		list, err := f.handles[0].Workers(ctx)
		if err != nil {
			return err
		}
		if len(list) >= n {
			break
		}
		if time.Since(begun) > 2*time.Minute {
			return fmt.Errorf("%d of %d workers joined", len(list), n)
		}
		<-time.After(100 * time.Millisecond)
	}
	<-time.After(2*time.Second + time.Duration(n)*10*time.Millisecond)
	return nil
}

func (f *idlers) seen() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]int64{}
	for op, n := range f.calls {
		all[op] = n.Load()
	}
	return all
}

// watch counts for the time of the order.
func (f *idlers) watch(o part.Order) part.Report {
	before, own, server, begun := f.seen(), part.OwnCPU(), part.TreeCPU(o.Server), time.Now()
	<-time.After(o.For)
	after, took := f.seen(), time.Since(begun)
	share := func(d time.Duration) float64 { return 100 * d.Seconds() / took.Seconds() }
	r := part.Report{Tasks: o.Tasks, CPU: -1, ServerCPU: -1, Values: map[string]float64{"program": share(part.OwnCPU() - own)}}
	if o.Server != 0 {
		r.Values["server"] = share(part.TreeCPU(o.Server) - server)
	}
	for _, op := range slices.Sorted(maps.Keys(after)) {
		rate := float64(after[op]-before[op]) / took.Seconds()
		r.Values["calls"] += rate
		if rate > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: %.1f/s", op, rate))
		}
	}
	return r
}
