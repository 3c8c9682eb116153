package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

// Run does it all: it starts workers, submits, kills and stops, waits for the work to end, and judges.
func Run(ctx context.Context, cfg Config) (Report, error) {
	cfg = cfg.withDefaults()
	st, err := cfg.Open(ctx)
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = st.Close() }() // everything that matters was answered
	k, err := kernel.New(st, kernel.Config{})
	if err != nil {
		return Report{}, err
	}
	defer k.Close()
	r := &run{
		cfg: cfg, k: k, fleet: &fleet{cfg: cfg}, begin: time.Now(),
		chance: rand.New(rand.NewPCG(cfg.Seed, 0x6f75746c617374)), //nolint:gosec // a seed must repeat the same kills
		acked:  map[string]string{},
	}
	r.fleet.chance = rand.New(rand.NewPCG(cfg.Seed, 0x636c6f636b)) //nolint:gosec // a seed must repeat the same clocks
	if cfg.Seconds > 0 {
		if r.sink, err = newSink(ctx, cfg.Dir); err != nil {
			return Report{}, err
		}
		r.fleet.sink = r.sink.path
	}
	err = r.work(ctx, st)
	if ended := r.fleet.end(); err == nil {
		err = ended
	}
	if r.sink != nil {
		err = errors.Join(err, r.sink.close())
	}
	if err != nil {
		return Report{}, err
	}
	r.show("", true)
	return r.judge(ctx, st)
}

// run is one run under way.
type run struct {
	cfg    Config
	k      *kernel.Kernel
	fleet  *fleet
	begin  time.Time
	chance *rand.Rand

	mu    sync.Mutex
	acked map[string]string // kind of each task whose submit was answered
	kills int
	stops int

	storeKills, cuts, losses, delays, holds, fills, terms, misses, refused int

	downs     []span      // the store was out of reach
	blinded   []time.Time // when everybody's session was ended
	pauses    []span      // the machine did not let this process run
	producers []*producer
	busy      sync.Mutex     // something is being done to the store
	side      sync.WaitGroup // what happens beside the monkey
	sink      *sink

	done   int // endings in the journals
	event  string
	ending bool
	over   bool        // the store says that everything has ended
	signal []kernel.ID // wait for a message
}

// work runs the whole story up to the end of the last task.
func (r *run) work(ctx context.Context, st store.Store) error {
	for range r.cfg.Workers {
		if _, err := r.fleet.start(ctx); err != nil {
			return err
		}
	}
	watch, unwatch := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(watch) })
	defer watching.Wait()
	defer unwatch()
	if err := r.story(ctx); err != nil {
		return err
	}
	r.show("no more kills: the rest of the work ends", true)
	return r.settle(ctx, st)
}

// story submits slice by slice, with a kill or a stop in the middle of each. A slice is always there in advance, so that every
// worker has something to lose.
func (r *run) story(ctx context.Context) error {
	acts := make([]func(context.Context) error, 0, r.cfg.Kills+r.cfg.Stops)
	for range r.cfg.Kills {
		acts = append(acts, r.killOne)
	}
	for range r.cfg.Stops {
		acts = append(acts, r.stopOne)
	}
	r.chance.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
	if r.cfg.Seconds > 0 {
		return r.trial(ctx)
	}
	slices := len(acts) + 1
	upTo := func(i int) int { return r.cfg.Tasks * min(i, slices) / slices }
	if err := r.submit(ctx, upTo(1)); err != nil {
		return err
	}
	for i, act := range acts {
		if err := r.submit(ctx, upTo(i+2)-upTo(i+1)); err != nil {
			return err
		}
		if err := r.reach(ctx, (upTo(i)+upTo(i+1))/2); err != nil {
			return err
		}
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reach waits until so many tasks are done, as far as the journals tell, and a little longer. It is bounded: workers that are
// stopped in the middle of a commit may hold up all others.
func (r *run) reach(ctx context.Context, done int) error {
	end := time.Now().Add(2 * r.cfg.Dead)
	for {
		if err := r.rest(ctx, 50*time.Millisecond, 150*time.Millisecond); err != nil {
			return err
		}
		r.mu.Lock()
		reached := r.done >= done
		r.mu.Unlock()
		if reached || time.Now().After(end) {
			return nil
		}
	}
}

// rest lets the work go on for a while.
func (r *run) rest(ctx context.Context, least, most time.Duration) error {
	d := least + time.Duration(r.chance.Int64N(int64(most-least)))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// submit hands over n tasks, and notes which were accepted.
func (r *run) submit(ctx context.Context, n int) error {
	for n > 0 {
		specs := make([]kernel.Spec, min(n, 200))
		for i := range specs {
			specs[i] = kernel.Spec{Kind: pick(r.chance, r.cfg)}
		}
		n -= len(specs)
		all, err := r.k.SubmitMany(ctx, specs)
		if err != nil {
			return err
		}
		r.mu.Lock()
		for i, s := range all {
			if s.Err != nil {
				r.mu.Unlock()
				return fmt.Errorf("submit: %w", s.Err)
			}
			r.acked[s.ID.String()] = specs[i].Kind
			if specs[i].Kind == kindSignal {
				r.signal = append(r.signal, s.ID)
			}
		}
		r.mu.Unlock()
		if err := r.send(ctx); err != nil {
			return err
		}
	}
	return nil
}

// pick chooses the kind of the next task.
func pick(chance *rand.Rand, cfg Config) string {
	if !cfg.Mixed {
		return kindPlain
	}
	switch n := chance.IntN(4000); {
	case n < 1 && !cfg.Calm:
		return kindPoison
	case n < 20:
		return kindLong
	case n < 100:
		return kindParent
	case n < 200:
		return kindSignal
	case n < 2000:
		return kindInstant
	}
	return kindPlain
}

// send wakes the tasks that wait for a message: some early, some late, each twice under one id.
func (r *run) send(ctx context.Context) error {
	r.mu.Lock()
	waiting := r.signal
	r.signal = nil
	r.mu.Unlock()
	for _, id := range waiting {
		m := kernel.Message{ID: r.k.NewID(), Task: id, Name: "go"}
		for range 2 {
			if _, err := r.k.Send(ctx, m); err != nil && !ended(err) {
				return err
			}
		}
	}
	return nil
}

// settle waits until nothing is left to be done. It asks the store itself: to look at all that has ended may take longer than a kernel waits.
func (r *run) settle(ctx context.Context, st store.Store) error {
	states := []store.State{store.Ready, store.Running, store.Scheduled, store.Parked, store.Held}
	end := time.Now().Add(5*time.Minute + 4*r.cfg.Dead)
	for {
		page, err := st.List(ctx, store.Filter{States: states}, store.PageRequest{Limit: 1})
		if err != nil && (ctx.Err() != nil || time.Now().After(end)) {
			return err // until then it may be away, by what was done to it last
		}
		if err == nil && len(page.Items) == 0 {
			r.mu.Lock()
			r.over = true
			r.mu.Unlock()
			r.show("all work has ended", true)
			return nil
		}
		if err == nil && time.Now().After(end) {
			t := page.Items[0]
			return fmt.Errorf("task %s of kind %s is still %s: the work does not end", t.ID, t.Kind, t.State)
		}
		if err := r.rest(ctx, 100*time.Millisecond, 101*time.Millisecond); err != nil {
			return err
		}
	}
}

// check runs fsck over what is left in the store.
func (r *run) check(ctx context.Context, st store.Store) ([]string, error) {
	findings, err := fsck.Check(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("fsck: %w", err)
	}
	var texts []string
	for _, f := range findings {
		texts = append(texts, f.String())
	}
	return texts, nil
}
