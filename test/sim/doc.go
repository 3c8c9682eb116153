// Package sim runs the real kernel over the memory store in a world that one seed decides: time, order, chance, the network
// and every death. Processes are sets of coroutines on one thread; killing one is dropping its coroutines in the middle of
// whatever they do. Same seed, same run.
//
// A run has two phases. In the first a swarm of faults goes on: each seed draws which, and how often. In the second nothing
// goes wrong any more, and everything that was accepted has to end. What must hold at all times is listed in invariants.go, with
// the place where each is checked.
//
// Small scenarios, of the kernel and of each face, are also run by schedule instead of by chance: RunCase strikes named calls of the store with
// named faults, so that every fault, and every pair of them, is tried at every call. What a face promises is judged in the end.
//
// The parts: scheduler (time and order), simContext and env (what the kernel takes from the world), process (what can be killed, paused and cut), fault
// (the way of a call to the store and back), witness and shadow (what was applied, and what follows from it), workload (what
// is asked for, and what handlers do), scan (the walk over all records).
package sim
