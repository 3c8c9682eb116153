package history

import (
	"context"
	"strings"

	"github.com/outlast-go/outlast/store"
)

// call makes a call about a task and records it. What the call itself was told goes to set, before it is recorded.
func (c *client) call(at *cell, in input, do func() (answer, error)) output {
	var out output
	start := c.now()
	a, err := do()
	end := c.now()
	c.calls++
	name, known := errorName(err)
	if known {
		a.Err = name
		out.Answer = a
	}
	r := record{cell: at, task: in.Task, call: start, ret: end, in: in, out: out}
	if r.out.Unknown = !known; !known {
		r.ret = 0
	}
	c.add(r)
	if c.faults.twice {
		c.faults.twice = false
		r.out, r.ret = output{Unknown: true}, end // the first of the two: it came before this end
		c.add(r)
	}
	return r.out
}

// one makes a call that needs no more than the id of a task.
func (c *client) one(ctx context.Context, what op, at *cell, task int) {
	id := at.ids[task]
	c.call(at, input{Op: what, Task: task}, func() (answer, error) { return c.ask(ctx, what, at, id) })
}

func (c *client) ask(ctx context.Context, what op, at *cell, id store.ID) (a answer, err error) {
	switch what {
	case opCancel:
		a.State, err = c.st.Cancel(ctx, id, "")
	case opRetry:
		err = c.st.Retry(ctx, id)
	case opFree:
		err = c.st.Free(ctx, id)
	case opDelete:
		err = c.st.Delete(ctx, id)
	case opLoad:
		var entries map[string][]byte
		entries, err = c.st.Load(ctx, id)
		a.Value = string(entries["entry"])
	case opMessages:
		var list []store.Message
		list, err = c.st.Messages(ctx, id)
		for _, m := range list {
			a.Inbox += m.Name
		}
		c.read(at, at.number(id), a.Inbox)
	default:
		var t store.Task
		if t, err = c.st.Get(ctx, id); err == nil {
			a.View = see(&t)
		}
	}
	if err != nil {
		a = answer{}
	}
	return a, err
}

// see is what a reader sees of a task.
func see(t *store.Task) view {
	return view{
		State: t.Read(), Epoch: t.Epoch, Nonce: t.Nonce, Worker: t.Worker, Asked: t.Asked != "", Wakes: t.Wakes, Round: t.Round,
		Attempts: t.Attempts, Crashes: t.Crashes, Result: string(t.Result), Settled: t.Settled,
	}
}

// read notes which messages the client could use.
func (c *client) read(at *cell, task int, inbox string) {
	for i := range c.held {
		if h := &c.held[i]; h.cell == at && h.task == task {
			h.inbox = nil
			for _, n := range inbox {
				h.inbox = append(h.inbox, int(n-'0'))
			}
		}
	}
}

// remove deletes a task, or aborts a group: there a deleted task would be one that its group counts for ever.
func (c *client) remove(ctx context.Context, at *cell, task int) {
	if at.kind != group {
		c.one(ctx, opDelete, at, task)
		return
	}
	c.call(at, input{Op: opAbort}, func() (answer, error) {
		g, err := c.st.Abort(ctx, at.group, "")
		if err != nil {
			return answer{}, err
		}
		return answer{Asked: g.Aborting != ""}, nil
	})
}

// spec is a task of a cell, as a submit has it.
func (c *client) spec(at *cell, task int) (input, store.Spec) {
	in := input{Op: opSubmit, Task: task, Delayed: c.chance(5)}
	spec := store.Spec{ID: at.ids[task], Kind: at.queue, Queue: at.queue, Retention: -1, Group: at.group}
	if in.Delayed {
		spec.Delay = delay
	}
	switch at.kind {
	case unique:
		in.Policy = []store.Conflict{store.Keep, store.Reject, store.Replace, store.Latest}[c.rand.IntN(4)]
		spec.Unique = store.Unique{Key: "key", OnConflict: in.Policy}
	case skip:
		spec.Order, spec.Lane = store.OrderSkip, "lane"
	case block:
		spec.Order, spec.Lane = store.OrderBlock, "lane"
	}
	return in, spec
}

