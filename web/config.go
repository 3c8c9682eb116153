package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

// Config sets up a dashboard. Its zero value works.
type Config struct {
	// Title stands at the top of each page. Default "Outlast".
	Title string
	// Base is the prefix that the handler is mounted under, such as "/outlast", as browsers see it. Default: none, or what http.StripPrefix
	// has taken away.
	Base string

	// ReadOnly refuses all actions, and shows none. Default: false.
	ReadOnly bool
	// Authorize decides whether a request may do something; looking at a page is an Action as well, of the verb View. An error refuses it, and
	// its text is shown. Default: everybody who reaches the handler may do everything.
	Authorize func(r *http.Request, a Action) error
	// Who names who makes a request, for the audit. Default: the user of basic authentication, else the address.
	Who func(r *http.Request) string
	// Audit is told every action that was tried, after it. It must not block for long. Default: nothing; the log has a line either way.
	Audit func(ctx context.Context, line AuditLine)
	// SignOut is where the button that ends a session posts to, such as "/sign-out". Default: there is no button.
	SignOut string
	// TrustedOrigins are other origins whose pages may act here, such as "https://admin.example.com". Default: none.
	TrustedOrigins []string

	// Reveal shows what is in sealed tasks, if this process can open them. Default: false, they are shown as sealed.
	Reveal bool
	// Redact changes what is shown of a payload, after what is called a secret was taken out. field is args, result, error, detail, message,
	// or entry and its name. Default: nothing more is taken out.
	Redact func(t kernel.Task, field, text string) string

	// Sagas are the definitions that this process knows: with them a saga is drawn with its edges and the steps to come. Default: none; what
	// has begun is shown.
	Sagas []saga.Outline
	// Calls are the clients of this process whose statistics are shown. Default: none.
	Calls []*call.Client

	// Every is how often a page that is open is looked at anew, at most. Default 1 s; at least 100 ms.
	Every time.Duration
	// Logger takes the log. Default: slog.Default.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Title = cmp.Or(c.Title, "Outlast")
	c.Base = strings.TrimSuffix(c.Base, "/")
	if c.Base != "" && !strings.HasPrefix(c.Base, "/") {
		c.Base = "/" + c.Base
	}
	c.Every = max(cmp.Or(c.Every, time.Second), 100*time.Millisecond)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Who == nil {
		c.Who = whoAsks
	}
	return c
}

func whoAsks(r *http.Request) string {
	if user, _, ok := r.BasicAuth(); ok && user != "" {
		return user
	}
	return r.RemoteAddr
}

// View is the verb of looking at a page.
const View = "view"

// Action is what somebody wants to do.
type Action struct {
	Verb   string   // View, or what the form says: retry, cancel, pause, …
	Page   string   // of View: overview, tasks, task, queues, …
	Target []string // ids of tasks, sagas or batches; names of queues, limits or schedules
	All    bool     // all that match a filter, whatever they are
}

// AuditLine tells who did what.
type AuditLine struct {
	At     time.Time
	Who    string
	Action Action
	Detail string // what was chosen beside the target: a reason, a filter
	Count  int    // of targets that it was done to
	Err    error  // nil: it was done
}
