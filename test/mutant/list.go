package mutant

import "slices"

// All lists the planted bugs. Several are of the kind that public job queues have had; the rest are what this design could get
// wrong most easily.
func All() []Mutant { return slices.Concat(ownership(), endings(), turns(), secrets(), peers()) }

const (
	complete = "store/memory/complete.go"
	fleet    = "store/memory/fleet.go"
	recovery = "store/memory/recover.go"
	end      = "store/memory/end.go"
	move     = "store/memory/move.go"
)

// ownership is bugs in who owns a task.
func ownership() []Mutant {
	return []Mutant{
		{"fence-not-compared", "a late outcome of an earlier claim is applied", []Edit{{
			complete, "t.State == store.Running && t.Epoch == f.Epoch && t.Nonce == f.Nonce", "t.State == store.Running",
		}}},
		{"nonce-ignored", "two claims of the same epoch, before and after a restore, pass for one", []Edit{{
			complete, " && t.Epoch == f.Epoch && t.Nonce == f.Nonce", " && t.Epoch == f.Epoch",
		}}},
		{"dead-may-claim", "a worker that was declared dead claims again, and nobody looks after what it holds", []Edit{{
			"store/memory/claim.go", "	w := d.alive(req.Worker)\n", "	w := d.workers[req.Worker]\n",
		}}},
		{"remove-then-push", "Recover takes a task out in one step and puts it back in another", []Edit{
			{recovery, "		t.Solo = t.Solo || crash && suspect\n		d.move(t, store.Ready)\n", "		t.Solo = t.Solo || crash && suspect\n		t.DueAt = time.Time{}\n		d.move(t, store.Parked)\n"},
			{"kernel/sweep.go", "		k.report(ctx, res)\n", "		k.report(ctx, res)\n		for _, t := range res.Tasks {\n			_ = k.call(ctx, k.cfg.CallTimeout, func(ctx context.Context) error {\n				return k.store.Send(ctx, store.Message{ID: k.NewID(), Task: t.ID, Name: \"push\"})\n			})\n		}\n"},
		}},
		{"beat-revives", "a beat of a worker that was declared dead makes it alive again", []Edit{{
			fleet, "	w := d.alive(req.Worker)\n	if w == nil {\n		return store.BeatResult{}, deadError(req.Worker)\n	}\n",
			"	w := d.workers[req.Worker]\n	if w == nil {\n		return store.BeatResult{}, deadError(req.Worker)\n	}\n	w.DeadAt, w.Death = time.Time{}, \"\"\n",
		}}},
		{"silence-without-pulse", "after an outage of the store everybody is declared dead", []Edit{{
			recovery, "	if silent >= w.DeadAfter && whole && !d.pulseLast.After(d.now) {", "	if silent >= w.DeadAfter && (whole || true) {",
		}}},
		{"gone-without-witness", "a server that restarts kills every worker whose session it ended", []Edit{{
			recovery, "	return (older || heard) && silent", "	return (older || heard || true) && silent",
		}}},
		{"orphan-unseen", "a dead worker's record goes while tasks run under it, and nobody looks for those", []Edit{
			{recovery, "!w.DeadAt.IsZero() && d.held[id] == nil {", "!w.DeadAt.IsZero() {"},
			{recovery, "			w = &worker{Worker: store.Worker{ID: id, Death: store.DeathSilence}}\n", "			continue\n"},
		}},
		{"crash-spends-attempt", "losing its worker costs a task one of its attempts", []Edit{{
			recovery, "		t.Crashes++\n", "		t.Crashes++\n		t.Attempts++\n",
		}}},
		{"no-self-fencing", "a worker that is cut off runs on while others take over", []Edit{{
			"kernel/worker.go", "		w.fenced, fenced = true, w.id\n		k.cancelRuns(w, ErrFenced)\n", "		w.fenced, fenced = true, w.id\n",
		}}},
		{"claim-not-reconciled", "what a lost answer had claimed stays with a worker that does not know", []Edit{
			{"kernel/claim.go", "		p.req.Repeat = repeat\n", "		if repeat {\n			p.req.Nonce = k.NewID()\n		}\n"},
			{"kernel/worker.go", "		if known[h.Fence] == nil {", "		if known[h.Fence] == nil && false {"},
		}},
		{"release-lost", "what still ran at the end of a drain is not given back", []Edit{
			{"kernel/life.go", "	if _, sent := k.complete(r, Outcome{Kind: store.OutcomeRelease}, nil); sent {", "	if r == nil {"},
			{fleet, "		s.d.putBack(t, w)\n", "		_ = t\n"},
		}},
		{"at-once-forgotten", "what an idle worker has taken with its submit is not started", []Edit{{"kernel/atonce.go", "	k.start(runs)\n", "	_ = runs\n"}}},
		{"at-once-anew", "a submit whose answer was lost does not ask for what it has taken", []Edit{{"kernel/submit.go", "		p.repeated(repeat)\n", ""}}},
		{"at-once-told", "everybody is woken for a task that runs already", []Edit{{"store/memory/submit.go", "		if req.Taken(&res) {", "		if req.Taken(&res) && false {"}}},
	}
}