// submit stores a task, and sometimes claims it in the same call.
func (c *client) submit(ctx context.Context, at *cell, task int) {
	in, spec := c.spec(at, task)
	req := store.SubmitRequest{Specs: []store.Spec{spec}}
	var claims input
	if c.chance(4) {
		var own store.ClaimRequest
		claims, own = c.request(at, 1)
		claims.Suspects, claims.Own, own.Suspects = false, true, 0
		req.Claim = &own
	}
	var res store.SubmitResult
	var err error
	start := c.now()
	c.faults.once = req.Claim != nil
	c.call(at, in, func() (answer, error) {
		if res, err = c.st.Submit(ctx, req); err != nil {
			return answer{}, err
		}
		s := res.Specs[0]
		if s.Err != nil {
			return answer{}, s.Err
		}
		if len(res.Claimed) > 0 {
			s.State = store.Ready // as the claim, which is recorded by itself, has found it
		}
		return answer{Task: at.number(s.ID), State: s.State, Existed: s.Existed, Replaced: at.number(s.Replaced)}, nil
	})
	c.faults.once = false
	if req.Claim != nil {
		if err == nil {
			err = res.ClaimErr
		}
		c.claimed(at, claims, start, store.ClaimResult{Tasks: res.Claimed}, err)
	}
}

// fill submits all tasks of a group together with it.
func (c *client) fill(ctx context.Context, at *cell) {
	req := store.SubmitRequest{Groups: []store.NewGroup{{ID: at.group, Seal: true, Retention: -1}}}
	var ins []input
	for i := 1; i <= at.tasks; i++ {
		in, spec := c.spec(at, i)
		in.Delayed, spec.Delay = false, 0
		ins, req.Specs = append(ins, in), append(req.Specs, spec)
	}
	start := c.now()
	res, err := c.st.Submit(ctx, req)
	c.calls++
	for i, in := range ins {
		r := record{cell: at, task: in.Task, call: start, ret: c.now(), in: in}
		name, known := errorName(err)
		if r.out.Unknown = !known; err == nil {
			s := res.Specs[i]
			name, _ = errorName(s.Err)
			r.out.Answer = answer{Task: at.number(s.ID), State: s.State, Existed: s.Existed}
		}
		r.out.Answer.Err = name
		c.add(r)
	}
}

func (c *client) send(ctx context.Context, at *cell, task int) {
	in := input{Op: opSend, Task: task, Message: 1 + c.rand.IntN(room)}
	m := store.Message{ID: at.messageID(task, in.Message), Task: at.ids[task], Name: string(rune('0' + in.Message))}
	c.call(at, in, func() (answer, error) { return answer{}, c.st.Send(ctx, m) })
}

func (c *client) save(ctx context.Context) {
	h := c.fence()
	if h == nil {
		return
	}
	in := input{Op: opSave, Task: h.task, Fence: c.nearly(h.fence), Value: c.value(), Consume: h.inbox}
	if c.chance(2) {
		h.seq++
		in.Seq = h.seq
	}
	req := store.SaveRequest{Fence: in.Fence, Seq: in.Seq, Entries: map[string][]byte{"entry": []byte(in.Value)}, Consume: c.uses(h)}
	c.call(h.cell, in, func() (answer, error) {
		asked, err := c.st.Save(ctx, req)
		if err != nil {
			return answer{}, err
		}
		return answer{Asked: asked != ""}, nil
	})
}

// uses are the ids of the messages that a client has read.
func (c *client) uses(h *held) []store.ID {
	var ids []store.ID
	for _, n := range h.inbox {
		ids = append(ids, h.cell.messageID(h.task, n))
	}
	return ids
}

var outcomes = strings.Fields("done done done fail fail cancel retry retry retry snooze park park park release hold")

// nearly is a fence, and now and then one that nobody was given.
func (c *client) nearly(f store.Fence) store.Fence {
	switch c.rand.IntN(40) {
	case 0:
		f.Epoch++
	case 1:
		f.Nonce = c.id()
	}
	return f
}

// outcome is how a run ends, by chance.
func (c *client) outcome(h *held) (input, store.Outcome) {
	in := input{Op: opComplete, Task: h.task, Fence: c.nearly(h.fence), Kind: store.OutcomeKind(outcomes[c.rand.IntN(len(outcomes))]), Consume: h.inbox}
	out := store.Outcome{Kind: in.Kind, Consume: c.uses(h)}
	switch in.Kind {
	case store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel:
		in.Value = c.value()
		out.Result = []byte(in.Value)
	case store.OutcomeRetry, store.OutcomeSnooze:
		in.Delayed = c.chance(2)
	case store.OutcomePark:
		in.Delayed, in.Wakes = c.chance(2), h.wakes
		out.Wakes = h.wakes
	case store.OutcomeHold:
		out.Reason = "by chance"
	}
	if in.Delayed {
		out.Delay = delay
	}
	return in, out
}
