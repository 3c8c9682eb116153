package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

const (
	retryPage = 200
	retryers  = 8
	// retryPause is how long the rows of a batch wait at most for a Retry that was cut off.
	retryPause = 2 * time.Minute
)

// Retry makes the failed rows of a batch ready again, with all their attempts before them, and returns how many. Rows that ended well, or were
// aborted, stay as they are. A batch that had ended begins its next generation, and Done comes again when that ends. The rows of the batch
// wait until all of them are ready, so that it ends once. ErrState says that the batch was aborted, or has not begun. A Retry that was cut off may be repeated.
func (h *Handle[In, Out]) Retry(ctx context.Context) (rows int64, err error) {
	g, err := h.group(ctx)
	switch {
	case err != nil:
		return 0, err
	case g.Aborting != "":
		return 0, fmt.Errorf("retry batch %s: %w: it was aborted", h.id, ErrState)
	case g.State == kernel.GroupFilling || g.State == kernel.GroupHeld:
		return 0, fmt.Errorf("retry batch %s: %w: it has not begun", h.id, ErrState)
	case g.Failed == 0:
		return 0, nil
	}
	scope := kernel.Scope{Kind: strings.Replace(g.Name, ":", ".", 1), Lane: g.ID.String()}
	defer func() {
		// The caller's context may have ended; the rows must not wait for the end of the pause.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, h.k.Resume(ctx, scope))
	}()
	page := kernel.PageRequest{Limit: retryPage}
	for {
		if err := h.k.Pause(ctx, scope, retryPause, "failed rows are being retried"); err != nil {
			return rows, err
		}
		p, err := h.k.Members(ctx, h.id, []kernel.TaskState{"failed"}, page)
		if err != nil {
			return rows, err
		}
		n, err := h.retryAll(ctx, p.Items)
		rows += n
		if err != nil {
			return rows, fmt.Errorf("retry batch %s: %w", h.id, err)
		}
		if page.Cursor = p.Cursor; page.Cursor == "" {
			return rows, nil
		}
	}
}

// retryAll retries some rows, a few at a time. One that somebody else has retried, or deleted, is left out.
func (h *Handle[In, Out]) retryAll(ctx context.Context, tasks []kernel.Task) (rows int64, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	next := 0
	work := func() {
		for {
			mu.Lock()
			if next == len(tasks) || err != nil {
				mu.Unlock()
				return
			}
			id := tasks[next].ID
			next++
			mu.Unlock()
			e := h.k.Retry(ctx, id)
			mu.Lock()
			switch {
			case e == nil:
				rows++
			case !errors.Is(e, kernel.ErrState) && !errors.Is(e, kernel.ErrNotFound):
				err = errors.Join(err, e)
			}
			mu.Unlock()
		}
	}
	for range min(retryers, len(tasks)) - 1 {
		group.Go(work)
	}
	work() // the caller is one of them: a single row costs no goroutine
	group.Wait()
	return rows, err
}
