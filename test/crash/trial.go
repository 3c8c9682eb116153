package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// outage is how long a store may take for a small write before it counts as out of reach.
const outage = time.Second

// producers submit side by side.
const producers = 2

// act is something that happens again and again in a long trial.
type act struct {
	name  string
	every time.Duration // on average
	do    func(context.Context) error
	next  time.Time
	done  bool
}

// errBusy says that the store is down or full already: the act is put off.
var errBusy = errors.New("something is being done to the store")

// acts are all that can be done on this stage. Thirty minutes of it are about 1,280 kills, 250 stops, 40 kills of the store and 220 cuts,
// fewer on a machine that is short of time; a shorter trial has everything twice at least.
func (r *run) acts() []*act {
	s := r.cfg.Stage
	all := []*act{
		{name: "kill", every: 1400 * time.Millisecond, do: r.killOne},
		{name: "stop", every: 7 * time.Second, do: r.stopOne},
		{name: "term", every: 25 * time.Second, do: r.termOne},
		{name: "store", every: 45 * time.Second, do: r.killStore},
	}
	add := func(can bool, name string, every time.Duration, do func(context.Context) error) {
		if can {
			all = append(all, &act{name: name, every: every, do: do})
		}
	}
	add(s.Cut != nil, "cut", 40*time.Second, r.hit(&r.cuts, "half of the sessions with the store are cut", s.Cut))
	add(s.CutIdle != nil, "idle", 60*time.Second, r.hit(&r.cuts, "idle sessions with the store are cut", r.blind(s.CutIdle)))
	add(s.Server != "", "link", 25*time.Second, r.cutLinks)
	add(s.Server != "", "lose", 25*time.Second, r.loseAnswers)
	add(s.Server != "", "delay", 60*time.Second, r.delayLinks)
	add(s.Server != "", "hold", 90*time.Second, r.holdLink)
	add(s.Fill != nil, "disk", 180*time.Second, r.fillDisk)
	if len(r.cfg.Only) > 0 {
		all = slices.DeleteFunc(all, func(a *act) bool { return !slices.Contains(r.cfg.Only, a.name) })
	}
	for _, a := range all {
		a.every = time.Duration(float64(a.every) / r.cfg.Pace)
		a.every = min(a.every, time.Duration(r.cfg.Seconds)*time.Second/3)
		a.next = r.begin.Add(time.Duration((0.3 + 0.7*r.chance.Float64()) * float64(a.every)))
	}
	return all
}

// trial submits, kills, stops, cuts and fills until the time is up.
func (r *run) trial(ctx context.Context) error {
	end := r.begin.Add(time.Duration(r.cfg.Seconds) * time.Second)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beside sync.WaitGroup
	side := func(fn func() error) {
		beside.Go(func() {
			if err := fn(); err != nil {
				cancel(err)
			}
		})
	}
	for n := range producers {
		p, err := r.newProducer(ctx, n)
		if err != nil {
			cancel(err)
			break
		}
		r.producers = append(r.producers, p)
		side(func() error { defer p.close(); return p.produce(ctx, float64(r.cfg.Rate)/producers, end) })
	}
	side(func() error { return r.probe(ctx, end) })
	living, die := context.WithCancel(ctx)
	beside.Go(func() { starved(living, r.wasStarved) })
	err := r.monkey(ctx, end)
	r.side.Wait()
	if err != nil {
		cancel(err)
	}
	die()
	beside.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// wasStarved notes that the machine did not let this process run.
func (r *run) wasStarved(d time.Duration) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pauses = append(r.pauses, span{from: now.Add(-d), to: now})
}

// monkey does what is due, one act after another. What takes its time happens beside.
func (r *run) monkey(ctx context.Context, end time.Time) error {
	acts := r.acts()
	if left := time.Until(end); r.cfg.Calm || len(acts) == 0 {
		return r.rest(ctx, left, left+time.Millisecond)
	}
	for {
		next := acts[0]
		for _, a := range acts {
			if a.next.Before(next.next) {
				next = a
			}
		}
		if next.next.After(end) || time.Now().After(end) {
			break
		}
		wait := max(time.Until(next.next), 20*time.Millisecond)
		if err := r.rest(ctx, wait, wait+time.Millisecond); err != nil {
			return err
		}
		if err := r.play(ctx, next); err != nil {
			return err
		}
	}
	return r.missing(ctx, acts)
}

