package mutant

// peers is bugs that other queues had, by their reports, and that none of the rest is like.
func peers() []Mutant {
	return []Mutant{
		{"taken-too-early", "a worker that is silent for less than it may be is robbed", []Edit{{
			recovery, "	if silent >= w.DeadAfter && whole && ", "	if silent >= w.DeadAfter/4 && whole && ",
		}}},
		{"poison-for-ever", "a task that kills every worker it meets is handed out again and again", []Edit{{
			recovery, "	case crash && suspect && t.Alone && w.HeldAt <= 1:\n", "	case crash && suspect && t.Alone && w.HeldAt < 0:\n",
		}}},
		{"company-unheard", "a suspect is blamed for what a run did whose task was taken from its worker", []Edit{{
			"store/memory/claim.go", "t.Alone, t.Saves = d.held[req.Worker] == nil && !req.Company, 0", "t.Alone, t.Saves = d.held[req.Worker] == nil, 0",
		}}},
		{"company-untold", "a worker does not say that runs go on beside the suspect that it asks for", []Edit{{
			"kernel/claim.go", "p.req.Company = true, n, len(k.runs) > 0", "p.req.Company = true, n, false",
		}}},
		{"redrive-keeps-crashes", "a task that an operator retries is still a suspect, and fails at its next crash", []Edit{{
			"store/memory/cancel.go", "	t.Attempts, t.Crashes, t.CrashRun, t.Suspect, t.Solo, t.Charged = 0, 0, 0, false, false, false\n	t.Asked,", "	t.Attempts, t.Charged = 0, false\n	t.Asked,",
		}}},
		{"known-id-anew", "a submit that is repeated after a lost answer starts the task over", []Edit{{
			"store/memory/submit.go", "	if t := d.tasks[spec.ID]; t != nil {\n		return stands(t)\n", "	if t := d.tasks[spec.ID]; t != nil && t.State != store.Done {\n		return stands(t)\n",
		}}},
		{"name-reused", "a process that joins anew takes the name that it was declared dead under", []Edit{{
			"kernel/worker.go", "hex.EncodeToString(random[:8]))", "hex.EncodeToString(random[:0]))",
		}}},
		{"one-bad-hides-rest", "a pass of recovery that meets a dead worker's first task ends there, and says that nothing is left", []Edit{{
			recovery, "			res.Tasks = append(res.Tasks, d.putBack(t, w))\n", "			res.Tasks = append(res.Tasks, d.putBack(t, w))\n			return\n",
		}}},
	}
}
