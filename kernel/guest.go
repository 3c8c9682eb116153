package kernel

import (
	"context"
	"time"
)

// guestStays is how long a kernel that is not run stays in the fleet after its last run here: who runs one thing here soon runs
// the next, and joining costs more than the run.
const guestStays = 5 * time.Second

// guest is the membership of a kernel that is not run, for as long as something runs here. k.mu guards it.
type guest struct {
	joined bool
	runs   int
	idleAt time.Time // when the last one ended
	stay   *crew     // the visit: it is over when nobody is left. One waits for it at a time: the next visit, or Run
	end    context.CancelCauseFunc
}

// admit lets a caller run something here: it makes sure that this process is a living member of the fleet. ok says so; if it is
// not, and is not to be, the task is for others to run.
func (k *Kernel) admit(ctx context.Context) (ok bool, err error) {
	for {
		k.mu.Lock()
		switch {
		case k.closed:
			k.mu.Unlock()
			return false, ErrClosed
		case k.state == Running && !k.quiet && !k.worker.fenced, k.state == Idle && k.guest.joined && !k.worker.fenced:
			k.guest.runs++
			k.mu.Unlock()
			return true, nil
		case k.state != Idle || k.guest.joined:
			k.mu.Unlock()
			return false, nil
		}
		k.mu.Unlock()
		answer, err := k.visits.do(ctx, struct{}{})
		if err != nil {
			return false, err
		}
		if answer != nil {
			return false, answer
		}
	}
}

// dismiss takes back what admit gave.
func (k *Kernel) dismiss() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.guest.runs--
	k.guest.idleAt = k.env.Now()
}

// visit joins the fleet for those who want to run something here. Visits come one after the other.
func (k *Kernel) visit(waiting []struct{}) []error {
	answers := make([]error, len(waiting))
	k.mu.Lock()
	before := k.guest.stay
	idle := k.state == Idle && !k.guest.joined && !k.closed
	k.mu.Unlock()
	if !idle {
		return answers
	}
	if before != nil {
		before.Wait(k.forever, -1) // the last visit is ending
	}
	if err := k.join(k.life); err != nil {
		for i := range answers {
			answers[i] = err
		}
		return answers
	}
	span, end := k.env.WithCancel(k.life)
	loops := newCrew(k.env)
	loops.Go(func() { k.beatLoop(span) })
	loops.Go(func() { k.guardLoop(span) })
	k.mu.Lock()
	stay := newCrew(k.env)
	k.guest = guest{joined: true, runs: k.guest.runs, idleAt: k.env.Now(), stay: stay, end: end}
	k.mu.Unlock()
	stay.enter()
	k.crew.Go(func() {
		defer stay.leave()
		k.host(span, loops, end)
	})
	return answers
}

// host ends the visit once nothing has run here for a while, or the kernel is closed. If Run takes the membership over, it is Run's.
func (k *Kernel) host(span context.Context, loops *crew, end context.CancelCauseFunc) {
	pause := k.env.NewSignal()
	for span.Err() == nil && !k.depart() {
		pause.Wait(span, guestStays)
	}
	end(errStopped)
	loops.Wait(k.forever, -1)
	k.mu.Lock()
	if k.guest.joined && k.state != Idle {
		k.mu.Unlock()
		return // taken over
	}
	w := k.worker
	k.worker, k.guest.joined = nil, false
	k.mu.Unlock()
	w.gone(errStopped)
	for more := true; more; {
		err := k.call(k.forever, k.cfg.CallTimeout, func(ctx context.Context) (err error) {
			more, err = k.store.Leave(ctx, w.id)
			return err
		})
		if err != nil {
			return // others will find out by themselves
		}
	}
}

// depart ends the visit if nothing has run here for a while: from then on nobody is let in.
func (k *Kernel) depart() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	idle := k.state == Idle && k.guest.runs == 0 && k.env.Now().Sub(k.guest.idleAt) >= guestStays
	k.guest.joined = k.guest.joined && !idle
	return idle
}

// enter makes a kernel that is about to run a member of the fleet, or goes on as the member that it became by RunHere.
func (k *Kernel) enter(ctx context.Context) error {
	if _, err := k.visits.do(ctx, struct{}{}); err != nil { // after a visit that is just beginning
		return err
	}
	k.mu.Lock()
	g := k.guest
	k.mu.Unlock()
	if g.stay == nil {
		return k.join(ctx)
	}
	if g.joined {
		g.end(errStopped)
	}
	g.stay.Wait(k.forever, -1)
	if !g.joined {
		return k.join(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.runs) > 0 {
		k.suspects.turn = false // it would keep all other work waiting for what runs here
	}
	return nil
}
