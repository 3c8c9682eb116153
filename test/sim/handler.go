package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

var (
	errHandler   = errors.New("the handler failed")
	errPermanent = errors.New("the handler failed for good")
)

// actor is a handler at work in a process.
type actor struct {
	w   *workload
	p   *process
	run *kernel.Run
	sc  *script
	t   *task
}

// handler runs tasks of all kinds in a process.
func (w *workload) handler(p *process) kernel.Handler {
	return func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		a := &actor{w: w, p: p, run: run, sc: w.script(run.ID()), t: w.s.shadow.task(run.ID())}
		switch run.Task().Kind {
		case kindWaiter:
			return a.wait(ctx)
		case kindParent:
			return a.parent(ctx)
		case kindSaga:
			return a.saga(ctx)
		case kindPoison:
			return a.poison(ctx)
		case kindHog:
			return kernel.Outcome{}, a.spend(ctx, w.s.recoveryBound(true)+5*time.Second)
		}
		return a.plain(ctx)
	}
}

// script returns what a task does; one that came by itself does little, and fails at times.
func (w *workload) script(id store.ID) *script {
	if sc := w.scripts[id]; sc != nil {
		return sc
	}
	sc := &script{run: w.brief(time.Duration(id[15]) * 2 * time.Millisecond)}
	if id[14]%5 == 0 {
		sc.failures = 1
	}
	w.scripts[id] = sc
	return sc
}

// brief shortens what takes time where every call is paired with every other: so are the beats that are sent meanwhile.
func (w *workload) brief(d time.Duration) time.Duration {
	if w.s.exact != nil {
		return min(d, 20*time.Millisecond)
	}
	return d
}

// spend lets the work take its time.
func (a *actor) spend(ctx context.Context, d time.Duration) error {
	s := a.w.s
	if a.sc.deaf && !s.healing && (a.sc.hears == 0 || a.run.Attempt() < a.sc.hears) {
		s.sleep(2*a.run.Task().Timeout + s.plan.timing.StuckGrace + d)
		return nil
	}
	if limit := a.run.Task().Timeout; s.healing && limit > 0 {
		d = min(d, limit/8) // the healed world has no work that can never be done in time
	}
	if !s.travel(ctx, d) {
		return context.Cause(ctx)
	}
	return nil
}

// load reads the checkpoint and compares it with what was promised to be in it.
func (a *actor) load(ctx context.Context) (map[string]int, error) {
	entries, err := a.run.Load(ctx)
	if err != nil {
		return nil, err
	}
	numbers := map[string]int{}
	for name, value := range entries {
		numbers[name], _ = strconv.Atoi(string(value)) // written by save alone
	}
	if !a.t.holds(a.run.Fence()) {
		return numbers, nil // nothing is promised to one that has lost its task
	}
	for name, value := range a.t.promised {
		if least, _ := strconv.Atoi(string(value)); numbers[name] < least {
			a.w.s.fail("K2", "entry %s of %v reads %d; a Save of %d was answered OK", name, a.t.id, numbers[name], least)
		}
	}
	return numbers, nil
}

func (a *actor) save(ctx context.Context, name string, n int) error {
	value := number(n)
	if err := a.run.Save(ctx, map[string][]byte{name: value}); err != nil {
		return err
	}
	a.t.promised[name] = value
	return nil
}

func number(n int) []byte { return []byte(strconv.Itoa(n)) }

