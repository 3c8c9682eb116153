package endpoint

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// List is a page of tasks. Results are not in it.
type List struct {
	Items []Document `json:"items"`
	Next  string     `json:"next,omitempty"` // path of the next page
}

// Bounds of one page.
const (
	pageUsual = 20
	pageMost  = 100
)

// list tells of a principal's tasks.
func (h *StatusHandler) list(ctx context.Context, a asked) *Problem {
	q := a.r.URL.Query()
	f, page, p := filter(q)
	if p != nil {
		return p
	}
	f.Labels = map[string]string{labelPrincipal: label(a.principal)}
	ctx, cancel := context.WithTimeout(ctx, h.site.StoreTimeout)
	defer cancel()
	found, err := h.k.List(ctx, f, page)
	switch {
	case errors.Is(err, kernel.ErrInvalid):
		return problem(http.StatusBadRequest, "bad_cursor", "the cursor is none of ours")
	case err != nil:
		h.site.Logger.Error("list not read", "err", err)
		return problem(http.StatusServiceUnavailable, "unavailable", "the list could not be read; try again")
	}
	list := List{Items: []Document{}}
	for i := range found.Items {
		d := h.site.document(&found.Items[i])
		if d.Status == Failed {
			d.Error.brief = true // a problem of the function's own is in its result, which is not read here
		}
		list.Items = append(list.Items, d)
	}
	a.w.Header().Set("Cache-Control", "no-store")
	if found.Cursor != "" {
		q.Set("cursor", found.Cursor)
		list.Next = h.site.Path + "?" + q.Encode()
		a.w.Header().Set("Link", "<"+list.Next+`>; rel="next"`)
	}
	writeJSON(a.w, http.StatusOK, list)
	return nil
}

// filter reads what of the list is wanted.
func filter(q url.Values) (kernel.Filter, kernel.PageRequest, *Problem) {
	f, page := kernel.Filter{}, kernel.PageRequest{Limit: pageUsual, Cursor: q.Get("cursor")}
	for _, text := range q["status"] {
		for _, word := range strings.Split(text, ",") {
			s, p := parseState(word)
			if p != nil {
				return f, page, p
			}
			f.States = append(f.States, kernelStates(s)...)
		}
	}
	if name := q.Get("name"); name != "" {
		f.Kinds = []string{kindPrefix + name}
	}
	for name, at := range map[string]*time.Time{"after": &f.After, "before": &f.Before} {
		if text := q.Get(name); text != "" {
			parsed, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return f, page, problem(http.StatusBadRequest, "bad_filter", "%s is %.40q; give a time such as 2026-01-31T12:00:00Z", name, text)
			}
			*at = parsed
		}
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return f, page, problem(http.StatusBadRequest, "bad_filter", "limit is %.40q; give 1 to %d", text, pageMost)
		}
		page.Limit = min(n, pageMost)
	}
	return f, page, nil
}

// parseState reads a state by its word or its number.
func parseState(text string) (State, *Problem) {
	text = strings.TrimSpace(text)
	if n, err := strconv.Atoi(text); err == nil {
		if _, known := names[State(n)]; known {
			return State(n), nil
		}
	}
	var s State
	if err := s.UnmarshalText([]byte(text)); err != nil {
		return 0, problem(http.StatusBadRequest, "bad_filter", "there is no status %.40q", text)
	}
	return s, nil
}
