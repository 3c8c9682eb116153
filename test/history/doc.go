// Package history holds a store to linearizability: many clients drive one real store at the same time, by chance but by a seed,
// with faults between them and it; each call is recorded with when it began, when it returned and what it was told; and porcupine
// looks for one order of all calls, each somewhere between its begin and its return, in which every answer is the one that a plain
// model gives. If there is none, somebody was told what cannot be true.
//
// The model is the contract of package store for a cell: some tasks that share a queue. In a plain cell each task is judged by itself: who
// may end it and save under which fence, what a repeat is told, what becomes of wakes, messages and requests; in a cell that is a group also
// what the opening and the abort of the group do to its members. In one with a unique key all submits, replacements and ends under the key
// are judged together: one holder at a time, and everybody is told the truth about it. In an ordered one all starts of the lane: in the
// order of the ids, one at a time; after a failed task the next one runs (skip), or none (block). Workers are judged as well: death is one
// mark, and who has it claims and beats no more.
//
// An answer that was lost leaves open whether and when the call was applied: the model allows both, until the end of the round, when
// all that was stuck on its way has arrived. Then the store is still, and what it says is judged without any doubt: every task is read, and a
// claim takes all that is ready.
//
// What it leaves to others: the counts and the closing of groups, OrderFail, limits, rates, schedules and priorities (storetest, test/turns,
// test/sim); whether a worker was declared dead rightly (storetest, test/crash); staged outcomes (storetest); processes and machines that
// die (test/crash). A claim that finds nothing beside others is never wrong here, because an engine may pass over a record that another call
// has locked; at the end of a round it is.
package history
