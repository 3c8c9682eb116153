package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// worker is a worker in a process of its own.
type worker struct {
	w      *world
	st     store.Store
	id     string
	silent bool // it does not beat with the others any more
}

// join starts a process and lets it join.
func (w *world) join() *worker {
	w.t.Helper()
	return w.joinOn(w.Open(w.t), deadAfter)
}

func (w *world) joinOn(st store.Store, dead int) *worker {
	w.t.Helper()
	k := &worker{w: w, st: st, id: fmt.Sprintf("host:%d:%x", len(w.workers)+1, w.seq.Add(1))}
	err := st.Join(w.ctx(), store.JoinRequest{ID: k.id, Beat: w.u, DeadAfter: w.units(dead)})
	w.ok("Join", err)
	w.workers = append(w.workers, k)
	return k
}

func (k *worker) beat() store.BeatResult {
	k.w.t.Helper()
	res, err := k.tryBeat()
	k.w.ok("Beat of "+k.id, err)
	return res
}

func (k *worker) tryBeat() (store.BeatResult, error) {
	return k.st.Beat(k.w.ctx(), store.BeatRequest{Worker: k.id, Queues: []string{queue}, Kinds: []string{kind}})
}

// request asks for n tasks of the usual queue and kind, or of others.
func (k *worker) request(n int, kinds ...string) store.ClaimRequest {
	if len(kinds) == 0 {
		kinds = []string{kind}
	}
	return store.ClaimRequest{
		Worker: k.id, Nonce: k.w.id(), Queues: []store.QueueSlots{{Queue: queue, Slots: n}}, Kinds: kinds,
	}
}

func (k *worker) ask(req store.ClaimRequest) store.ClaimResult {
	k.w.t.Helper()
	res, err := k.st.Claim(k.w.ctx(), req)
	k.w.ok("Claim", err)
	return res
}

func (k *worker) claim(n int, kinds ...string) []store.Task {
	k.w.t.Helper()
	return k.ask(k.request(n, kinds...)).Tasks
}

// take claims one task that has to be there.
func (k *worker) take(kinds ...string) store.Task {
	k.w.t.Helper()
	tasks := k.claim(1, kinds...)
	if len(tasks) != 1 {
		k.w.t.Fatalf("Claim took %d tasks, want 1", len(tasks))
	}
	return tasks[0]
}

// takeSuspects claims up to n suspects.
func (k *worker) takeSuspects(n int) []store.Task {
	k.w.t.Helper()
	req := k.request(n)
	req.Suspects = n
	return k.ask(req).Tasks
}

// takeSuspect claims one suspect that has to be there.
func (k *worker) takeSuspect() store.Task {
	k.w.t.Helper()
	tasks := k.takeSuspects(1)
	if len(tasks) != 1 {
		k.w.t.Fatalf("Claim of suspects took %d tasks, want 1", len(tasks))
	}
	return tasks[0]
}

// start submits a task and claims it.
func (k *worker) start(edits ...edit) store.Task {
	k.w.t.Helper()
	s := k.w.spec(edits...)
	k.w.submit(s)
	task := k.take(s.Kind)
	if task.ID != s.ID {
		k.w.t.Fatalf("Claim took %v, want the task just submitted, %v", task.ID, s.ID)
	}
	return task
}

// try completes one run whose outcome may be refused.
func (k *worker) try(f store.Fence, out store.Outcome) store.Completed {
	k.w.t.Helper()
	res, err := k.st.Complete(k.w.ctx(), store.CompleteRequest{Items: []store.Completion{{Fence: f, Outcome: out}}})
	k.w.ok("Complete", err)
	if len(res.Items) != 1 {
		k.w.t.Fatalf("Complete answered %d items, want 1", len(res.Items))
	}
	return res.Items[0]
}

// end completes one run.
func (k *worker) end(task store.Task, out store.Outcome) store.State {
	k.w.t.Helper()
	res := k.try(task.Fence(), out)
	k.w.ok(fmt.Sprintf("Complete with %s", out.Kind), res.Err)
	if res.Repeated {
		k.w.t.Fatalf("Complete with %s says Repeated the first time", out.Kind)
	}
	return res.State
}

func (k *worker) done(task store.Task) store.State {
	k.w.t.Helper()
	return k.end(task, store.Outcome{Kind: store.OutcomeDone})
}

// park parks a task that saw all its wakes.
func (k *worker) park(task store.Task) store.State {
	k.w.t.Helper()
	return k.end(task, store.Outcome{Kind: store.OutcomePark, Wakes: task.Wakes})
}

