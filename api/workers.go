package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// NewWorker is how a worker joins.
type NewWorker struct {
	Name      string         `json:"name,omitempty"`    // begins its id
	Version   string         `json:"version,omitempty"` // for people
	Queues    map[string]int `json:"queues,omitempty"`  // it serves, with their slots: for people
	Kinds     []string       `json:"kinds,omitempty"`
	Beat      Span           `json:"beat,omitempty"`      // how often it will beat; default 5s
	DeadAfter Span           `json:"deadAfter,omitempty"` // how long it may be silent; default 30s, at least five beats
}

// Joined is a worker that has joined.
type Joined struct {
	Worker      string  `json:"worker"`
	BeatSeconds float64 `json:"beatSeconds"` // beat so often while it runs something
}

func joinWorker(q *request, in NewWorker) (Joined, error) {
	r, err := q.k.JoinRemote(q, kernel.RemoteInfo{
		Name: in.Name, Version: in.Version, Queues: in.Queues, Kinds: in.Kinds, Beat: time.Duration(in.Beat), DeadAfter: time.Duration(in.DeadAfter),
	})
	if err != nil {
		return Joined{}, err
	}
	b, err := r.Beat(q, kernel.Load{State: "running"})
	if err != nil {
		return Joined{}, err
	}
	return Joined{Worker: r.ID(), BeatSeconds: b.Every.Seconds()}, nil
}

// remote is the worker in the path.
func (q *request) remote() (*kernel.Remote, error) { return q.k.Remote(q.r.PathValue("worker")) }

// Left is a worker that has left.
type Left struct {
	Worker string `json:"worker"`
}

func leaveWorker(q *request, _ Reason) (Left, error) {
	r, err := q.remote()
	if err != nil {
		return Left{}, err
	}
	return Left{Worker: r.ID()}, r.Leave(q)
}

// NewBeat keeps a worker alive.
type NewBeat struct {
	Running int `json:"running,omitempty"` // tasks it runs, for people
	Stuck   int `json:"stuck,omitempty"`
}

// AskedTask is a task that was asked to end: its worker should give it up, and complete it as cancel.
type AskedTask struct {
	ID     string `json:"id"`
	Fence  string `json:"fence"`
	Reason string `json:"reason"`
}

// Beat is what a beat is answered.
type Beat struct {
	BeatSeconds float64     `json:"beatSeconds"`
	Asked       []AskedTask `json:"asked,omitempty"`
}

func beatWorker(q *request, in NewBeat) (Beat, error) {
	r, err := q.remote()
	if err != nil {
		return Beat{}, err
	}
	b, err := r.Beat(q, kernel.Load{State: "running", Running: in.Running, Stuck: in.Stuck})
	if err != nil {
		return Beat{}, err
	}
	out := Beat{BeatSeconds: b.Every.Seconds()}
	for _, h := range b.Asked {
		out.Asked = append(out.Asked, AskedTask{ID: h.Fence.ID.String(), Fence: fenceText(h.Fence), Reason: h.Asked})
	}
	return out, nil
}

// NewClaim asks for work.
type NewClaim struct {
	Queues  map[string]int `json:"queues"` // and how many tasks of each at most
	Kinds   []string       `json:"kinds"`
	Wait    Span           `json:"wait,omitempty"`    // how long to wait until there is something
	Nonce   string         `json:"nonce,omitempty"`   // an id of the worker's own for this claim
	Repeat  bool           `json:"repeat,omitempty"`  // the answer to the claim of this nonce was lost: tell what it still holds, and take nothing
	Running int            `json:"running,omitempty"` // tasks it runs already, for people
}

// Claimed is what a claim took. Without tasks there was nothing in the time.
type Claimed struct {
	Tasks []ClaimedTask `json:"tasks"`
}

func claimTasks(q *request, in NewClaim) (Claimed, error) {
	r, err := q.remote()
	if err != nil {
		return Claimed{}, err
	}
	nonce, err := parseID("nonce", in.Nonce)
	if err != nil {
		return Claimed{}, err
	}
	wait := min(max(time.Duration(in.Wait), 0), q.s.cfg.MaxWait)
	ctx, cancel := q.waiting(wait)
	defer cancel()
	extend(q.w, wait+q.s.cfg.StoreTimeout+writeTimeout)
	// While a claim waits the client sends nothing; a reader of its connection tells when it is gone.
	tasks, err := r.Claim(ctx, kernel.RemoteClaim{
		Queues: in.Queues, Kinds: in.Kinds, Nonce: nonce, Repeat: in.Repeat, Wait: wait, Load: kernel.Load{State: "running", Running: in.Running},
	})
	if err != nil {
		return Claimed{}, err
	}
	q.undo = func() { r.Release(tasks) }
	out := Claimed{Tasks: make([]ClaimedTask, len(tasks))}
	for i := range tasks {
		out.Tasks[i] = ClaimedTask{Task: taskOf(&tasks[i], true), Fence: fenceText(tasks[i].Fence()), Attempt: tasks[i].Attempts + 1}
	}
	return out, nil
}

// NewCheckpoint saves what a run wants to keep, under its fence.
type NewCheckpoint struct {
	Fence    string                     `json:"fence"`
	Seq      int64                      `json:"seq,omitempty"`     // orders the saves of a run; 0: in the order they come
	Entries  map[string]json.RawMessage `json:"entries,omitempty"` // null removes one
	Progress *Progress                  `json:"progress,omitempty"`
}

// Saved is what a save is answered.
type Saved struct {
	Asked string `json:"asked,omitempty"` // why the task was asked to end
}

