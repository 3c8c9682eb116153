// Package storetest is the proof of the contract in package store: every engine passes the same cases, each named by the
// promise it holds. It also offers Wrap, which puts faults between a caller and a store, and Compare, which holds two engines
// against each other under random calls. What an engine promises beyond the contract (what survives a machine, how fast it
// is) it proves itself.
//
// An engine runs the suite from a test of its own, here memory:
//
//	func TestConformance(t *testing.T) {
//		for _, evidence := range []store.EvidenceKind{store.EvidenceProof, store.EvidenceSession, store.EvidenceNone} {
//			t.Run(string(evidence), func(t *testing.T) { storetest.Run(t, storetest.Memory(evidence)) })
//		}
//	}
package storetest

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// World is one empty namespace, made for one test.
type World interface {
	// Open returns a handle, as another process would have it. It is closed when t ends.
	Open(t testing.TB) store.Store
	// Crash lets the process of a handle die: it leaves nothing orderly behind, and its evidence goes.
	Crash(s store.Store)
	// Pass lets time pass on the store's clock: a virtual clock moves, a real one is waited for. A virtual clock also takes a
	// negative d: it is stepped back.
	Pass(d time.Duration)
}

// Engine is what the suite needs to know of an engine.
type Engine struct {
	Name string
	// New makes an empty namespace whose store keeps the given times.
	New func(t testing.TB, timing store.Timing) World
	// Unit is the grain of time: every duration of a case is a multiple of it. A second on a virtual clock, tens of
	// milliseconds on a real server.
	Unit time.Duration
	// Virtual says that the clock stands still but for Pass. Then the cases compare times exactly, and step the clock back.
	Virtual bool
	// Corrupt makes the record of a task unreadable, as a broken disk or a foreign hand would.
	Corrupt func(w World, id store.ID)
	// Damage spoils what is derived of the records: the slots of a limit key and the count of done members of a group by so many; a unique key is
	// given to a task that there is not. Nil where nothing can be repaired.
	Damage func(w World, r store.Repair, n int)
	// Cut ends the session of a worker while its process lives. Nil where there are no sessions.
	Cut func(w World, worker string)
	// Quick divides the sizes of the big cases; 0 and 1 are full.
	Quick int
	// Plain says that a claim ranks all lanes by looking at each of them, as the reference does so that it is easy to read: it is held to
	// what some hundred of them cost, and not to many thousands.
	Plain bool
}

// test is one promise.
type test struct {
	name string
	run  func(t *testing.T, w *world)
}

// operation is what the contract says of one operation, or of one concern that crosses them.
type operation struct {
	name  string
	alone bool // it judges by time, so nothing may run beside it
	tests []test
}

func operations() []operation {
	return []operation{
		{"submit", false, submitTests()},
		{"invalid", false, invalidTests()},
		{"claim", false, claimTests()},
		{"order", false, orderTests()},
		{"complete", false, completeTests()},
		{"together", false, togetherTests()},
		{"follow", false, followTests()},
		{"save", false, saveTests()},
		{"cancel", false, cancelTests()},
		{"owned", false, ownedTests()},
		{"retry", false, retryTests()},
		{"promote", false, promoteTests()},
		{"prune", false, pruneTests()},
		{"join", true, joinTests()},
		{"remote", true, remoteTests()},
		{"beat", true, beatTests()},
		{"leave", true, leaveTests()},
		{"recover", true, recoverTests()},
		{"declare", true, declareTests()},
		{"crash", true, crashTests()},
		{"group", false, groupTests()},
		{"keep", false, keepTests()},
		{"abort", false, abortTests()},
		{"park", false, parkTests()},
		{"inbox", false, inboxTests()},
		{"limit", false, limitTests()},
		{"pause", false, pauseTests()},
		{"unique", false, uniqueTests()},
		{"schedule", false, scheduleTests()},
		{"read", false, readTests()},
		{"list", false, listTests()},
		{"watch", true, watchTests()},
		{"stage", true, stageTests()},
		{"reseal", false, resealTests()},
		{"blob", false, blobTests()},
		{"repair", false, repairTests()},
		{"endings", true, endingTests()},
		{"fence", true, fenceTests()},
		{"repeat", true, repeatTests()},
		{"race", true, raceTests()},
		{"fault", true, faultTests()},
		{"cost", true, costTests()},
	}
}

// Run holds an engine to the contract. Each case is a subtest in a world of its own, and at its end the world must be sound.
func Run(t *testing.T, e Engine) {
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			for _, c := range op.tests {
				t.Run(c.name, func(t *testing.T) {
					if e.Virtual && op.name != "cost" || !op.alone {
						t.Parallel()
					}
					c.run(t, newWorld(t, e))
				})
			}
		})
	}
	t.Run("random", func(t *testing.T) { Compare(t, e, Memory(newWorld(t, e).evidence)) })
}