func (k *worker) save(task store.Task, entries map[string][]byte) string {
	k.w.t.Helper()
	asked, err := k.st.Save(k.w.ctx(), store.SaveRequest{Fence: task.Fence(), Entries: entries})
	k.w.ok("Save", err)
	return asked
}

// holds lists what the store says the worker holds.
func (k *worker) holds() []store.ID {
	k.w.t.Helper()
	held, err := k.w.st.Holds(k.w.ctx(), k.id)
	k.w.ok("Holds", err)
	out := make([]store.ID, len(held))
	for i, h := range held {
		out[i] = h.Fence.ID
	}
	return out
}

// record reads the worker's own record; false if there is none.
func (k *worker) record() (store.Worker, bool) {
	k.w.t.Helper()
	all, err := k.w.st.Workers(k.w.ctx())
	k.w.ok("Workers", err)
	for _, r := range all {
		if r.ID == k.id {
			return r, true
		}
	}
	return store.Worker{}, false
}

func (k *worker) leave() bool {
	k.w.t.Helper()
	more, err := k.st.Leave(k.w.ctx(), k.id)
	k.w.ok("Leave", err)
	k.silent = true
	return more
}

// recover runs one pass, whatever the gate says.
func (k *worker) recover() store.RecoverResult {
	k.w.t.Helper()
	return k.recoverLimit(0)
}

func (k *worker) recoverLimit(limit int) store.RecoverResult {
	k.w.t.Helper()
	res, err := k.st.Recover(k.w.ctx(), store.RecoverRequest{Worker: k.id, Force: true, Limit: limit})
	k.w.ok("Recover", err)
	return res
}

// recoverAll runs passes until there is no more to put back.
func (k *worker) recoverAll() []store.Recovered {
	k.w.t.Helper()
	var tasks []store.Recovered
	for {
		res := k.recover()
		tasks = append(tasks, res.Tasks...)
		if !res.More {
			return tasks
		}
	}
}

// crash lets the process of k die. Nobody knows yet. It beats once more before, so that the sessions of the others are older
// than its last beat: only then may they vouch for its being gone.
func (k *worker) crash() {
	k.w.t.Helper()
	k.w.live(1)
	k.silent = true
	k.w.Crash(k.st)
}

// die lets the process of k die and by find out and put its tasks back: by proof, by its session or by silence, whatever the
// engine has to tell it by.
func (k *worker) die(by *worker) []store.Recovered {
	k.w.t.Helper()
	k.crash()
	return k.buryBy(by)
}

func (k *worker) buryBy(by *worker) []store.Recovered {
	k.w.t.Helper()
	var tasks []store.Recovered
	for range 4 * deadAfter {
		k.w.beat()
		res := by.recover()
		tasks = append(tasks, res.Tasks...)
		if declared(res, k) {
			return append(tasks, by.recoverAll()...)
		}
		k.w.pass(1)
	}
	k.w.t.Fatalf("%s was not declared dead within %d units", k.id, 4*deadAfter)
	return nil
}

// declared reports whether a pass declared k dead.
func declared(res store.RecoverResult, k *worker) bool {
	return slices.ContainsFunc(res.Dead, func(d store.Worker) bool { return d.ID == k.id })
}

// death is how the crash of a process shows on this engine.
func (w *world) death() store.Death {
	switch w.evidence {
	case store.EvidenceProof:
		return store.DeathProof
	case store.EvidenceSession:
		return store.DeathGone
	default:
		return store.DeathSilence
	}
}

func every(d time.Duration, n int) store.Rate { return store.Rate{N: n, Per: d} }

// zombie makes a worker that was declared dead by silence while its process lives: it holds n tasks that Recover has not
// moved yet. by is a living worker.
func (w *world) zombie(n int, edits ...edit) (k, by *worker, held []store.Task) {
	w.t.Helper()
	k, by = w.join(), w.join()
	w.submit(w.specs(n+1, edits...)...)
	tasks := k.claim(n + 1)
	if len(tasks) != n+1 {
		w.t.Fatalf("Claim took %d tasks, want %d", len(tasks), n+1)
	}
	k.silent = true
	w.live(2*deadAfter + pulseGap)
	// A pass of one task, so that the others are left where they were.
	if res := by.recoverLimit(1); !declared(res, k) || len(res.Tasks) != 1 {
		w.t.Fatalf("Recover = %+v, want %s dead and one task put back", res, k.id)
	}
	left := k.holds()
	for _, task := range tasks {
		if slices.Contains(left, task.ID) {
			held = append(held, task)
		}
	}
	if len(held) != n {
		w.t.Fatalf("the dead worker holds %d tasks, want %d", len(held), n)
	}
	return k, by, held
}
