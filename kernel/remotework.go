package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Words of the store for those who work elsewhere.
type (
	// Fence names one claim of one task.
	Fence = store.Fence
	// Load is what a worker says with each beat.
	Load = store.Load
	// HeldTask is a task that a worker holds.
	HeldTask = store.HeldTask
)

// ErrDead says that a worker was declared dead, or has left: it must give up what it runs, and join anew.
var ErrDead = store.ErrDead

// Verdict says in a word how a run elsewhere went.
type Verdict string

// The verdicts.
const (
	VerdictDone    Verdict = "done"
	VerdictError   Verdict = "error"   // tried again as the task's Retry says
	VerdictFail    Verdict = "fail"    // failed for good
	VerdictCancel  Verdict = "cancel"  // ended as cancelled
	VerdictSnooze  Verdict = "snooze"  // not now: due again after Delay, at no cost
	VerdictRelease Verdict = "release" // given back as if it had not been claimed
)

// Report is what a worker elsewhere says of a run that is over.
type Report struct {
	Verdict Verdict
	Result  []byte            // done
	Message string            // error, fail: what went wrong
	Type    string            // error, fail: a word for machines
	Reason  string            // fail, cancel
	Delay   time.Duration     // snooze; error: when to try again, if the run knows better than the task's Retry
	Entries map[string][]byte // of the checkpoint, written first
	Follow  []Spec            // submitted in the same step
}

// Report ends a run of a worker elsewhere under its fence. ErrFenced says that the task belongs to another by now: nothing was written. The
// same again is no error. It returns where the task stands.
func (k *Kernel) Report(ctx context.Context, f Fence, rep Report) (TaskState, error) {
	t, err := k.record(ctx, f.ID)
	if err != nil {
		return "", fmt.Errorf("complete task %s: %w", f.ID, err)
	}
	run := k.runElsewhere(t, f, t.Worker)
	defer run.cancel(errStopped)
	if !t.StartedAt.IsZero() {
		run.started = t.StartedAt
	}
	out, err := run.outcome(rep)
	if err == nil {
		out, err = k.check(run, out)
	}
	if err != nil {
		return "", fmt.Errorf("complete task %s: %w", f.ID, err)
	}
	answer, err := k.completions.do(ctx, &settlement{run: run, completion: store.Completion{Fence: f, Outcome: out}})
	if err = errors.Join(err, answer.Err); err == nil || errors.Is(err, store.ErrFenced) {
		event := Event{Kind: TaskSettled, Task: t.ID, Name: t.Kind, Queue: t.Queue, Worker: t.Worker, Attempt: run.Attempt(), Epoch: f.Epoch, State: answer.State, Err: err}
		if err != nil {
			event.Kind = TaskFenced
			k.log.Warn("fence lost; the outcome was refused", "task", t.ID.String(), "kind", t.Kind)
		}
		k.observe(event)
	}
	if err != nil {
		return "", fmt.Errorf("complete task %s: %w", f.ID, err)
	}
	return answer.State, nil
}

// outcome makes an outcome of a report.
func (r *Run) outcome(rep Report) (Outcome, error) {
	out := Outcome{}
	switch failure := Typed(rep.Type, errors.New(rep.Message)); rep.Verdict {
	case VerdictDone:
		out = Done(rep.Result)
	case VerdictError:
		if rep.Delay > 0 {
			failure = RetryAfter(rep.Delay, failure)
		}
		out = r.failed(failure)
		// Told twice, it is what it was at first, though the attempt has been counted meanwhile.
		if s := r.task.Settled; s.Epoch == r.fence.Epoch && s.Nonce == r.fence.Nonce && (s.Kind == store.OutcomeRetry || s.Kind == store.OutcomeFail) {
			out.Kind = s.Kind
		}
	case VerdictFail:
		if rep.Reason == "" {
			rep.Reason = "permanent"
		}
		out = Failed(rep.Reason, failure, rep.Result)
	case VerdictCancel:
		if rep.Reason == "" {
			rep.Reason = store.ReasonCancelled
		}
		out = Cancelled(rep.Reason)
	case VerdictSnooze:
		out = Snooze(rep.Delay)
	case VerdictRelease:
		out = Outcome{Kind: store.OutcomeRelease}
	default:
		return out, fmt.Errorf("%w: the verdict %.40q is not known; use done, error, fail, cancel, snooze or release", store.ErrInvalid, rep.Verdict)
	}
	if rep.Delay < 0 || rep.Delay > 10*365*24*time.Hour {
		return out, fmt.Errorf("%w: a delay of %v", store.ErrInvalid, rep.Delay)
	}
	if err := errors.Join(store.CheckKey("the reason", rep.Reason), store.CheckKey("the type", rep.Type)); err != nil {
		return out, err
	}
	for name := range rep.Entries {
		if err := store.CheckKey("entry", name); err != nil {
			return out, err
		}
	}
	out.Entries, out.Follow = rep.Entries, rep.Follow
	return out, nil
}

// Checkpoint writes entries of the checkpoint and progress of a run elsewhere, under its fence. Seq orders the saves of a run, as
// store.SaveRequest says; 0: in the order they come. It returns why the task was asked to end, or nothing. ErrFenced as for Report.
func (k *Kernel) Checkpoint(ctx context.Context, f Fence, seq int64, entries map[string][]byte, progress *Progress) (asked string, err error) {
	t, err := k.record(ctx, f.ID)
	if err != nil {
		return "", fmt.Errorf("save of task %s: %w", f.ID, err)
	}
	for name, value := range entries {
		if err := errors.Join(store.CheckKey("entry", name), k.fits("entry "+name, t.Kind, value)); err != nil {
			return "", fmt.Errorf("save of task %s: %w", f.ID, err)
		}
	}
	if !t.Sealed.IsZero() {
		if entries, err = k.sealEntries(t.ID, entries); err != nil {
			return "", fmt.Errorf("save of task %s: %w", f.ID, err)
		}
	}
	if progress != nil {
		p := *progress
		p.Note = clip(p.Note, store.KeyLimit)
		progress = k.sealNote(t, &p)
	}
	err = k.ask(ctx, func(ctx context.Context) (err error) {
		asked, err = k.store.Save(ctx, store.SaveRequest{Fence: f, Seq: seq, Entries: entries, Progress: progress})
		return err
	})
	return asked, wrap("save of task "+f.ID.String(), err)
}
