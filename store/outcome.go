package store

import (
	"slices"
	"time"
)

// Fence names one claim of one task.
type Fence struct {
	ID    ID
	Epoch int64
	Nonce ID
}

// OutcomeKind says how a run ended.
type OutcomeKind string

// The outcomes. Only Done, Fail and Cancel end the task.
const (
	OutcomeDone    OutcomeKind = "done"
	OutcomeFail    OutcomeKind = "fail"    // failed for good; counts as an attempt
	OutcomeCancel  OutcomeKind = "cancel"  // cancelled by its handler
	OutcomeRetry   OutcomeKind = "retry"   // failed; due again after Delay; counts as an attempt
	OutcomeSnooze  OutcomeKind = "snooze"  // not now; due again after Delay; costs nothing
	OutcomePark    OutcomeKind = "park"    // until a wake, or until Delay has passed if that is positive
	OutcomeRelease OutcomeKind = "release" // back to ready as if it had not been claimed
	OutcomeHold    OutcomeKind = "hold"    // until an operator frees it; Reason says why, and must
)

// Outcome is what an owner says at the end of a run.
type Outcome struct {
	Kind   OutcomeKind
	Delay  time.Duration // see the kinds
	Wakes  int64         // park: the count of wakes it has seen
	Reason string
	Result []byte
	Error  *Error

	Progress *Progress // the last word of the run on how far it came; At is set by the store

	Entries map[string][]byte // checkpoint entries to write first; a nil value removes one
	Consume []ID              // messages whose use this outcome records
	Groups  []NewGroup        // created before the follow-ups, so that they may be members
	Follow  []Spec            // at most FollowLimit; a taken unique key never fails the outcome: the holder stands
}

// Completion is an outcome under its fence.
type Completion struct {
	Fence   Fence
	Outcome Outcome
}

// CompleteRequest ends runs, and may claim in the same call.
type CompleteRequest struct {
	Items []Completion
	Claim *ClaimRequest // may be nil; succeeds, fails and repeats by itself
}

// CompleteResult answers each item in its place.
type CompleteResult struct {
	Items    []Completed
	Claim    ClaimResult
	ClaimErr error
}

// Completed is what became of one completion.
type Completed struct {
	State    State // where the task stands now
	Repeated bool  // the same outcome had been applied before
	Err      error // ErrFenced, ErrInvalid
}

// SubmitRequest stores tasks and groups; each Spec and each NewGroup is an item of its own. Groups come first, and are
// sealed, where they ask for it, after the specs.
type SubmitRequest struct {
	Groups []NewGroup
	Specs  []Spec
	// Claim makes the tasks run at once under the worker of the request: those Specs that are ready, in their order, as far
	// as pauses, limits and order allow. Its Queues and Kinds are not looked at. May be nil. Of a plain one that runs at once nobody is
	// told that there is work: see Taken.
	Claim *ClaimRequest
}

// Taken reports whether a submit has left nothing that others could claim: all its tasks are new and run under its Claim, and nothing gave way to them.
func (r *SubmitRequest) Taken(res *SubmitResult) bool {
	stirs := func(s Submitted) bool { return s.Existed || !s.Replaced.IsZero() }
	return len(r.Groups) == 0 && len(res.Claimed) == len(r.Specs) && !slices.ContainsFunc(res.Specs, stirs)
}

// SubmitResult answers each item in its place.
type SubmitResult struct {
	Groups   []error
	Specs    []Submitted
	Claimed  []Task // those that run now under the request's Claim
	ClaimErr error
}

// Submitted is what became of one Spec.
type Submitted struct {
	ID          ID     // of the task that stands: the Spec's own, or the holder of its unique key
	State       State  // of the task that stands
	Existed     bool   // the id was known, or the key held: nothing was stored
	Fingerprint string // of the task that stands
	Replaced    ID     // the task that had the key before: cancelled, or running on without it; zero: none
	Err         error  // ErrDuplicate, ErrState (its group takes no more), ErrNotFound (no such group), ErrInvalid
}

// ClaimRequest takes ready tasks.
type ClaimRequest struct {
	Worker string
	Nonce  ID
	Repeat bool // the nonce was used before: answer what it still holds, take nothing
	Queues []QueueSlots
	Kinds  []string
	// Suspects, if positive, asks for at most so many suspects and for nothing else. A Solo one is given alone, and only
	// if the worker holds nothing.
	Suspects int
	// Company, of a claim of suspects, says that runs are under way in the worker's process, though their tasks may have been taken from
	// it: what it is given is not Alone, and no Solo one is given.
	Company bool
}

// QueueSlots is how many tasks of a queue a claim may take, and where its turn stands.
type QueueSlots struct {
	Queue  string
	Slots  int
	Cursor string // of the last answer for this queue; empty at first
}

// ClaimResult is what was taken, and when to ask again.
type ClaimResult struct {
	Tasks   []Task            // running under the request's nonce, as the whole claim leaves them; without History
	Cursors map[string]string // by queue, where something was taken
	// Next says in how long something served becomes due, or a rate opens; 0: nothing that is known of. In a queue of many lanes the rates
	// count of those that the claim looked at, which are all if it found too little.
	Next  time.Duration
	Again bool // there is more that could be taken right now
}

// SaveRequest writes what a run wants to keep, under its fence.
type SaveRequest struct {
	Fence Fence
	// Seq orders the saves of a run: one that comes later than another with a higher Seq was stuck on its way, and is ErrChanged.
	// The same Seq again is the same save. 0: in the order they come.
	Seq      int64
	Entries  map[string][]byte // only these are written; a nil value removes one
	Progress *Progress         // At is set by the store
	Consume  []ID
}
