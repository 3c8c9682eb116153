package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// restEvery is how often something is sent though nothing has changed, so that nobody in between takes the line for dead.
const restEvery = 15 * time.Second

// live sends what changes of one page, as server-sent events, until the reader goes away. However much happens, a reader is sent one
// event per Config.Every, with the page as it then is.
func (q *request) live(ctx context.Context, w http.ResponseWriter) {
	target, err := url.Parse(q.r.URL.Query().Get("page"))
	if err != nil || target.IsAbs() || target.Host != "" {
		http.Error(w, "page is not a path", http.StatusBadRequest)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	_ = out.SetWriteDeadline(time.Time{}) // a server's WriteTimeout is for pages that end; who cannot set it is cut off, and comes again
	_ = out.SetReadDeadline(time.Time{})  // when a ReadTimeout is up, a server takes the reader for gone
	at := q.about(ctx, target)
	var last uint64
	sent := time.Now()
	for first := true; ctx.Err() == nil; first = false {
		follow, html, err := at.look(ctx)
		switch sum := sumOf(html); {
		case err != nil:
			fmt.Fprintf(w, "event: trouble\ndata: %q\n\n", troubleText(err))
			sent, last = time.Now(), 0
		case sum != last:
			// The first look is only sent if it differs from nothing known: the reader may have waited between page and stream.
			fmt.Fprintf(w, "data: %s\n\n", asJSON(string(html)))
			sent, last = time.Now(), sum
		case first || time.Since(sent) > restEvery:
			_, _ = fmt.Fprint(w, ": still here\n\n")
			sent = time.Now()
		}
		if out.Flush() != nil {
			return
		}
		at.pause(ctx, follow)
	}
}

func asJSON(s string) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		return []byte(`""`) // a string always encodes
	}
	return data
}

func troubleText(err error) string {
	var refused errRefused
	if errors.As(err, &refused) {
		return refused.Error()
	}
	return "the store does not answer"
}

// about is the request for the page that a stream is about.
func (q *request) about(ctx context.Context, target *url.URL) *request {
	r := q.r.Clone(ctx)
	r.URL.Path, r.URL.RawQuery = target.Path, target.RawQuery
	return &request{h: q.h, r: r, base: q.base, where: strings.Trim(target.Path, "/")}
}

// look renders the page as it is now.
func (q *request) look(ctx context.Context) (*page, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	p, err := q.find(ctx)
	if err != nil {
		return nil, nil, err
	}
	html, err := q.body(p)
	return p, html, err
}

// pause waits until it is time to look again: a moment for a task that changes, else Config.Every.
func (q *request) pause(ctx context.Context, p *page) {
	least := min(q.h.cfg.Every, 250*time.Millisecond)
	rest := q.h.cfg.Every
	if p != nil && !p.Follow.IsZero() {
		rest -= least
		f := q.h.k.Follow(p.Follow)
		f.Wait(ctx, rest)
		f.Close()
		rest = least
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// passing matches what changes with time alone.
var passing = regexp.MustCompile(`(<time[^>]*>)[^<]*</time>`)

// sumOf is the same for pages that differ by nothing but the time that has passed.
func sumOf(html []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(passing.ReplaceAll(html, []byte("$1"))) // never fails
	return h.Sum64()
}