// play does one act, and says when it comes again.
func (r *run) play(ctx context.Context, a *act) error {
	err := a.do(ctx)
	if errors.Is(err, errBusy) {
		a.next = time.Now().Add(300 * time.Millisecond)
		return nil
	}
	// What fell behind is made up for, but not all at once.
	after := a.next.Add(time.Duration((0.5 + r.chance.Float64()) * float64(a.every)))
	if least := time.Now().Add(a.every / 8); after.Before(least) {
		after = least
	}
	a.next, a.done = after, true
	return err
}

// missing does what a short trial had no time for.
func (r *run) missing(ctx context.Context, acts []*act) error {
	for _, a := range acts {
		if !a.done {
			r.side.Wait()
			if err := r.play(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// hit counts something that is done to the store and does it beside, one such thing at a time.
func (r *run) hit(count *int, event string, do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		if !r.busy.TryLock() {
			return errBusy
		}
		r.show(event, false)
		r.count(count, 1)
		r.side.Go(func() {
			defer r.busy.Unlock()
			if err := do(ctx); err != nil && ctx.Err() == nil {
				r.show("this did not work: "+err.Error(), false)
				r.count(&r.misses, 1)
			}
		})
		return nil
	}
}

// blind does something after which nobody's session is old enough to tell of a death: only silence does.
func (r *run) blind(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		r.mu.Lock()
		r.blinded = append(r.blinded, time.Now())
		r.mu.Unlock()
		return do(ctx)
	}
}

// down does something after which the store is out of reach until it returns.
func (r *run) down(do func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		begin := time.Now()
		err := do(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.downs = append(r.downs, span{from: begin, to: time.Now()})
		return err
	}
}

// killStore kills the server. A store without one lives in its workers: all of them are killed at the same moment, and leave what they were
// writing as it is.
func (r *run) killStore(ctx context.Context) error {
	if kill := r.cfg.Stage.KillServer; kill != nil {
		return r.hit(&r.storeKills, "kill -9 to the server of the store, which starts again", r.down(kill))(ctx)
	}
	r.count(&r.storeKills, 1)
	r.show("kill -9 to all workers at once", false)
	for _, p := range r.fleet.all() {
		if p.ended() || p.isStopped() {
			continue
		}
		if err := p.kill(); err != nil {
			return err
		}
		p.mu.Lock()
		p.massacred = true
		p.mu.Unlock()
		r.count(&r.kills, 1)
	}
	return r.refill(ctx)
}

// fillDisk leaves the store no room for some seconds.
func (r *run) fillDisk(ctx context.Context) error {
	s := r.cfg.Stage
	lasting := 2*time.Second + time.Duration(r.chance.Int64N(int64(4*time.Second)))
	return r.hit(&r.fills, fmt.Sprintf("the disk of the store is full for %v", lasting.Round(time.Millisecond)), r.down(func(ctx context.Context) error {
		err := s.Fill(ctx)
		timer := time.NewTimer(lasting)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		return errors.Join(err, s.Free(context.WithoutCancel(ctx))) // whatever happens, there is room again
	}))(ctx)
}

// termOne asks a worker to end, and kills it before it may have.
func (r *run) termOne(ctx context.Context) error {
	p, err := r.victim(ctx)
	if err != nil || p == nil {
		return err
	}
	p.terminate()
	r.count(&r.terms, 1)
	wait := time.Duration(r.chance.Int64N(int64(3 * time.Second)))
	r.show(fmt.Sprintf("SIGTERM %s (pid %d), SIGKILL after %v", p.name, p.cmd.Process.Pid, wait.Round(time.Millisecond)), false)
	r.side.Go(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
			if err := p.kill(); err == nil {
				p.mu.Lock()
				p.termed = true
				p.mu.Unlock()
			}
		}
	})
	return r.refill(ctx)
}
