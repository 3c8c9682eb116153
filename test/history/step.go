package history

import "github.com/outlast-go/outlast/store"

// submit stores a task, or tells which one stands.
func (k kind) submit(w world, in input) []result {
	var all []result
	stands := func(i int) []result {
		for _, now := range w.times(i, in.Still) {
			all = append(all, result{now, answer{Task: i, State: now.Tasks[i].State, Existed: true}})
		}
		return all
	}
	create := func(w world, replaced int) []result {
		t := task{}.wait(in.Delayed)
		if k.lane() {
			t.Since = in.Ret
		}
		switch k {
		case unique:
			w.Holder = in.Task
		case group:
			t.State, t.Due = store.Held, true
		}
		return []result{{w.with(in.Task, t), answer{Task: in.Task, State: t.State, Replaced: replaced}}}
	}
	if w.Tasks[in.Task].State != "" {
		return stands(in.Task)
	}
	h := w.Holder
	if h == 0 {
		return create(w, 0)
	}
	holder := w.Tasks[h]
	switch {
	case in.Policy == store.Reject:
		return []result{{w, answer{Err: duplicate}}}
	case in.Policy == store.Latest && holder.State == store.Running:
		return create(w, h)
	case (in.Policy == store.Latest || in.Policy == store.Replace) && holder.State != store.Running:
		return create(w.end(h, holder, store.Cancelled, ""), h)
	}
	return stands(h)
}

// one is what a call does to a single task, of which t is what it is by now.
func (k kind) one(w world, t task, in input) result {
	i := in.Task
	if t.State == "" && in.Op != opComplete && in.Op != opSave {
		return result{w, answer{Err: notFound}}
	}
	switch in.Op {
	case opComplete:
		return complete(w, t, in)
	case opSave:
		return save(w, t, in)
	case opLoad:
		return result{w, answer{Value: t.Entry}}
	case opMessages:
		return result{w, answer{Inbox: t.Inbox}}
	case opGet:
		return result{w, answer{View: t.view}}
	case opCancel:
		return cancel(w, t, in)
	case opRetry:
		return k.retry(w, t, in)
	case opFree:
		if t.State != store.Held || t.Due {
			return result{w, answer{Err: wrongly}}
		}
		t.Crashes, t.CrashRun = 0, 0
		return result{w.with(i, t.leave(store.Ready)), answer{}}
	case opSend:
		return send(w, t, in)
	case opDelete:
		if !t.State.Terminal() {
			return result{w, answer{Err: wrongly}}
		}
		return result{w.with(i, task{}), answer{}}
	}
	return result{w, answer{Err: "the model does not know this call"}}
}

// complete ends a run: once, by its owner alone.
func complete(w world, t task, in input) result {
	said := store.Settled{Epoch: in.Fence.Epoch, Nonce: in.Fence.Nonce, Kind: in.Kind}
	switch {
	case t.holds(in.Fence):
		t.Settled = said
		w = settle(w, t, in)
		return result{w, answer{State: w.Tasks[in.Task].State}}
	case t.Settled == said:
		return result{w, answer{State: t.State, Repeated: true}}
	}
	return result{w, answer{Err: fenced, State: t.State}}
}

// settle applies an outcome.
func settle(w world, t task, in input) world {
	i := in.Task
	ends := in.Kind == store.OutcomeDone || in.Kind == store.OutcomeFail || in.Kind == store.OutcomeCancel
	if in.Kind == store.OutcomeRetry || in.Kind == store.OutcomeFail {
		t.Attempts++
	}
	if asked, overruled := w.overruled(t); !ends && overruled {
		return w.end(i, asked, store.Cancelled, "")
	}
	t = t.without(in.Consume)
	switch in.Kind {
	case store.OutcomeDone:
		return w.end(i, t, store.Done, in.Value)
	case store.OutcomeFail:
		return w.end(i, t, store.Failed, in.Value)
	case store.OutcomeCancel:
		return w.end(i, t, store.Cancelled, in.Value)
	case store.OutcomeRelease:
		return w.with(i, t.leave(store.Ready))
	case store.OutcomeHold:
		return w.with(i, t.leave(store.Held))
	case store.OutcomePark:
		t.CrashRun = 0
		if t.Wakes != in.Wakes {
			return w.with(i, t.leave(store.Ready))
		}
		t = t.leave(store.Parked)
		t.Due = in.Delayed
		return w.with(i, t)
	}
	return w.with(i, t.wait(in.Delayed)) // retry and snooze
}

func save(w world, t task, in input) result {
	if !t.holds(in.Fence) {
		return result{w, answer{Err: fenced}}
	}
	if in.Seq > 0 && in.Seq < t.Saves {
		return result{w, answer{Err: changed}}
	}
	t.Saves = max(t.Saves, in.Seq)
	t = t.without(in.Consume)
	t.Entry, t.CrashRun = in.Value, 0
	return result{w.with(in.Task, t), answer{Asked: t.Asked}}
}

func cancel(w world, t task, in input) result {
	w = w.ask(in.Task, t)
	return result{w, answer{State: w.Tasks[in.Task].State}}
}

// retry begins the next round of a task, if nobody else has its key by now.
func (k kind) retry(w world, t task, in input) result {
	if t.State != store.Failed && t.State != store.Cancelled || w.Aborted > 0 {
		return result{w, answer{Err: wrongly}}
	}
	if k == unique {
		if w.Holder != 0 && w.Holder != in.Task {
			return result{w, answer{Err: duplicate}}
		}
		w.Holder = in.Task
	}
	if k.lane() {
		t.Since = in.Ret
	}
	t.Round++
	t.Attempts, t.Crashes, t.CrashRun, t.Result, t.Asked = 0, 0, 0, "", false
	return result{w.with(in.Task, t.leave(store.Ready)), answer{}}
}

func send(w world, t task, in input) result {
	bit := uint16(1) << in.Message
	switch {
	case t.Seen&bit != 0:
		return result{w, answer{}}
	case t.State.Terminal():
		return result{w, answer{Err: wrongly}}
	}
	t.Seen |= bit
	t.Inbox += string(rune('0' + in.Message))
	return result{w.with(in.Task, t.wake()), answer{}}
}

// abort asks a group to end. One of which nobody lives is closed, and left as it is.
func abort(w world, in input) []result {
	var all []result
	for _, now := range w.times(in.Task, in.Still) {
		if t := now.Tasks[in.Task]; now.Aborted == 0 && t.State.Terminal() {
			all = append(all, result{now, answer{}})
		}
		if now.Aborted == 0 {
			now.Aborted = in.Ret
		}
		all = append(all, result{now, answer{Asked: true}})
	}
	return all
}