func (a *actor) plain(ctx context.Context) (kernel.Outcome, error) {
	had, err := a.load(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	part := a.sc.run / time.Duration(a.sc.saves+1)
	for n := had["n"]; n < a.sc.saves; n++ {
		if err := a.spend(ctx, part); err != nil {
			return kernel.Outcome{}, err
		}
		a.run.Progress(int64(n), int64(a.sc.saves), "")
		if err := a.save(ctx, "n", n+1); err != nil {
			return kernel.Outcome{}, err
		}
	}
	if err := a.spend(ctx, part); err != nil {
		return kernel.Outcome{}, err
	}
	if had["s"] < a.sc.snoozes {
		out := kernel.Snooze(a.sc.run / 2)
		out.Entries = map[string][]byte{"s": number(had["s"] + 1)}
		return out, nil
	}
	if a.run.Attempt() <= a.sc.failures && !a.w.s.healing {
		return a.fail()
	}
	if a.sc.stage {
		return a.stage(ctx)
	}
	return kernel.Done(number(int(a.run.Fence().Epoch))), nil
}

func (a *actor) fail() (kernel.Outcome, error) {
	switch {
	case a.sc.panics:
		panic("the handler panics")
	case a.sc.permanent:
		return kernel.Outcome{}, kernel.Permanent(errPermanent)
	}
	return kernel.Outcome{}, errHandler
}

// stage ends the run as a user's transaction would, and lets the kernel find out.
func (a *actor) stage(ctx context.Context) (kernel.Outcome, error) {
	stager, ok := a.p.store.(store.Stager)
	if !ok {
		return kernel.Outcome{}, nil
	}
	limited, cancel := env{a.p}.WithTimeout(ctx, a.w.s.plan.deadAfter/3, errTerminated)
	defer cancel()
	out := store.Outcome{Kind: store.OutcomeDone, Result: []byte("staged")}
	if err := stager.Stage(limited, store.Completion{Fence: a.run.Fence(), Outcome: out}); err != nil {
		return kernel.Outcome{}, fmt.Errorf("stage: %w", err)
	}
	if a.w.s.chance.IntN(4) == 0 && a.w.s.mayKill(a.p) {
		a.p.die("after its transaction")
	}
	return kernel.Outcome{}, nil
}

// wait parks until all messages have come, and records the use of each with the outcome.
func (a *actor) wait(ctx context.Context) (kernel.Outcome, error) {
	had, err := a.load(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	letters, err := a.run.Messages(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	if err := a.spend(ctx, a.sc.run/10); err != nil {
		return kernel.Outcome{}, err
	}
	got := had["got"] + len(letters)
	out := a.run.Park(time.Duration(len(letters)) * time.Second)
	if got >= a.sc.messages {
		out = kernel.Done(number(got))
	}
	out.Entries = map[string][]byte{"got": number(got)}
	for _, m := range letters {
		out.Consume = append(out.Consume, m.ID)
	}
	if got > a.sc.messages {
		a.w.s.fail("K3", "task %v has used %d messages; %d were sent", a.t.id, got, a.sc.messages)
	}
	return out, nil
}

// parent makes a group of children with its first outcome, and ends when the group has closed.
func (a *actor) parent(ctx context.Context) (kernel.Outcome, error) {
	had, err := a.load(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	group := store.DeriveID("children", a.run.Key())
	if had["p"] == 0 {
		if err := a.spend(ctx, a.sc.run/10); err != nil {
			return kernel.Outcome{}, err
		}
		out := a.run.Park(0)
		out.Entries = map[string][]byte{"p": number(1)}
		out.Groups = []store.NewGroup{{ID: group, Seal: true, Parent: a.run.ID()}}
		for i := range a.sc.children {
			out.Follow = append(out.Follow, store.Spec{
				ID: store.DeriveID("child", a.run.Key(), strconv.Itoa(i)), Kind: kindChild, Group: group, Retry: store.Retry{Max: 2, Base: a.w.brief(time.Second)},
			})
		}
		return out, nil
	}
	g, err := a.p.kernel.Group(ctx, group)
	if err != nil {
		return kernel.Outcome{}, err
	}
	if g.State == store.GroupClosed {
		return kernel.Outcome{}, nil
	}
	return a.run.Park(0), nil
}

// saga is ended by itself alone: it saves, parks on a child, and undoes what it did when it is asked to end.
func (a *actor) saga(ctx context.Context) (kernel.Outcome, error) {
	had, err := a.load(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	child := store.DeriveID("step", a.run.Key())
	if a.run.Asked() != "" {
		if err := a.save(ctx, "undone", 1); err != nil {
			return kernel.Outcome{}, err
		}
		return kernel.Cancelled("undone"), nil
	}
	switch had["p"] {
	case 0:
		if err := a.spend(ctx, a.sc.run/2); err != nil {
			return kernel.Outcome{}, err
		}
		if err := a.save(ctx, "p", 1); err != nil {
			return kernel.Outcome{}, err
		}
		fallthrough
	case 1:
		out := a.run.Park(0)
		out.Entries = map[string][]byte{"p": number(2)}
		out.Follow = []store.Spec{{ID: child, Kind: kindChild, Parent: a.run.ID()}}
		return out, nil
	}
	t, err := a.p.kernel.Get(ctx, child)
	if err != nil {
		return kernel.Outcome{}, err
	}
	if t.State.Terminal() {
		return kernel.Outcome{}, nil
	}
	return a.run.Park(0), nil
}

// poison kills its process, until the faults are over.
func (a *actor) poison(ctx context.Context) (kernel.Outcome, error) {
	if err := a.spend(ctx, a.sc.run/4); err != nil {
		return kernel.Outcome{}, err
	}
	if !a.w.s.mayKill(a.p) {
		return kernel.Outcome{}, nil
	}
	a.t.kills++
	a.p.killer = a.t
	a.p.die("poison " + short(a.t.id))
	return kernel.Outcome{}, nil
}
