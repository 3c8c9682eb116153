// Package outlast is the root of the module and holds nothing but this map: background work for Go that outlasts crashes.
// Accepted work is a task in a store; whatever process runs it may die at any moment, and the task goes on elsewhere; a
// process that was given up and comes back cannot spoil it.
//
// # The rooms
//
//	store             the contract of what keeps tasks: records, operations, errors. Its comment is the specification
//	store/storetest   the suite that every store must pass
//	store/memory      the reference store, in plain Go; it lives as long as its process
//	store/fsck        checks every invariant that the content of a store can show
//	kernel            submits, claims, runs, completes, beats, recovers, drains: once for all stores
//	kernel/kerneltest helpers for tests of programs that use the kernel
//	internal/arch     the rules of this tree, checked by machine
//	cmd/outlast       the command line
//	test/sim          the kernel under a seeded simulation of crashes, pauses, cuts and wrong clocks
//	test/mutant       planted bugs, each of which the suites must find
//
// # A first program
//
// One process that submits a task, runs it, and waits for its result:
//
//	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{})
//	if err != nil {
//		log.Fatal(err)
//	}
//	k.Handle("greet", func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
//		return kernel.Done([]byte("hello, " + string(run.Task().Args))), nil
//	})
//
//	ctx, stop := context.WithCancel(context.Background())
//	var running sync.WaitGroup
//	running.Go(func() {
//		if err := k.Run(ctx); err != nil {
//			log.Print(err)
//		}
//	})
//
//	sent, err := k.Submit(ctx, kernel.Spec{Kind: "greet", Args: []byte("world")})
//	if err != nil {
//		log.Fatal(err)
//	}
//	task, err := k.Wait(ctx, sent.ID)
//	fmt.Println(task.State, string(task.Result), err) // done hello, world <nil>
//
//	stop() // Run drains and returns
//	running.Wait()
//
// A handler that returns an error is tried again as the task's Retry says; one whose process dies is run again elsewhere,
// which costs no attempt. README.md has the promises, ARCHITECTURE.md how they are kept.
package outlast
