package sim

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// Schedules is a run of many drivers over many schedules, for a month in which the clocks of some zones are put forward and those of
// others back.
type Schedules struct {
	Drivers   int
	Schedules int
	Span      time.Duration

	// What the run came to.
	Ticks, Kills, Outages int
	Steps                 int
	Gaps, Folds           int // ticks on days on which a clock leapt, or showed an hour twice
}

// The month: Berlin's clocks are put forward on 29 March, Sydney's back on 5 April.
var scheduleEpoch = time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)

var (
	scheduleRules = []string{"30 2 * * *", "0 2 * * *", "15 */3 * * *", "0 * * * *", "every 4h", "45 1-4 * * *", "0 0 2 * * MON,SUN", "@daily"}
	scheduleZones = []string{"Europe/Berlin", "Australia/Sydney", "UTC", "America/New_York", "Australia/Lord_Howe"}
)

// Run simulates one seed: each tick of each schedule comes once, whoever drives, dies or is cut off.
func (r *Schedules) Run(seed uint64) *Violation {
	totals := NewTotals()
	loom := &loom{}
	defer loom.end()
	s := newSim(seed, loom, totals)
	s.epoch = scheduleEpoch
	s.plan = plan{
		evidence: store.EvidenceSession, beat: 10 * time.Minute, deadAfter: time.Hour, workers: r.Drivers, slots: 4,
		latency: 10 * time.Millisecond, shutdown: time.Minute, skew: time.Hour, drift: 0.001, crashes: 1 << 30,
	}
	for f := faultDieBefore; f <= faultLateAnswer; f++ {
		s.plan.call[f] = 0.002
	}
	s.plan.every[mishapKill], s.plan.every[mishapCut], s.plan.every[mishapPause] = 2*time.Hour, 12*time.Hour, 12*time.Hour
	s.plan.every[mishapOutage], s.plan.every[mishapRestart] = 5*24*time.Hour, 5*24*time.Hour
	s.memory = memory.New(memory.Config{Clock: s.storeNow, Evidence: s.plan.evidence})
	s.bereaved = func(p *process) {
		if p.role == roleWorker {
			r.Kills++
			r.drive(s, time.Duration(s.chance.Int64N(int64(2*time.Hour))))
		}
	}
	s.left = func(*process) {}
	schedules := r.plan(rand.New(rand.NewPCG(seed, 7)))
	for _, sc := range schedules {
		first, err := kernel.Ticks(sc.Rule, sc.Zone, s.epoch, 1)
		if err == nil {
			sc.NextAt = first[0]
			_, err = s.memory.PutSchedule(context.Background(), sc)
		}
		if err != nil {
			s.fail("SIM", "%v", err)
		}
	}
	for range r.Drivers {
		r.drive(s, time.Duration(s.chance.Int64N(int64(time.Minute))))
	}
	s.mishaps()
	for s.broken == nil && s.step(r.Span) {
	}
	s.healing, s.awayUntil = true, 0
	for _, p := range s.procs {
		p.cutUntil = min(p.cutUntil, s.now)
		p.goOn()
	}
	for until := max(s.now, r.Span) + 6*time.Hour; s.broken == nil && s.step(until); {
	}
	if s.broken == nil {
		r.judge(s, schedules)
	}
	r.Steps, r.Outages = s.steps, int(totals.Outages+totals.Restarts)
	s.bury()
	return s.broken
}

// plan makes the schedules.
func (r *Schedules) plan(chance *rand.Rand) []store.Schedule {
	list := make([]store.Schedule, r.Schedules)
	for i := range list {
		list[i] = store.Schedule{
			Name: fmt.Sprintf("s%d", i), Rule: scheduleRules[i%len(scheduleRules)], Zone: scheduleZones[chance.IntN(len(scheduleZones))],
			CatchUp: kernel.CatchUpAll, Overlap: store.OverlapAllow,
			Task: store.Spec{Kind: kindTick, Queue: kernel.DefaultQueue, Retention: -1, Labels: map[string]string{kernel.ScheduleLabel: fmt.Sprintf("s%d", i)}},
		}
		if i%3 == 0 {
			list[i].Jitter = 10 * time.Minute
		}
	}
	return list
}

// unwitnessed is a handle whose calls are not checked one by one: the month is judged by what it leaves behind.
type unwitnessed struct {
	*memory.Store
	w *witness
}

// Watch is the simulation's: the real one waits for real.
func (u unwitnessed) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) error {
	return u.w.Watch(ctx, worker, queues, fn)
}

// drive starts a driver after d.
func (r *Schedules) drive(s *Sim, d time.Duration) {
	s.after(d, nil, func() {
		p := s.newProcess(roleWorker, "driver")
		p.store = wrap(unwitnessed{p.handle, p.witness}, p)
		k, err := kernel.New(p.store, kernel.Config{
			Env: env{p}, Name: p.name, Slots: map[string]int{kernel.DefaultQueue: s.plan.slots}, Beat: s.plan.beat, DeadAfter: s.plan.deadAfter,
			RecoverEvery: 30 * time.Minute, PruneEvery: -1, CallTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			s.fail("SIM", "driver: %v", err)
			return
		}
		p.kernel = k
		k.Handle(kindTick, func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Done(nil), nil })
		p.main(func(ctx context.Context) { _ = k.Run(ctx) })
	})
}

// judge compares what was submitted with what the rules say.
func (r *Schedules) judge(s *Sim, schedules []store.Schedule) {
	got := map[string][]store.ID{}
	err := s.memory.Export(context.Background(), func(e store.Entry) error {
		if t := e.Task; t != nil {
			name := t.Labels[kernel.ScheduleLabel]
			got[name] = append(got[name], t.ID)
			if t.State != store.Done {
				s.fail("I8", "the task %v of schedule %s is %s at the end", t.ID, name, t.State)
			}
		}
		return nil
	})
	if err != nil {
		s.fail("SIM", "export: %v", err)
	}
	order := func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) }
	for _, sc := range schedules {
		have, err := s.memory.Schedule(context.Background(), sc.Name)
		if err != nil {
			s.fail("SIM", "%v", err)
			return
		}
		var want []store.ID
		for at := s.epoch; ; {
			next, err := kernel.Ticks(sc.Rule, sc.Zone, at, 1)
			if err != nil || len(next) == 0 || next[0].After(s.storeNow()) {
				break
			}
			at = next[0]
			want = append(want, store.TickID(sc.Name, have.Version, at))
			r.count(sc.Zone, at)
		}
		ids := got[sc.Name]
		slices.SortFunc(ids, order)
		slices.SortFunc(want, order)
		if !slices.Equal(ids, want) {
			s.fail("I25", "schedule %s (%s in %s) has %d tasks, and %d ticks have come", sc.Name, sc.Rule, sc.Zone, len(ids), len(want))
		}
		r.Ticks += len(want)
	}
}

// count counts ticks of days on which clocks jump.
func (r *Schedules) count(zone string, at time.Time) {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return
	}
	day := at.In(loc)
	_, before := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, loc).Zone()
	_, after := time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 0, 0, loc).Zone()
	switch {
	case after > before:
		r.Gaps++
	case after < before:
		r.Folds++
	}
}
