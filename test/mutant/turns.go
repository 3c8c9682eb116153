package mutant

// turns is bugs in when things run: limits, schedules, turns, order and repeats.
func turns() []Mutant {
	const (
		limits    = "store/memory/limit.go"
		lanes     = "store/memory/lane.go"
		schedules = "store/memory/schedule.go"
		submit    = "store/memory/submit.go"
	)
	return []Mutant{
		{"rate-off-by-one", "a rate lets one start more than its burst", []Edit{{
			limits, "at := l.tats[i].Add(step - burst)", "at := l.tats[i].Add(step - burst - step)",
		}}},
		{"charged-twice", "a task that comes back after a crash is charged to its rates again", []Edit{{
			limits, "	if t.Charged || !l.set {", "	if !l.set {",
		}}},
		{"limit-of-one-more", "one more runs than the limit says", []Edit{{
			limits, "l.Running > 0 && l.running >= l.Running", "l.Running > 0 && l.running > l.Running",
		}}},
		{"tick-not-advanced", "a tick is submitted, and the schedule stays where it was", []Edit{{
			schedules, "	sc.LastTick, ", "	_, ",
		}}},
		{"overlap-ignored", "a tick comes though the task of the one before has not ended", []Edit{{
			schedules, "	if !req.Skip && (!res.Overlapped || sc.Overlap != store.OverlapSkip) {", "	if !req.Skip {",
		}}},
		{"order-fail-spares", "a failure in an ordered lane does not fail the rest that was there", []Edit{{
			lanes, "!f.EndedAt.Before(t.CreatedAt)", "f.EndedAt.Before(t.CreatedAt)",
		}}},
		{"latest-dropped", "of repeats the last is dropped while one runs", []Edit{{
			submit, "		d.dropKey(holder)\n		return store.Submitted{}, false\n	case replaces", "		return stands(holder), true\n	case replaces",
		}}},
		{"replaced-in-silence", "who takes the place of another is not told which", []Edit{{
			submit, "			replaced = holder.ID\n", "			_ = holder.ID\n",
		}}},
		{"period-key-kept", "a task that failed keeps the key of its period", []Edit{{
			submit, "	if t.State == store.Failed && t.Unique.For != store.KeyStays || t.Unique.For == 0 {", "	if t.Unique.For == 0 {",
		}}},
		{"low-starves", "a task of low priority waits as long as higher ones come", []Edit{{
			"store/memory/claim.go", "		case l.ready.head().Priority < top && !p.aged(l):", "		case l.ready.head().Priority < top:",
		}}},
		{"backlog-first", "who has an old backlog keeps those away that come later", []Edit{{
			"store/memory/claim.go", "			top = max(top, l.ready.head().Priority)\n", "			if p.aged(l) {\n				top = math.MaxInt\n			}\n			top = max(top, l.ready.head().Priority)\n",
		}}},
		{"turn-forgotten", "a weight counts for nothing where claims are small", []Edit{{
			"store/lane.go", "	return Turn{lane, share - taken}\n", "	return Turn{Lane: lane}\n",
		}}},
	}
}