// endings is bugs in how tasks end, wait and close together.
func endings() []Mutant {
	return []Mutant{
		{"consumed-early", "a signal is gone once it was read, before its use is saved", []Edit{{
			"store/memory/inbox.go", "	return slices.Clone(t.inbox), nil\n", "	inbox := t.inbox\n	t.inbox = nil\n	return inbox, nil\n",
		}}},
		{"wake-lost-in-park", "a wake between the run and its park is forgotten", []Edit{{
			complete, "	case t.Wakes != out.Wakes:\n", "	case t.Wakes < out.Wakes:\n",
		}}},
		{"cancel-lost-in-park", "a cancel while the run is about to park has no effect", []Edit{
			{complete, "	if !ends && d.overruled(t) && !t.Owned {", "	if !ends && d.overruled(t) && !t.Owned && out.Kind != store.OutcomePark {"},
			{complete, "	asked := d.overruled(t)\n", "	asked := d.overruled(t) && out.Kind != store.OutcomePark\n"},
			{move, "		t.Asked, t.Told = reason, false\n		t.Wakes++\n", "		t.Asked, t.Told = reason, false\n"},
		}},
		{"seal-after-last", "a group that is sealed after its last member ended never closes", []Edit{{
			"store/memory/group.go", "	d.touchGroup(g)\n	d.tryClose(g)\n	d.ripen(g)\n}\n\n// tryClose", "	d.touchGroup(g)\n	d.ripen(g)\n}\n\n// tryClose",
		}}},
		{"counted-twice", "an outcome that is repeated after a lost answer counts twice in its group", []Edit{{
			complete, "			return store.Completed{State: t.Read(), Repeated: true}\n", "			d.countEnd(t, 1)\n			return store.Completed{State: t.Read(), Repeated: true}\n",
		}}},
		{"ending-without-onend", "a task that is cancelled has no callback", []Edit{{
			end, "	if t.OnEnd != nil {\n		next := *t.OnEnd\n", "	if t.OnEnd != nil && e.state != store.Cancelled {\n		next := *t.OnEnd\n",
		}}},
		{"slot-leaked", "the slot of a task whose worker died is never free again", []Edit{{
			"store/memory/limit.go", "	l := d.limit(t.Limit)\n	l.running--\n", "	l := d.limit(t.Limit)\n	if d.alive(t.Worker) != nil {\n		l.running--\n	}\n",
		}}},
		{"key-leaked", "a task that is cancelled holds its unique key for ever", []Edit{{
			"store/memory/submit.go", "	if t.State == store.Failed && t.Unique.For != store.KeyStays || t.Unique.For == 0 {", "	if t.State == store.Failed || t.Unique.For == 0 && t.State == store.Done {",
		}}},
		{"staying-key-let-go", "a key that is to stay with its record is let go when the task fails", []Edit{{
			"store/memory/submit.go", "t.State == store.Failed && t.Unique.For != store.KeyStays || ", "t.State == store.Failed || ",
		}}},
		{"notice-dropped", "who follows a task and could not keep up is never told to look", []Edit{{
			"store/memory/watch.go", "		case missed <- struct{}{}:\n", "		case missed <- struct{}{}:\n			<-missed\n",
		}}},
		{"tick-not-compared", "two drivers submit the same tick of a schedule", []Edit{{
			"store/memory/schedule.go", " || !sc.LastTick.Equal(req.Last):", ":",
		}}},
		{"dead-letter-expires", "a task that failed is removed as if it had ended well", []Edit{{
			end, "	if t.State != store.Done && t.State != store.Cancelled || !t.ExpireAt.IsZero() {", "	if !t.State.Terminal() || !t.ExpireAt.IsZero() {",
		}}},
		{"followed-expires", "a task is removed while its callback has failed and may be retried", []Edit{{
			end, "return t.State != store.Done && !t.Stripped }", "return !t.State.Terminal() }",
		}}},
	}
}
