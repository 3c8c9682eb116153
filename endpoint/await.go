package endpoint

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// wish is what a request wants to see of a task.
type wish struct {
	id   kernel.ID
	mine func(*kernel.Task) bool // nil: every task is
	wait time.Duration           // 0: it does not wait
	done func(*kernel.Task) bool // what it waits for
}

func ended(t *kernel.Task) bool { return t.State.Terminal() }

// get reads a task, and gives up when the store does not answer.
func (s *Site) get(ctx context.Context, k *kernel.Kernel, w *wish) (kernel.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, s.StoreTimeout)
	defer cancel()
	t, err := k.Get(ctx, w.id)
	if err == nil && w.mine != nil && !w.mine(&t) {
		return kernel.Task{}, kernel.ErrNotFound
	}
	return t, err
}

// await returns a task once it is as wished, or as it was last seen when the time is up. Between the first look and a change it
// asks the store nothing. A notice that was lost costs the rest of one wait: the next request looks.
func (s *Site) await(ctx context.Context, k *kernel.Kernel, w *wish) (kernel.Task, error) {
	wait := min(w.wait, s.MaxWait)
	if wait <= 0 {
		return s.get(ctx, k, w)
	}
	ctx, cancel := context.WithTimeout(ctx, wait+s.StoreTimeout)
	defer cancel()
	follower := k.Follow(w.id)
	defer follower.Close()
	end := time.Now().Add(wait)
	for {
		t, err := s.get(ctx, k, w)
		if err != nil || w.done(&t) {
			return t, err
		}
		if rest := time.Until(end); rest <= 0 || !follower.Wait(ctx, rest) {
			return t, nil
		}
	}
}

// unread makes a problem of a task that could not be read. One that is gone is told from one that never was, by its id.
func (s *Site) unread(err error, id kernel.ID, principal string) *Problem {
	switch {
	case !errors.Is(err, kernel.ErrNotFound):
		s.Logger.Error("status not read", "task", id.String(), "err", err)
		return problem(http.StatusServiceUnavailable, "unavailable", "the status could not be read; try again")
	case issued(id, principal):
		return problem(http.StatusGone, "gone", "the task is no longer kept")
	}
	return unknown()
}

func unknown() *Problem {
	return problem(http.StatusNotFound, "not_found", "there is no such task")
}

// extend lets an answer take longer than the server's write timeout would.
func extend(w http.ResponseWriter, d time.Duration) {
	// A writer without deadlines has none to extend.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(d))
}
