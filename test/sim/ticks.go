package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// ticks are those scenarios in which package job has a schedule.
var ticks = []scenario{
	{"schedule, of a job", ticksAre(0, 2100*ms)},
	{"schedule, caught up", ticksAre(3200*ms, 4100*ms)},
}

// clockwork is a schedule, and what came of it.
type clockwork struct {
	w    *workload
	kind string
	gap  time.Duration // nobody drives for so long

	madeAt    time.Time // when its maker was told that it stands
	deletedAt time.Time // when somebody began to delete it
	runs      tally
}

// ticksAre declares a schedule whose every tick counts, leaves it alone for a while, and deletes it. With a gap all workers die on the way,
// and the next come when that is over.
func ticksAre(gap, lasts time.Duration) func(w *workload) {
	return func(w *workload) {
		c := &clockwork{w: w, gap: gap, runs: tally{}}
		tick := job.Define("tick", c.run, job.Config{Retry: kernel.Retry{Max: 3, Base: 50 * ms}})
		c.kind = tick.Kind()
		w.serves = append(w.serves, func(_ *process, k *kernel.Kernel) { tick.Serve(k) })
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
			when := job.Every(time.Second)
			when.CatchUp, when.Overlap = job.CatchUpAll, job.OverlapAllow
			_, err := tick.Schedule(ctx, k, "clock", when, "tock", job.Options{Retention: -1})
			if err == nil {
				c.madeAt = w.s.storeNow()
			}
			return err
		})
		w.then(lasts, func(ctx context.Context, k *kernel.Kernel) error {
			if c.deletedAt.IsZero() {
				c.deletedAt = w.s.storeNow()
			}
			return k.DeleteSchedule(ctx, "clock")
		})
		if gap > 0 {
			c.desert(500*ms, gap)
		}
		w.judge(c.judge)
	}
}

// desert kills all workers at a time, and lets nobody follow them until the gap is over.
func (c *clockwork) desert(at, gap time.Duration) {
	s := c.w.s
	s.bereaved = func(p *process) {
		if p.role != roleWorker || s.now < at || s.now >= at+gap {
			s.killed(p)
			return
		}
		s.kills++
		s.startWorker(at + gap - s.now)
	}
	s.after(at, nil, func() {
		for _, p := range slices.Clone(s.procs) {
			if p.role == roleWorker && !p.ended {
				p.kill("all workers die")
			}
		}
	})
}

func (c *clockwork) run(ctx context.Context, in string) (string, error) {
	c.runs[fmt.Sprint("the job ", job.From(ctx).ID(), " ran")]++
	if !c.w.s.travel(ctx, 10*ms) {
		return "", context.Cause(ctx)
	}
	return in, nil
}

// judge compares the ticks that came with the rule.
func (c *clockwork) judge() {
	s := c.w.s
	var came []time.Time
	c.w.walk(func(t *store.Task) {
		if t.Kind != c.kind {
			return
		}
		came = append(came, tickOf(t.ID))
		if t.State != store.Done && !struck(t) {
			s.fail("I8", "the job of tick %v is %s", tickOf(t.ID), t.State)
		}
	}, func(*store.Group) {})
	slices.SortFunc(came, time.Time.Compare)
	c.runs.atMost(c.w, "T2", 2+c.w.faults())
	if len(came) == 0 {
		if c.w.faults() == 0 {
			s.fail("T1", "no tick came")
		}
		return
	}
	if late := came[0].Sub(c.madeAt); late > time.Second {
		s.fail("T1", "the first tick is %v after the schedule was made", late)
	}
	for i, at := range came[1:] {
		if step := at.Sub(came[i]); step == 0 || step != time.Second && !at.After(c.deletedAt) {
			s.fail("T1", "after the tick %v came %v, and no other", came[i], at)
		}
	}
	if last := c.deletedAt.Sub(came[len(came)-1]); c.w.faults() == 0 && last > time.Second {
		s.fail("T1", "the last tick is %v before the schedule was deleted", last)
	}
}

// tickOf reads the time of a tick from the id that is made of it.
func tickOf(id store.ID) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint16(id[0:2]))<<32 | int64(binary.BigEndian.Uint32(id[2:6]))).UTC()
}
