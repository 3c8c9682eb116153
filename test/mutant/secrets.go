package mutant

// secrets is bugs in what is sealed, resealed and kept beside the records.
func secrets() []Mutant {
	const sealing = "kernel/seal.go"
	return []Mutant{
		{"reseal-unchecked", "a rotation overwrites what was written since it read", []Edit{{
			"store/reseal.go", "	if t.Version != r.Version {", "	if t.Version < r.Version {",
		}}},
		{"note-in-the-clear", "the note of a run's progress is not sealed", []Edit{{
			sealing, "	if p == nil || t.Sealed.IsZero() || p.Note == \"\" {", "	if p == nil || t != nil || p.Note == \"\" {",
		}}},
		{"error-in-the-clear", "the text of an error is not sealed", []Edit{{
			sealing, "	if e == nil || t.Sealed.IsZero() {", "	if e == nil || t != nil {",
		}}},
		{"swapped-unnoticed", "the args of a task and of what follows it can be swapped", []Edit{{
			"kernel/submit.go", "k.sealArgs(next, store.OnEndID(s.ID, 0))", "k.sealArgs(next, s.ID)",
		}}},
		{"no-key-fails", "a process without the key fails the tasks that it claims", []Edit{{
			sealing, "		return Outcome{Kind: store.OutcomeSnooze, Delay: r.k.jitter(keyWait), Error: describe(err)}, nil\n", "		return Outcome{}, Permanent(err)\n",
		}}},
		{"blob-in-the-clear", "what leaves the record is not sealed on its way", []Edit{{
			"kernel/blob.go", "k.blobs.Put(ctx, task.String(), r, k.cfg.Sealer != nil)", "k.blobs.Put(ctx, task.String(), r, false)",
		}}},
		{"sweep-without-grace", "a blob is removed before its task is submitted", []Edit{{
			"blob/sweep.go", "		if b.Age < grace || ", "		if b.Age < 0 || ",
		}}},
		{"sweep-at-the-end", "the blobs of a task go when it ends, and not with its record", []Edit{{
			"kernel/blob.go", "	return !t.Stripped, err\n", "	return !t.State.Terminal(), err\n",
		}}},
		{"foreign-blob", "args that somebody forged lead to the blob of another task", []Edit{{
			"kernel/blob.go", "err != nil || ref.Task() != id.String() {", "err != nil {",
		}}},
	}
}
