// Package store is the contract between the kernel and what keeps its work: the record of a task, who owns it, how it ends,
// and the operations that every engine offers. This comment is the specification; storetest is its proof, and store/memory
// says the same in plain Go. The package itself does nothing: it imports the standard library alone.
//
// # One namespace, one clock, one step
//
// A Store is a handle of one process on one namespace. Namespaces share nothing; an id of another namespace is not found.
// The clock is the store's: what is due and who is dead is never told by the clock of a worker. Answers carry durations
// ("due in 2 s"), so that a worker whose clock is wrong waits rightly all the same.
//
// Every operation is one atomic step: it checks first and writes then, all of it or nothing. In a gathered call (Submit,
// Complete) each item is a step of its own: one bad item fails alone, and its error stands in its own result. The error of
// the call itself means that the outcome of every item is unknown: the caller repeats the call as it was.
//
// # States
//
//	scheduled  waits for DueAt                                  ready    waits in its lane for a claim
//	running    belongs to the worker of its fence               parked   waits for a wake, or for DueAt if that is set
//	held       in no lane; freed by its group or an operator    done, failed, cancelled   terminal
//
// Terminal is for ever, save for Retry. A running task whose outcome was staged inside a user's transaction reads as ending:
// any write under its fence (also Save, which then answers ErrFenced), Leave and Recover settle it by the staged outcome.
//
// Done and cancelled are kept for their Retention and at least for Timing.Horizon, so that a Submit repeated late still finds
// its id; with Retention 0 args, result, checkpoint, inbox and history are stripped as soon as nothing needs them any more (its
// OnEnd task has ended, its group's keeper has). Failed is kept until Retry or Delete.
// Nothing that is not terminal is ever removed.
//
// # Workers
//
// Join creates an incarnation under a fresh id; nothing else does, and no id joins twice (ErrDuplicate). Beat keeps it alive.
// Death is one mark, set once, before any task of the worker is touched: from then on Beat, Claim and every claim inside
// Submit and Complete answer ErrDead. Leave is the same mark with reason left. A worker is declared dead, by Recover alone, in
// one of three ways:
//
//   - proof: the engine can show that the process is gone. At once.
//   - gone: its session is gone, and has been seen gone for as long as a beat of its takes to come; it has not beaten for
//     Timing.GoneAfter nor since the session was first seen gone; and it was seen gone by a worker whose own session is older than
//     the victim's last sign of life, which is its last beat or the last pass that saw its session: a cut that hit everybody proves
//     nothing. Another may act on that once its own session has stood for as long as a beat of the victim's takes to come.
//   - silence: no beat for the victim's own DeadAfter while the pulse of the fleet is whole. The pulse is (since, last), kept
//     by Beat: a beat that comes later than a third of the shortest DeadAfter of the living after the one before, or finds a
//     last as far in the future, begins it anew (since = now); one that was overtaken by another leaves the later last. Declaring needs now − last at most that third of the victim's
//     DeadAfter, and last − since at least the victim's DeadAfter.
//
// A remote worker lives in a process that has no handle of its own; whoever it talks to speaks for it. No evidence is taken for it: any
// handle may beat, claim and complete for it, the end of a handle means nothing, and it is declared dead by silence alone. It bears no
// witness about others.
//
// Join counts as a beat of the victim, never as a beat of the pulse. A stored time later than now is clamped to now.
// Recover puts the tasks of dead workers back in chunks; each is put back once. A gate keeps it to one pass per
// Timing.RecoverEvery for the fleet, save that who can bear better witness (an older session) is not kept out by who cannot. The record of a dead worker goes when
// nothing runs under it.
//
// # Fences
//
// Claim gives each task a fence: its id, an epoch that grows by one with each claim, and the nonce of the call. Every
// write of an owner names the fence and is applied only while the task is running under exactly that fence; otherwise it is
// ErrFenced, and nothing of it is written. Death does not lift a fence, reassignment does: until Recover has moved the task,
// the outcome of its owner counts. Repeats:
//
//   - Submit: a known id has no effect, whatever else the Spec says; the result tells the task that stands.
//   - Claim with Repeat and the same nonce: the tasks still running under that nonce, and no others.
//   - Complete: the record keeps the fence and the kind of its last outcome; the same again is told Repeated. Another
//     kind, or a fence that was settled before the last, is ErrFenced.
//
// # Endings
//
// There is one way to end: in the same step the state, the error, the result, EndedAt and the expiry are set; the limit's slot
// is freed; the unique key is let go (see Unique); the inbox is emptied and what was in it forgotten; the group counts it and closes if it was the last; the OnEnd task and
// the follow-ups are submitted; the parent is woken. OnEnd comes on every road: Complete, Cancel, abort, start-by passed,
// crash budget, corrupt record. Its id is made of the task's id and Round (0 at first), so it comes once per round. An OnEnd task inherits
// nothing; its Parent is the ended task, which it does not wake, and which neither expires nor is stripped while the OnEnd task is on record and may yet
// run: until it is done, is stripped itself, or is removed. One that failed keeps what it follows until it is retried and done, or deleted.
//
// Owned endings: an Owned task is ended by its handler alone. Where another task would be ended from outside it is made
// ready with Asked set to the reason (cancelled, expired, crashed), once; the handler is told with the claim.
//
// Cancel ends a task that waits; for a running one it is a request: Asked is set, Wakes bumped, Beat tells the owner. A
// request that its handler has not been told with the claim turns every step that takes the task out of running without
// ending it (retry, snooze, park, release, hold, recover) into an ending as cancelled, or, if Owned, into ready. A request
// told with the claim does so only for tasks that are not Owned. Done and fail of the owner win over a request. An outcome
// that is turned into an ending submits none of its own follow-ups and groups; one that is turned into ready writes all of it.
// Waking, asking or cancelling a terminal task has no effect.
//
// # Groups
//
// A group is filling until it is sealed; then held if Hold was asked for, otherwise open; closed when it is open and no
// member lives. Members may join while it is filling or held, and are held themselves (Reason group) until it is open; then
// Promote frees them in chunks, those with a DueAt in the future to scheduled. Seal, Release, Abort and every ending test
// whether the group closes. Closing submits OnClose under an id made of (group, generation), or wakes Parent, or both. Abort is a request to all
// members: Promote settles them in chunks, Claim ends those it meets, Submit into it is refused; what a call does that was under way beside Abort
// may come before or after it, and Promote comes to it. Counts are kept by the endings; Total by Submit. Retry of a member
// takes back its count; in a closed group it opens the next generation; in one that is filling or held the member is held again; in
// an aborted one it is ErrState.
// Members do not expire before the keeper of their group has ended or was deleted: the closing task, else Parent, else the
// closing itself (also where the closing task was not stored because its unique key is held). Then Promote sets their expiries
// in chunks; a later Retry of the keeper does not take them back.
//
// # Parks, wakes, inbox
//
// Every wake bumps Wakes and makes a parked task ready: a group closed, a message, a child's end, a cancel. Claim tells the
// count, as the whole of it leaves each task: what it ends on its way may wake one that it has taken. An outcome that parks names
// the count it saw, and the task is ready at once if the count has moved since. A message
// is consumed by the Save or the outcome that records its use, under the fence; consumed ids are remembered until the task
// is removed, so that a message sent twice is seen once. A held task counts wakes, and stays held.
//
// # Crashes
//
// Recover counts a crash of a task whose worker died by proof or gone; by silence only if there could be no evidence, because the
// store has none at all or the worker was remote; never for one that left. CrashRun counts those since the last Save of an entry or the last park. From Suspicion (2) on, or from CrashBudget (20) crashes in all,
// the task is a suspect (and stays one until Retry, Free, a Save of an entry or a park clears CrashRun and Crashes is below the
// budget): it waits in a lane of its own, and only claims that ask for suspects take it. If its
// worker dies of a crash again and held nothing else, neither when it claimed the task (Alone; a run whose task was taken from it counts, if the claim tells of Company) nor when it was declared dead, the task ends as failed,
// reason crashed (Owned: it is held, reason crashed, until Free). If it held more, the task is Solo: it is given to a worker that holds nothing, and alone.
//
// Recover also takes a task from a living owner once it has run Timing.StuckGrace past DeadlineAt: a failed attempt, error type
// stuck, due again after Retry.Wait, or failed with reason attempts when none is left (Owned: held, until Free). A running task whose worker has no record is as one of a dead worker.
// With Retry.CrashSpends a crash does the same, reason attempts.
//
// # Limits
//
// The slot of a limit belongs to the fence: leaving running by any road frees it in the same step. A start is charged to the
// rates once: a task that comes back by release or recovery keeps Charged, every other outcome clears it.
//
// # The order of claims
//
// Ready tasks wait in lanes: (queue, kind, lane key, limit key, ordered or not, suspect or not). A lane is eligible for a claim if queue and kind are
// named in it, no pause matches it, its limit is open, and, if ordered, its head is ready and nothing of the lane runs. Lanes are ranked by the priority of their head, high first; a
// head that was ready for Timing.Aged counts as high as the highest of the others, and no higher: who has a backlog does not keep those
// away that have come since. Among equals it goes in turn: lanes in the order of their names, beginning after the Cursor of the request; a
// turn takes as many tasks as the lane's weight (default 1), and one that the end of a claim cut short goes on with the next. Rank is taken
// anew after each turn. Inside a lane: priority, high first, then DueAt (the submit's time if it had none), then id. An ordered lane goes by id alone,
// one at a time: its head is the oldest task of its queue, kind, lane and limit key that has not ended, suspect or not; a head that is scheduled, parked or held lets the lane wait. With
// OrderBlock a failed task stays the head until it is retried or deleted. With OrderFail, as long as it is neither, those of the line
// that come after it and were submitted before it failed end as failed as well, reason order: a claim ends what it meets of them, in
// chunks (an Owned one is asked instead). What is submitted after the failure runs.
//
// # Unique keys
//
// A key is of one kind. Who submits under a key that is held is told which task stands, or which one it has replaced; nothing is
// dropped in silence: who is told to stand holds the key in that very step. Replace and Latest end a holder that waits; Latest takes the
// key from one that runs, which goes on and no longer has a key to let go of. So with Latest at most one waits under a key, and it is the
// last that came.
//
// # Notices
//
// Notices are hints, and may be lost. A task that becomes ready, a slot or an order that becomes free, a pause that ends and a
// task that is due sooner than every other are noticed as work; a change of a followed task, and a request to a running one, each
// as such. The notice of a change may say that the task goes on (Moving); its end is noticed by itself.
//
// # Resealing
//
// What is sealed in a record is bytes to the store. Reseal replaces such bytes, and nothing else, while the Version of the record is the
// one that the caller has read: state, owner, fence, times, wakes and history stay, nobody is noticed, and the owner of a running task
// goes on under its fence. The Version grows by one, so of two that read the same one wins, and a repeat after a lost answer is ErrChanged: its
// caller reads again, and finds that it is done. Outcomes, saves and messages all move the Version of their task; what was stripped
// meanwhile is no longer there to be replaced.
//
// # Blobs
//
// A store may keep large payloads beside its records: chunks under (key, number), each written once. The same chunk again has no effect,
// another one under its number is ErrDuplicate. Blobs have no part in the life of tasks: nothing removes them but DeleteBlob.
//
// # Repair
//
// What is derived of the records of tasks can be derived anew, where a broken disk or a foreign hand has spoiled it; a record of a task is never
// made, changed or removed by it. Repair does so for one named thing in one step: the slots of a limit key are as many as tasks of it run; a
// unique key whose holder is gone, has another key or has let go of it is taken away, and given to the named task, if that must hold it; the
// counts of a group that say less than its members show are raised to that, those that live are counted, and the group closes if it is open and nobody
// does. Counts of members that were removed are kept. On a store that is sound it has no effect.
//
// # Cost
//
// Claim, Complete, Recover, Promote and Prune cost what they return, never what is stored. Lists page by cursor.
package store
