package endpoint

import (
	"context"
	"errors"
	"net/http"

	"github.com/outlast-go/outlast/kernel"
)

// result answers with the result alone.
func (h *StatusHandler) result(ctx context.Context, a asked) *Problem {
	t, p := h.find(ctx, a, ended)
	if p != nil {
		return p
	}
	return h.site.writeResult(a.w, a.r, &t)
}

// writeResult answers with what came of a task: the result as it is, or why there is none.
func (s *Site) writeResult(w http.ResponseWriter, r *http.Request, t *kernel.Task) *Problem {
	d := s.document(t)
	s.headers(w, &d)
	switch {
	case !d.Status.Ended():
		return problem(http.StatusConflict, "not_finished", "the task is %s", d.Status)
	case d.Status != Completed:
		return d.Error
	case t.Stripped:
		return problem(http.StatusGone, "gone", "the task is done, and its result is not kept")
	}
	res, err := decodeResult(t.Result)
	if err != nil {
		s.Logger.Error("result not read", "task", d.ID, "err", err)
		return problem(http.StatusInternalServerError, "bad_result", "the result cannot be read")
	}
	if res.Location != "" && r.URL.Query().Has("redirect") {
		w.Header().Set("Location", res.Location)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	if res.Location != "" {
		w.Header().Set("Content-Location", res.Location)
	}
	if res.Type != "" {
		w.Header().Set("Content-Type", res.Type)
		w.Header().Set("X-Content-Type-Options", "nosniff") // what a task has made is not to be guessed at
	}
	w.WriteHeader(res.Status)
	_, _ = w.Write(res.Body) // a client that is gone needs no answer
	return nil
}

// cancel asks a task to end. What has ended otherwise cannot be canceled.
func (h *StatusHandler) cancel(ctx context.Context, a asked) *Problem {
	ctx, stop := context.WithTimeout(ctx, h.site.StoreTimeout)
	defer stop()
	d, p := h.before(ctx, a)
	if p != nil {
		return p
	}
	if d.Status.Ended() {
		return h.canceled(a, d)
	}
	return h.doCancel(ctx, a)
}

// remove cancels what has not ended and removes what has.
func (h *StatusHandler) remove(ctx context.Context, a asked) *Problem {
	ctx, stop := context.WithTimeout(ctx, h.site.StoreTimeout)
	defer stop()
	d, p := h.before(ctx, a)
	if p != nil {
		return p
	}
	if !d.Status.Ended() {
		return h.doCancel(ctx, a)
	}
	switch err := h.k.Delete(ctx, a.id); {
	case errors.Is(err, kernel.ErrState):
		return problem(http.StatusConflict, "changed", "the task was retried meanwhile")
	case err != nil:
		return h.site.unread(err, a.id, a.principal)
	}
	a.w.WriteHeader(http.StatusNoContent)
	return nil
}

// before reads a task that is to be changed, and refuses if it is not the one that the client has seen.
func (h *StatusHandler) before(ctx context.Context, a asked) (Document, *Problem) {
	t, err := h.site.get(ctx, h.k, &wish{id: a.id, mine: mine(a.principal)})
	if err != nil {
		return Document{}, h.site.unread(err, a.id, a.principal)
	}
	d := h.site.document(&t)
	if known := a.r.Header.Get("If-Match"); known != "" && !matches(known, d.etag()) {
		return d, problem(http.StatusPreconditionFailed, "changed", "the task has changed")
	}
	return d, nil
}

func (h *StatusHandler) doCancel(ctx context.Context, a asked) *Problem {
	if _, err := h.k.Cancel(ctx, a.id, "canceled by the client"); err != nil {
		return h.site.unread(err, a.id, a.principal)
	}
	t, err := h.site.get(ctx, h.k, &wish{id: a.id, mine: mine(a.principal)})
	if err != nil {
		return h.site.unread(err, a.id, a.principal)
	}
	return h.canceled(a, h.site.document(&t))
}

// canceled answers a cancel by how the task stands after it: 200 if it is canceled, 202 if it was asked to end, 409 if it ended otherwise.
func (h *StatusHandler) canceled(a asked, d Document) *Problem {
	h.site.headers(a.w, &d)
	switch {
	case d.Status == Canceled:
		h.site.Shown(a.w, a.r, d)
	case d.Status.Next(Canceled):
		h.site.Accepted(a.w, a.r, d)
	default:
		return problem(http.StatusConflict, "ended", "the task is %s and cannot be canceled", d.Status)
	}
	return nil
}
