package fsck

import (
	"time"

	"github.com/outlast-go/outlast/store"
)

// slack is what an engine may lose of a time when it rounds it.
const slack = time.Millisecond

// taskRules are what a task shows without looking at any other record. Each returns what is wrong, or nothing.
var taskRules = [...]struct {
	name   string
	broken func(t *store.Task, horizon time.Duration) string
}{
	{"driver", driver},
	{"owner", owned},
	{"terminal", terminal},
	{"asked", asked},
	{"held", held},
	{"suspects", suspects},
	{"expiry", expiry},
	{"stripped", stripped},
	{"history", history},
	{"fence", fence},
	{"count", count},
	{"time", times},
}

// brief is what others want to know of a task.
type brief struct {
	ended, failed bool
	again         bool // was retried
	mayRun        bool // is not done, and has what it needs to run
	unique        int  // place in Checker.uniques; -1: it has no unique key
}

// takeTask judges a task by itself and keeps what ties it to other records.
func (c *Checker) takeTask(t *store.Task) {
	for i := range taskRules {
		if text := taskRules[i].broken(t, c.horizon); text != "" {
			c.report(taskRules[i].name, t.ID.String(), text)
		}
	}
	b := brief{ended: t.State.Terminal(), failed: t.State == store.Failed, again: t.Round > 0, mayRun: t.State != store.Done && !t.Stripped, unique: -1}
	if t.Unique.Key != "" {
		b.unique = c.takeUnique(t)
	}
	n := len(c.tasks)
	if c.tasks[t.ID] = b; len(c.tasks) == n {
		c.report("driver", t.ID.String(), "is there twice")
	}
	if t.State == store.Running {
		c.takeRunning(t)
	}
	if !t.Group.IsZero() {
		c.takeMember(t, b)
	}
	if b.ended && t.OnEnd != nil {
		c.takeEnded(t)
	}
}

func driver(t *store.Task, _ time.Duration) string {
	switch t.State {
	case store.Ready, store.Parked, store.Running, store.Done, store.Failed, store.Cancelled:
		return ""
	case store.Scheduled:
		if t.DueAt.IsZero() {
			return "is scheduled, and has no DueAt"
		}
		return ""
	case store.Held:
		if t.Reason == "" {
			return "is held, and nothing says by whom"
		}
		return ""
	}
	return "is in a state that is never stored: " + string(t.State)
}

func owned(t *store.Task, _ time.Duration) string {
	if t.State.Terminal() {
		return "" // rule terminal
	}
	has := t.Worker != "" || !t.Nonce.IsZero()
	switch running := t.State == store.Running; {
	case running && t.Worker == "":
		return "is running, and has no worker"
	case running && t.Nonce.IsZero():
		return "is running, and has no nonce"
	case running && t.Epoch <= 0:
		return "is running, and was never claimed"
	case !running && has:
		return "is " + string(t.State) + ", and has an owner"
	case !running && t.Staged != nil:
		return "is " + string(t.State) + ", and has a staged outcome"
	}
	return ""
}

func terminal(t *store.Task, _ time.Duration) string {
	switch ended := t.State.Terminal(); {
	case ended && t.EndedAt.IsZero():
		return "has ended, and has no EndedAt"
	case !ended && !t.EndedAt.IsZero():
		return "has an EndedAt, and has not ended"
	case ended && (t.Worker != "" || !t.Nonce.IsZero()):
		return "has ended, and has an owner"
	case ended && t.Staged != nil:
		return "has ended, and has a staged outcome"
	}
	return ""
}

func asked(t *store.Task, _ time.Duration) string {
	if t.Asked == "" || t.Owned || t.State == store.Running || t.State.Terminal() {
		return ""
	}
	return "was asked to end (" + t.Asked + "), and waits"
}

func held(t *store.Task, _ time.Duration) string {
	if t.State == store.Held && t.Reason == store.ReasonGroup && t.Group.IsZero() {
		return "is held by its group, and has none"
	}
	return ""
}

func suspects(t *store.Task, _ time.Duration) string {
	proven := t.CrashRun >= store.Suspicion || t.Crashes >= store.CrashBudget
	switch {
	case t.Suspect && !proven:
		return "is a suspect, and has not crashed so often"
	case !t.Suspect && proven && !t.State.Terminal():
		return "has crashed so often, and is no suspect"
	case t.Solo && !t.Suspect:
		return "is solo, and no suspect"
	}
	return ""
}

func expiry(t *store.Task, horizon time.Duration) string {
	set := !t.ExpireAt.IsZero()
	switch {
	case t.State == store.Failed && set:
		return "has failed, and has an ExpireAt"
	case t.State != store.Done && t.State != store.Cancelled:
		if set {
			return "has not ended, and has an ExpireAt"
		}
	case set && t.Retention < 0:
		return "is kept for ever, and has an ExpireAt"
	case set && t.ExpireAt.Before(keptUntil(t.EndedAt, t.Retention, horizon)):
		return "expires before its retention or the horizon is over"
	case !set && t.Retention >= 0 && unbound(t):
		return "has ended, and never expires"
	}
	return ""
}

// unbound reports whether nothing but its retention keeps a task that has ended.
func unbound(t *store.Task) bool { return t.Group.IsZero() && t.OnEnd == nil }

// keptUntil returns the time before which a task that ended then is not pruned; the zero time if it never is.
func keptUntil(endedAt time.Time, retention, horizon time.Duration) time.Time {
	if retention < 0 {
		return time.Time{}
	}
	return endedAt.Add(max(retention, horizon) - slack)
}

func stripped(t *store.Task, _ time.Duration) string {
	may := t.Retention == 0 && (t.State == store.Done || t.State == store.Cancelled)
	switch {
	case t.Stripped && !may:
		return "is stripped, and should have kept its payload"
	case t.Stripped && len(t.Args)+len(t.Result)+len(t.History) > 0:
		return "is stripped, and has args, a result or a history"
	case !t.Stripped && may && (unbound(t) || !t.ExpireAt.IsZero()):
		return "ended without retention, and is not stripped"
	}
	return ""
}

func history(t *store.Task, _ time.Duration) string {
	if len(t.History) > store.HistoryLimit {
		return "has more events than are kept"
	}
	return ""
}

func fence(t *store.Task, _ time.Duration) string {
	switch {
	case t.Settled.Epoch > t.Epoch:
		return "was settled under an epoch that is still to come"
	case t.State == store.Running && t.Settled.Epoch == t.Epoch && t.Epoch > 0:
		return "is running under an epoch that was settled"
	}
	return ""
}

func count(t *store.Task, _ time.Duration) string {
	switch {
	case t.Attempts < 0 || t.Crashes < 0 || t.CrashRun < 0:
		return "has a negative count of attempts or crashes"
	case t.CrashRun > t.Crashes:
		return "has crashed more often since its last progress than in all"
	}
	return ""
}

func times(t *store.Task, _ time.Duration) string {
	if !t.EndedAt.IsZero() && t.EndedAt.Before(t.CreatedAt) {
		return "ended before it was created"
	}
	return ""
}
