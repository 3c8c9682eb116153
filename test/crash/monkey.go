package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/outlast-go/outlast/store"
)

func ended(err error) bool {
	return errors.Is(err, store.ErrState) || errors.Is(err, store.ErrNotFound)
}

// victim waits for a worker that is in the middle of something, and picks one of those; if there is none for a while, any that runs.
func (r *run) victim(ctx context.Context) (*process, error) {
	const tries = 25
	for try := range tries {
		var able []*process
		for _, p := range r.fleet.all() {
			if p.working(try < tries-1) {
				able = append(able, p)
			}
		}
		if len(able) > 0 {
			return able[r.chance.IntN(len(able))], nil
		}
		if err := r.rest(ctx, 20*time.Millisecond, 21*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // there is nothing left to do for anybody: nobody is killed
}

// killOne kills a worker and starts another.
func (r *run) killOne(ctx context.Context) error {
	p, err := r.victim(ctx)
	if err != nil || p == nil {
		return err
	}
	p.mu.Lock()
	held := len(p.inFlight)
	p.mu.Unlock()
	if err := p.kill(); err != nil {
		return err
	}
	r.mu.Lock()
	r.kills++
	r.mu.Unlock()
	r.show(fmt.Sprintf("kill -9 %s (pid %d) with %d tasks under way", p.name, p.cmd.Process.Pid, held), false)
	return r.refill(ctx)
}

// stopOne stops a worker for longer than others wait for it, and starts another in its place.
func (r *run) stopOne(ctx context.Context) error {
	p, err := r.victim(ctx)
	if err != nil || p == nil {
		return err
	}
	if err := p.stop(); errors.Is(err, os.ErrProcessDone) {
		return nil // it ended by itself meanwhile: the next one is stopped instead
	} else if err != nil {
		return err
	}
	r.mu.Lock()
	r.stops++
	r.mu.Unlock()
	d := r.cfg.Dead + r.cfg.Dead/5
	r.show(fmt.Sprintf("SIGSTOP %s (pid %d) for %v", p.name, p.cmd.Process.Pid, d), false)
	r.fleet.group.Go(func() {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.done:
			return
		case <-ctx.Done():
		}
		if p.isStopped() {
			_ = p.goOn() // it may have ended meanwhile
			r.show(fmt.Sprintf("SIGCONT %s: what it says now is late", p.name), false)
		}
		if r.cfg.Seconds > 0 {
			r.retire(ctx, p)
		}
	})
	return r.refill(ctx)
}

// retire lets a worker that came back say what it has to say, and work for a while. Then it ends: another has its place, and a long trial
// would end with hundreds.
func (r *run) retire(ctx context.Context, p *process) {
	for i, patience := range []time.Duration{5 * time.Second, r.cfg.Dead} {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-p.done:
			return
		case <-ctx.Done():
			return // the end of the trial ends it
		case <-timer.C:
		}
		if i == 0 {
			p.terminate()
			continue
		}
		_ = p.kill() // it may have ended meanwhile
	}
}

// refill starts workers until as many work as should.
func (r *run) refill(ctx context.Context) error {
	for r.fleet.alive() < r.cfg.Workers {
		if _, err := r.fleet.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// watch reads the journals, replaces workers that died by themselves, and tells how it goes.
func (r *run) watch(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, p := range r.fleet.all() {
				if err := p.read(); err != nil {
					r.show(err.Error(), false)
				}
			}
			if n%10 == 0 { // while the store is away they end as soon as they are started
				if err := r.refill(ctx); err != nil && ctx.Err() == nil {
					r.show(err.Error(), false)
				}
			}
			r.show("", false)
		}
	}
}

// show tells how it goes.
func (r *run) show(event string, ending bool) {
	r.mu.Lock()
	if event != "" {
		r.event = event
	}
	r.ending = r.ending || ending
	s := Status{
		Elapsed: time.Since(r.begin), Tasks: r.cfg.Tasks, Submitted: len(r.acked), Kills: r.kills, Stops: r.stops,
		Event: r.event, Ending: r.ending,
	}
	if r.cfg.Seconds > 0 {
		s.Tasks = 0
	}
	r.mu.Unlock()
	for _, p := range r.fleet.all() {
		s.add(p)
	}
	r.mu.Lock()
	if r.over {
		s.Done = max(s.Done, s.Submitted) // who is killed right after an outcome does not write it down
	}
	r.done = s.Done
	r.mu.Unlock()
	r.cfg.Watch(s)
}

func (s *Status) add(p *process) {
	stopped := p.isStopped()
	p.mu.Lock()
	defer p.mu.Unlock()
	w := WorkerStatus{Name: p.name, PID: p.cmd.Process.Pid, State: "working", Started: len(p.inFlight), Done: p.settled}
	switch {
	case p.ended():
		w.State = "killed"
		if p.asked {
			w.State = "ended"
		}
	case stopped:
		w.State = "stopped"
	case len(p.stopped) > 0:
		w.State = "went on"
	}
	s.Recovered += p.counts.back
	s.Refused += p.counts.refused
	s.Done += p.counts.done
	s.Workers = append(s.Workers, w)
}