func saveTask(q *request, id kernel.ID, in NewCheckpoint) (Saved, error) {
	f, err := parseFence(id, in.Fence)
	if err != nil {
		return Saved{}, err
	}
	var p *kernel.Progress
	if in.Progress != nil {
		p = &kernel.Progress{Done: in.Progress.Done, Total: in.Progress.Total, Note: in.Progress.Note}
	}
	asked, err := q.k.Checkpoint(q, f, in.Seq, entriesOf(in.Entries), p)
	return Saved{Asked: asked}, err
}

// entriesOf makes entries of JSON; null removes one.
func entriesOf(in map[string]json.RawMessage) map[string][]byte {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string][]byte, len(in))
	for name, value := range in {
		if string(value) != "null" {
			out[name] = value
		} else {
			out[name] = nil
		}
	}
	return out
}

// Entries are the checkpoint of a task: what is not JSON stands in base64.
type Entries struct {
	Entries map[string]json.RawMessage `json:"entries"`
	Base64  map[string][]byte          `json:"base64,omitempty"`
}

func readEntries(q *request, id kernel.ID, _ none) (Entries, error) {
	t, err := q.k.Get(q, id)
	if err != nil {
		return Entries{}, err
	}
	all, err := q.k.Load(q, t)
	if err != nil {
		return Entries{}, err
	}
	out := Entries{Entries: map[string]json.RawMessage{}, Base64: map[string][]byte{}}
	for name, value := range all {
		if plain, encoded := shown(value); encoded == nil {
			out.Entries[name] = plain
		} else {
			out.Base64[name] = encoded
		}
	}
	return out, nil
}

// NewOutcome ends a run, under its fence.
type NewOutcome struct {
	Fence        string                     `json:"fence"`
	Verdict      string                     `json:"verdict"` // done, error, fail, cancel, snooze, release
	Result       json.RawMessage            `json:"result,omitempty"`
	ResultBase64 []byte                     `json:"resultBase64,omitempty"`
	Message      string                     `json:"message,omitempty"` // of error and fail
	Type         string                     `json:"type,omitempty"`    // a word for machines
	Reason       string                     `json:"reason,omitempty"`  // of fail and cancel
	Delay        Span                       `json:"delay,omitempty"`   // of snooze; of error, if the worker knows better when to try again
	Entries      map[string]json.RawMessage `json:"entries,omitempty"` // saved in the same step
	Follow       []NewTask                  `json:"follow,omitempty"`  // submitted in the same step
}

func completeTask(q *request, id kernel.ID, in NewOutcome) (State, error) {
	f, err := parseFence(id, in.Fence)
	if err != nil {
		return State{}, err
	}
	result, err := payload("result", in.Result, in.ResultBase64)
	if err != nil {
		return State{}, err
	}
	rep := kernel.Report{
		Verdict: kernel.Verdict(in.Verdict), Result: result, Message: in.Message, Type: in.Type, Reason: in.Reason, Delay: time.Duration(in.Delay),
		Entries: entriesOf(in.Entries),
	}
	for i := range in.Follow {
		spec, err := in.Follow[i].spec()
		if err != nil {
			return State{}, fmt.Errorf("follow-up %d: %w", i+1, err)
		}
		rep.Follow = append(rep.Follow, spec)
	}
	// An outcome is work that is done: it is not given up because the one who brings it hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.r.Context()), q.s.cfg.StoreTimeout)
	defer cancel()
	state, err := q.k.Report(ctx, f, rep)
	if err != nil {
		return State{}, err
	}
	return State{ID: id.String(), State: string(state)}, nil
}

// Worker is a worker on record.
type Worker struct {
	ID        string         `json:"id"`
	Host      string         `json:"host,omitempty"`
	PID       int            `json:"pid,omitempty"`
	Version   string         `json:"version,omitempty"`
	Queues    map[string]int `json:"queues,omitempty"`
	Kinds     []string       `json:"kinds,omitempty"`
	Evidence  string         `json:"evidence"`
	Beat      Span           `json:"beat"`
	DeadAfter Span           `json:"deadAfter"`
	State     string         `json:"state,omitempty"`
	Running   int            `json:"running"`
	Stuck     int            `json:"stuck,omitempty"`
	JoinedAt  time.Time      `json:"joinedAt"`
	BeatAt    time.Time      `json:"beatAt"`
	DeadAt    time.Time      `json:"deadAt,omitzero"`
	Death     string         `json:"death,omitempty"`
}

// Workers is the fleet.
type Workers struct {
	Workers []Worker `json:"workers"`
}

func listWorkers(q *request, _ none) (Workers, error) {
	all, err := q.k.Workers(q)
	if err != nil {
		return Workers{}, err
	}
	out := Workers{Workers: make([]Worker, len(all))}
	for i, w := range all {
		out.Workers[i] = Worker{
			ID: w.ID, Host: w.Info.Host, PID: w.Info.PID, Version: w.Info.Version, Queues: w.Info.Slots, Kinds: w.Info.Kinds, Evidence: string(w.Evidence),
			Beat: Span(w.Beat), DeadAfter: Span(w.DeadAfter), State: w.Load.State, Running: w.Load.Running, Stuck: w.Load.Stuck,
			JoinedAt: w.JoinedAt, BeatAt: w.BeatAt, DeadAt: w.DeadAt, Death: string(w.Death),
		}
	}
	return out, nil
}

// conflict is what writes under a fence may be refused with.
const conflict = http.StatusConflict
