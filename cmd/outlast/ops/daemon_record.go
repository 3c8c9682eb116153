package ops

import (
	"encoding/json"
	"math"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

// taskOf makes a record of what a daemon tells of a task: what is shown of it is the same as of the record itself.
func taskOf(v *api.Task) store.Task {
	t := store.Task{
		Spec: store.Spec{
			ID: parse(v.ID), Kind: v.Kind, Queue: v.Queue, Lane: v.Lane, Limit: v.Limit, Order: store.Order(v.Order), Priority: v.Priority,
			Args: joined(v.Args, v.ArgsBase64), DueAt: v.DueAt, Retry: store.Retry{Max: v.MaxAttempts}, Unique: store.Unique{Key: v.Key},
			Group: parse(v.Group), Line: v.Line, Parent: parse(v.Parent), Labels: v.Labels, Correlation: v.Correlation, Trace: v.Trace,
		},
		State: store.State(v.State), Reason: v.Reason, Version: v.Version, Round: v.Round, Suspect: v.Suspect, Asked: v.Asked, Stripped: v.Stripped,
		Worker: v.Worker, Attempts: v.Attempts, Crashes: v.Crashes, CreatedAt: v.CreatedAt, StartedAt: v.StartedAt, DeadlineAt: v.DeadlineAt,
		EndedAt: v.EndedAt, UpdatedAt: v.UpdatedAt, ExpireAt: v.ExpireAt, Result: joined(v.Result, v.ResultBase64),
	}
	if v.Sealed {
		t.Sealed = t.ID // that it is, is all that is known
	}
	if t.State == store.Ending {
		t.State, t.Staged = store.Running, &store.Outcome{}
	}
	if p := v.Progress; p != nil {
		t.Progress = store.Progress{Done: p.Done, Total: p.Total, Note: p.Note, At: p.At}
	}
	if e := v.Error; e != nil {
		t.Error = &store.Error{Message: e.Message, Type: e.Type, Detail: joined(e.Detail, e.DetailBase64)}
	}
	for _, e := range v.History {
		t.History = append(t.History, store.Event{At: e.At, Kind: store.EventKind(e.Kind), Epoch: e.Epoch, Worker: e.Worker, Text: e.Text})
	}
	return t
}

// joined is a payload, which comes as JSON or as bytes.
func joined(plain json.RawMessage, encoded []byte) []byte {
	if len(plain) > 0 {
		return plain
	}
	return encoded
}

func groupOf(v *api.Group) store.Group {
	return store.Group{
		NewGroup: store.NewGroup{ID: parse(v.ID), Name: v.Name, Parent: parse(v.Parent), Labels: v.Labels},
		State:    store.GroupState(v.State), Sealed: v.Sealed, Aborting: v.Aborting, Generation: v.Generation,
		Total: v.Total, Done: v.Done, Failed: v.Failed, Cancelled: v.Cancelled, CreatedAt: v.CreatedAt, ClosedAt: v.ClosedAt,
	}
}

func workerOf(v *api.Worker) store.Worker {
	return store.Worker{
		ID: v.ID, Beat: time.Duration(v.Beat), DeadAfter: time.Duration(v.DeadAfter), Evidence: store.EvidenceKind(v.Evidence),
		Info:     store.WorkerInfo{Host: v.Host, PID: v.PID, Version: v.Version, Slots: v.Queues, Kinds: v.Kinds},
		JoinedAt: v.JoinedAt, BeatAt: v.BeatAt, DeadAt: v.DeadAt, Death: store.Death(v.Death),
		Load: store.Load{State: v.State, Running: v.Running, Stuck: v.Stuck},
	}
}

func scheduleOf(v *api.Schedule) store.Schedule {
	return store.Schedule{
		Name: v.Name, Rule: v.Rule, Zone: v.Zone, CatchUp: v.CatchUp, Overlap: store.Overlap(v.Overlap), Jitter: time.Duration(v.Jitter), Paused: v.Paused,
		Task: store.Spec{Kind: v.Task.Kind, Queue: v.Task.Queue}, Version: v.Version, LastTick: v.LastTick, NextAt: v.NextAt, LastTask: parse(v.LastTask),
	}
}

func minuteOf(v *api.Minute) store.Minute {
	return store.Minute{
		At: v.At, Queue: v.Queue, Kind: v.Kind, Submitted: v.Submitted, Claimed: v.Claimed, Done: v.Done, Failed: v.Failed, Cancelled: v.Cancelled,
		Retried: v.Retried, Crashed: v.Crashed, Waited: seconds(v.WaitedSeconds), Ran: seconds(v.RanSeconds),
	}
}

// seconds is a duration that was told in seconds, to the nanosecond.
func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

func limitOf(v *api.Limit) store.LimitStatus {
	s := store.LimitStatus{Limit: store.Limit{Key: v.Key, Running: v.Running}, InUse: v.InUse, Opens: time.Duration(v.Opens)}
	for _, r := range v.Rates {
		s.Rates = append(s.Rates, store.Rate{N: r.N, Per: time.Duration(r.Per), Burst: r.Burst})
	}
	return s
}

func sagaOf(v *api.Saga) saga.Status {
	s := saga.Status{
		ID: parse(v.ID), State: saga.State(v.State), Reason: v.Reason, Lacks: v.Lacks, Lock: v.Lock, CreatedAt: v.CreatedAt, EndedAt: v.EndedAt,
	}
	if v.Failure != "" {
		s.Failure = &saga.Error{Message: v.Failure}
	}
	for _, st := range v.Steps {
		s.Steps = append(s.Steps, saga.StepStatus{
			Name: st.Name, State: st.State, Attempts: st.Attempts, Error: st.Error, NextAt: st.NextAt, Task: parse(st.Task), Result: st.Result, Note: st.Note,
		})
	}
	for _, e := range v.Timeline {
		s.Timeline = append(s.Timeline, saga.Event{Seq: e.Seq, At: e.At, Step: e.Step, Kind: e.Kind, Attempt: e.Attempt, Text: e.Text})
	}
	return s
}
