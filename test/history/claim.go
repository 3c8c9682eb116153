package history

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// request is a claim on a cell, and how it is recorded.
func (c *client) request(at *cell, slots int) (input, store.ClaimRequest) {
	in := input{Op: opClaim, Worker: c.worker, Fence: store.Fence{Nonce: c.id()}, Suspects: c.chance(6)}
	req := store.ClaimRequest{
		Worker: c.worker, Nonce: in.Fence.Nonce, Kinds: []string{at.queue}, Queues: []store.QueueSlots{{Queue: at.queue, Slots: slots}},
	}
	if in.Suspects {
		req.Suspects = 1
	}
	return in, req
}

func (c *client) claim(ctx context.Context, at *cell, slots int) {
	if at.kind.apart() {
		slots += c.rand.IntN(3)
	}
	in, req := c.request(at, slots)
	start := c.now()
	res, err := c.st.Claim(ctx, req)
	c.calls++
	c.claimed(at, in, start, res, err)
}

// claimed records what a claim brought, for the tasks and for the worker.
func (c *client) claimed(at *cell, in input, start time.Duration, res store.ClaimResult, err error) {
	name, known := errorName(err)
	out := output{Unknown: !known}
	r := record{cell: at, call: start, ret: c.now(), in: in, out: out}
	if !known {
		r.ret = 0
		if in.Op == opClaim {
			c.lost = append(c.lost, claim{at, in.Fence.Nonce})
			c.add(r)
		}
		return
	}
	r.out.Answer.Err = name
	c.addWorker(r)
	if err != nil {
		c.fallen = name == dead
		return
	}
	for i := range res.Tasks {
		t := &res.Tasks[i]
		n := at.number(t.ID)
		r.out.Tasks = append(r.out.Tasks, taken{n, see(t)})
		c.remember(held{cell: at, task: n, fence: t.Fence(), wakes: t.Wakes})
	}
	c.add(r)
}

// again asks what a claim holds whose answer was lost.
func (c *client) again(ctx context.Context) {
	if len(c.lost) == 0 {
		return
	}
	l := c.lost[len(c.lost)-1]
	c.lost = c.lost[:len(c.lost)-1]
	in, req := c.request(l.cell, 1)
	in.Op, in.Suspects, req.Suspects = opRepeat, false, 0
	in.Fence.Nonce, req.Nonce, req.Repeat = l.nonce, l.nonce, true
	start := c.now()
	res, err := c.st.Claim(ctx, req)
	c.calls++
	c.claimed(l.cell, in, start, res, err)
}

// complete ends a run, and sometimes claims in the same call.
func (c *client) complete(ctx context.Context) {
	h := c.fence()
	if h == nil {
		return
	}
	in, out := c.outcome(h)
	req := store.CompleteRequest{Items: []store.Completion{{Fence: in.Fence, Outcome: out}}}
	var claims input
	at := c.cells[c.rand.IntN(len(c.cells))]
	if c.chance(3) {
		var more store.ClaimRequest
		claims, more = c.request(at, 1)
		req.Claim = &more
	}
	var res store.CompleteResult
	var err error
	start := c.now()
	c.faults.once = req.Claim != nil
	c.call(h.cell, in, func() (answer, error) {
		if res, err = c.st.Complete(ctx, req); err != nil {
			return answer{}, err
		}
		item := res.Items[0]
		return answer{State: item.State, Repeated: item.Repeated}, item.Err
	})
	c.faults.once = false
	c.forget(h)
	if req.Claim != nil {
		if err == nil {
			err = res.ClaimErr
		}
		c.claimed(at, claims, start, res.Claim, err)
	}
}

// join makes the client a worker, under an id that nobody had.
func (c *client) join(ctx context.Context) {
	c.lives++
	c.worker = fmt.Sprintf("%s:%d", c.name, c.lives)
	if c.client < len(c.peers) {
		c.peers[c.client].Store(c.worker)
	}
	in := input{Op: opJoin, Worker: c.worker}
	req := store.JoinRequest{ID: c.worker, Beat: beat, DeadAfter: deadAfter, Remote: c.chance(2)}
	c.ofWorker(in, func() error { return c.st.Join(ctx, req) })
}

func (c *client) beat(ctx context.Context) {
	in := input{Op: opBeat, Worker: c.worker}
	if c.ofWorker(in, func() error { _, err := c.st.Beat(ctx, store.BeatRequest{Worker: c.worker}); return err }) == dead {
		c.join(ctx)
	}
}

// ofWorker makes a call about a worker, records it and returns the error's name.
func (c *client) ofWorker(in input, do func() error) string {
	r := record{call: c.now(), in: in}
	err := do()
	c.calls++
	end := c.now()
	name, known := errorName(err)
	if r.out.Unknown = !known; known {
		r.ret, r.out.Answer.Err = end, name
	}
	c.addWorker(r)
	if in.Op == opLeave {
		c.add(r)
	}
	if c.faults.twice {
		c.faults.twice = false
		r.ret, r.out = end, output{Unknown: true}
		c.addWorker(r)
		if in.Op == opLeave {
			c.add(r)
		}
	}
	return name
}

// leave ends a worker in an orderly way; its fences come late from then on.
func (c *client) leave(ctx context.Context, worker string) {
	c.ofWorker(input{Op: opLeave, Worker: worker}, func() error { _, err := c.st.Leave(ctx, worker); return err })
}

// recover looks for the dead, and puts back what they hold.
func (c *client) recover(ctx context.Context) {
	start := c.now()
	res, err := c.st.Recover(ctx, store.RecoverRequest{Worker: c.worker, Force: true})
	c.calls++
	end := c.now()
	if _, known := errorName(err); !known {
		c.add(record{call: start, in: input{Op: opRecover}, out: output{Unknown: true}})
		return
	}
	for _, w := range res.Dead {
		c.addWorker(record{call: start, ret: end, in: input{Op: opRecover, Worker: w.ID}})
	}
	for _, t := range res.Tasks {
		for _, at := range c.cells {
			if n := at.number(t.ID); n > 0 {
				c.add(record{
					cell: at, task: n, call: start, ret: end, in: input{Op: opRecover, Task: n, Worker: t.Worker},
					out: output{Answer: answer{State: t.State}, Crash: t.Crash},
				})
			}
		}
	}
}
