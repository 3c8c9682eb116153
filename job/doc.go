// Package job runs typed functions in the background. A job is defined once, served by the processes that run it, and
// started from anywhere; input and result travel as JSON, and the task that carries them has the kind "job.<name>".
//
//	var Welcome = job.Define("welcome", func(ctx context.Context, in User) (Receipt, error) {
//		return mail.Send(ctx, in.Address, job.From(ctx).Key())
//	}, job.Config{Queue: "mail"})
//
//	Welcome.Serve(k)                                                 // this process runs it, once k.Run is called
//	h, err := Welcome.Start(ctx, k, user, job.Options{Key: user.ID}) // any process starts it
//	receipt, err := h.Wait(ctx)                                      // and may wait for it
//
// ExampleDefine is a whole program.
//
// # What it promises
//
// When Start has returned without an error, the job ends, whatever dies: done, failed or cancelled. It is run at least once
// unless it is cancelled first. A process that dies costs the job no attempt: it goes on elsewhere within seconds. An ending
// is written once, and never by a process that has lost the job meanwhile.
//
// Effects outside the store may begin more than once, as a process can die between the effect and the word that it is
// done. Run.Key is the same on every attempt: hand it to receivers that tell repeats by a key. Run.Save and Run.Load keep
// what is behind, so that a later attempt does not begin at the start. Then starts other jobs if, and only if, the run ends
// well.
//
// # How a run ends
//
// A function that returns no error is done. An error is a failed attempt, tried again as Retry says; Permanent, RetryAfter
// and Snooze, returned or wrapped, say otherwise. A panic is a failed attempt. The context ends when the attempt's Timeout
// is over, the job is cancelled, the process stops or the job was lost to another; context.Cause tells which. A run that was
// asked to end, and ends well all the same, is done.
//
// An input that does not decode fails the job at once, error type "decode", so that it is seen and can be retried once the
// program is mended; fields that the program does not know are ignored. A result that does not encode fails it with the
// type "encode".
//
// # When, and in whose turn
//
// Job.Schedule starts a job by the clock: Cron, Every, At. Config.Running and Config.Rates bound how many run and start, over all
// processes. Options.Lane gives each tenant its turn, Config.Order runs the jobs of a lane one after the other. Options.Key keeps
// repeats out: Keep with KeyFor throttles, Replace or Latest with a Delay debounces, Latest keeps the last, Period allows one per hour or day.
// docs/turns.md has an example of each.
//
// # What it leaves to others
//
// Slots, retries of the store, recovery, the driving of schedules and the keeping of limits belong to the kernel: Job.Spec gives the
// task for a group or as another's OnEnd; kernel.PutLimit gives a limit key its bounds at run time.
package job
