// Package saga runs steps that depend on each other, some in the caller and some in workers, and takes back what was done when
// one of them fails, in order, as it was recorded, whatever dies on the way.
//
//	var PlaceOrder = saga.Define("place-order", func(b *saga.Builder[OrderIn]) *saga.Node[Receipt] {
//		order := saga.Step1(b, "validate", Validate, b.In()).Pure()
//		stock := saga.Step1(b, "reserve", Reserve, order).Undo(Release)
//		pay := saga.Step1(b, "charge", Charge, order).After(stock).
//			Async("payments").Retry(5, saga.Exp(time.Second)).Timeout(20 * time.Second).
//			Compensate(FindAndVoid).Undo(Refund)
//		ship := saga.Step1(b, "ship", Ship, order).After(pay).Pivot()
//		saga.Step2(b, "mail", SendMail, order, ship).BestEffort()
//		return saga.Step2(b, "receipt", MakeReceipt, order, pay)
//	})
//
//	PlaceOrder.Serve(k)                                              // this process runs it, once k.Run is called
//	h, err := PlaceOrder.Run(ctx, k, in, saga.Options{Key: in.ID})   // here, up to the first Async step
//	receipt, err := h.Wait(ctx)
//
// Steps are plain functions; a node that is passed as an argument is the edge, and has a type: a wrong one does not compile.
//
// # What it promises
//
// A saga that was started ends, whatever dies: completed; failed or cancelled, with all that was done undone; halted by one
// of its steps; or stuck, with a list of what could not be undone, and then an operator goes on with it. Each completed step is on
// record before the next one begins, once. One process at a time runs a saga, and one that has lost it can record nothing. A
// step's function may be called more than once, as a process can die between the effect and the record: Key is the same each
// time, for receivers that tell repeats by it. The effects of Tx steps come exactly once.
//
// # How a step ends
//
// A step that returns no error is done. An error is a failed attempt, tried again as Retry says; Permanent, RetryAfter and
// Unknown, returned or wrapped, say more. Skip hands on a value of a step that had nothing to do; Halt ends the saga where it
// stands. A panic is a failed attempt. A crash of the process is not: the step is run again elsewhere.
//
// # The failure rule
//
// After the last attempt of a step has failed no further step begins; those that run are told (context.Cause is ErrUnwinding),
// and waited for. Then each step that began and did not complete is compensated, with what is known of it (failed, or unknown) and
// the key it had; then those that completed are undone, the last one first. Each is recorded as steps are, and a crash in the
// middle goes on from there. An undo that fails for good keeps what it was built on as it is (see Policy); the rest
// is undone. Pure, skipped and BestEffort steps are not undone. After a Pivot has completed nothing is rolled back: what comes later is
// tried until it succeeds. The error that is returned is that of the step, never that of the rollback.
//
// # What it leaves to others
//
// Slots, recovery, schedules and limits belong to the kernel. A saga of jobs or calls is written by its user: a step starts one and
// waits for it, or a signal tells that it is done.
package saga
