// Package outlast is the root of the module and holds nothing but this map: background work for Go that outlasts crashes.
// Accepted work is a task in a store; whatever process runs it may die at any moment, and the task goes on elsewhere; a
// process that was given up and comes back cannot spoil it.
//
// # The rooms
//
//	store             the contract of what keeps tasks: records, operations, errors. Its comment is the specification
//	store/storetest   the suite that every store must pass
//	store/memory      the reference store, in plain Go; it lives as long as its process
//	store/sqlite      tasks in one SQLite file, for all processes of one host: the embedded default
//	store/postgres    tasks in PostgreSQL, for processes on many machines
//	store/redis       tasks in Redis or Valkey, for the same
//	store/fsck        checks every invariant that the content of a store can show
//	kernel            submits, claims, runs, completes, beats, recovers, drains: once for all stores
//	kernel/kerneltest helpers for tests of programs that use the kernel
//	seal, blob        encryption of what is stored; large payloads beside the records
//	job               typed functions in the background: the first face of the kernel
//	call              outbound HTTP requests that outlast their caller, with callbacks
//	batch             rows by the million, processed by all processes together, with files and a closing hook
//	endpoint          HTTP endpoints that answer 202 now and finish for certain
//	saga              typed steps, undone in order when they must be; saga/sagatest for their tests
//	internal          small leaves; internal/arch has the rules of this tree, checked by machine
//	cmd/outlast       the command line: demo
//	examples          small programs, run by the tests
//	test/sim          the kernel under a seeded simulation of crashes, pauses, cuts and wrong clocks
//	test/crash        real worker processes, killed and stopped, judged from outside the store
//	test/mutant       planted bugs, each of which the suites must find
//	test/servers      private servers for the tests: PostgreSQL, pgbouncer, Redis, Sentinel, S3
//
// # A first program
//
// A job is defined once, served by the processes that run it, and started from anywhere:
//
//	var Welcome = job.Define("welcome", func(ctx context.Context, name string) (int, error) {
//		return fmt.Println("hello,", name)
//	}, job.Config{})
//
//	db, err := sqlite.Open(ctx, sqlite.Config{Path: "app.db"})
//	k, err := kernel.New(db, kernel.Config{})
//	Welcome.Serve(k)                                      // this process runs it
//	h, err := Welcome.Start(ctx, k, "Ann", job.Options{}) // from here on it ends, whatever dies
//	err = k.Run(ctx)                                      // works until ctx ends, then drains
//
// examples/first is the whole program.
//
// A handler that returns an error is tried again as the task's Retry says; one whose process dies is run again elsewhere,
// which costs no attempt. README.md has the promises, ARCHITECTURE.md how they are kept.
package outlast
