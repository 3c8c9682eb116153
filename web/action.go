package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Bounds of one action.
const (
	formMost   = 1 << 20
	actionTime = 30 * time.Second
)

// scriptHeader is set by our own script, and tells it where to go.
const scriptHeader = "Outlast-Go"

// form is what somebody asks for.
type form struct {
	url.Values
	q *request
}

func (f form) ids() ([]kernel.ID, error) {
	var list []kernel.ID
	for _, text := range f.Values["id"] {
		id, err := kernel.ParseID(text)
		if err != nil || id.IsZero() {
			return nil, fmt.Errorf("%w: %.60q is no id", kernel.ErrInvalid, text)
		}
		list = append(list, id)
	}
	return list, nil
}

// one is the id of an action on one thing.
func (f form) one() (kernel.ID, error) {
	ids, err := f.ids()
	if err == nil && len(ids) != 1 {
		err = fmt.Errorf("%w: nothing was chosen", kernel.ErrInvalid)
	}
	if err != nil {
		return kernel.ID{}, err
	}
	return ids[0], nil
}

func (f form) scope() kernel.Scope {
	return kernel.Scope{Queue: f.Get("queue"), Kind: f.Get("kind"), Lane: f.Get("lane")}
}

// action is what Authorize and Audit are told.
func (f form) action() Action {
	a := Action{Verb: f.Get("verb"), All: f.Get("all") == "yes"}
	for _, name := range []string{"id", "queue", "key", "schedule"} {
		for _, v := range f.Values[name] {
			if v != "" {
				a.Target = append(a.Target, v)
			}
		}
	}
	return a
}

// detail tells what was chosen beside the target. What is sent to a task is not in it.
func (f form) detail() string {
	var parts []string
	for name, values := range f.Values {
		switch name {
		case "verb", "id", "back", "sure", "body", "value", "all":
			continue
		}
		if text := strings.Join(values, ","); text != "" {
			parts = append(parts, name+"="+text)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// back is where to go afterwards: a page of ours.
func (f form) back() string {
	b := f.Get("back")
	if !strings.HasPrefix(b, "/") || strings.HasPrefix(b, "//") || strings.ContainsAny(b, "\\\r\n") {
		return "/"
	}
	return b
}

// done is what an action came to.
type done struct {
	count int
	text  string
	undo  *act
	bad   bool // some of it was not done
}

// question is asked before an action is done.
type question struct {
	Title, Text, Label string
	Danger             bool
	Inputs             []input
	Hidden             []field
	Back               string
}

type input struct {
	Name, Label, Hint, Value string
	Wide                     bool // more than one line
	Need                     bool
	Choices                  []field
}

// verb is something that can be done.
type verb struct {
	ask func(f form) (question, error) // nil: it is done without a question
	do  func(ctx context.Context, f form) (done, error)
}

// post does what a form asks for, after the question was answered.
func (q *request) post(ctx context.Context, w http.ResponseWriter) {
	q.r.Body = http.MaxBytesReader(w, q.r.Body, formMost)
	if err := q.r.ParseForm(); err != nil {
		q.fail(w, http.StatusBadRequest, fmt.Errorf("the form could not be read: %w", err))
		return
	}
	f := form{q.r.PostForm, q}
	if q.where == "theme" {
		q.setTheme(w, f)
		return
	}
	v, ok := verbs[f.Get("verb")]
	if q.where != "do" || !ok {
		q.fail(w, http.StatusNotFound, errNoPage)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, actionTime)
	defer cancel()
	now, err := q.h.k.Now(ctx)
	if err != nil {
		q.fail(w, statusOf(err), err)
		return
	}
	q.now = now
	a := f.action()
	if err := q.allowed(a); err != nil {
		q.audit(ctx, f, a, done{}, err)
		q.fail(w, statusOf(err), err)
		return
	}
	if v.ask != nil && f.Get("sure") != "yes" {
		q.confirm(w, v, f)
		return
	}
	out, err := v.do(ctx, f)
	q.h.reads.forget()
	q.audit(ctx, f, a, out, err)
	if err != nil {
		q.fail(w, statusOf(err), plain(err))
		return
	}
	q.leaveNotice(w, &notice{Text: out.text, Undo: out.undo, Bad: out.bad})
	if q.r.Header.Get(scriptHeader) != "" {
		w.Header().Set(scriptHeader, q.base+f.back()) // a script that followed a redirect would read the notice in the reader's place
		w.WriteHeader(http.StatusNoContent)
		return
	}
	http.Redirect(w, q.r, q.base+f.back(), http.StatusSeeOther)
}

// plain says what a refusal means.
func plain(err error) error {
	switch {
	case errors.Is(err, kernel.ErrState):
		return fmt.Errorf("it is no longer in a state that allows this: %w", err)
	case errors.Is(err, kernel.ErrDuplicate):
		return fmt.Errorf("its unique key is held by another task by now: %w", err)
	}
	return err
}

func (q *request) confirm(w http.ResponseWriter, v verb, f form) {
	ask, err := v.ask(f)
	if err != nil {
		q.fail(w, statusOf(err), err)
		return
	}
	ask.Back = f.back()
	ask.Danger = dangerous[f.Get("verb")]
	asked := map[string]bool{"sure": true}
	for _, in := range ask.Inputs {
		asked[in.Name] = true
	}
	for name, values := range f.Values {
		for _, value := range values {
			if !asked[name] {
				ask.Hidden = append(ask.Hidden, field{name, value})
			}
		}
	}
	slices.SortStableFunc(ask.Hidden, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
	q.render(w, http.StatusOK, &page{Title: ask.Title, Name: "confirm", D: ask}, nil)
}

// audit writes down who did what.
func (q *request) audit(ctx context.Context, f form, a Action, out done, err error) {
	line := AuditLine{At: q.now, Who: q.h.cfg.Who(q.r), Action: a, Detail: f.detail(), Count: out.count, Err: err}
	log := q.h.cfg.Logger.With("who", line.Who, "verb", a.Verb, "target", strings.Join(a.Target, " "), "all", a.All, "detail", line.Detail, "count", line.Count)
	if err != nil {
		log.Warn("dashboard action refused or failed", "err", err)
	} else {
		log.Info("dashboard action")
	}
	if q.h.cfg.Audit != nil {
		// The reader may have gone away: what was done is told all the same.
		q.h.cfg.Audit(context.WithoutCancel(ctx), line)
	}
}

func (q *request) setTheme(w http.ResponseWriter, f form) {
	theme := f.Get("theme")
	c := &http.Cookie{Name: themeCookie, Value: theme, Path: q.base + "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if theme != "dark" && theme != "light" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(w, c)
	http.Redirect(w, q.r, q.base+f.back(), http.StatusSeeOther)
}
