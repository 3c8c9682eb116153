// Package kernel runs tasks: it submits, claims, runs, completes, beats, recovers, schedules, drains and prunes, once for all
// engines. A process makes one Kernel on a store, says which kinds it handles, and calls Run; a process that only submits and
// waits does not call Run, and calls Close at the end.
//
// What it promises, whatever dies: a task whose Submit returned without error ends; its ending is written once; a run that
// lost its task cannot write; a crash spends no attempt. What it leaves to others: the meaning of a task (the faces), what is
// kept and who owns it (the store), and effects outside the store, which a handler may begin more than once: Run.Key is the
// same on every attempt, for the receiver to tell.
//
// All waiting, time and chance come from Env, so that the same code runs under a seeded simulation.
package kernel
