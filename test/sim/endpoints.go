package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// endpoints are those scenarios that package endpoint drives.
var endpoints = []scenario{
	{"endpoint", endpointIs(func(d *desk) { d.want = `Completed "charged 7"` })},
	{"endpoint, refused", endpointIs(func(d *desk) { d.refuses, d.want = true, "Failed no credit" })},
	{"endpoint, cancelled", endpointIs(func(d *desk) { d.takes, d.cancel, d.want = 500*ms, true, "Canceled" })},
}

// desk is an endpoint, and one request to it.
type desk struct {
	w       *workload
	takes   time.Duration
	refuses bool
	cancel  bool
	want    string

	id   string // what the client was told when its request was accepted
	runs tally
	saw  string // what the client saw in the end
}

// endpointIs sends a request until it is accepted, waits for its end, and sends it once more.
func endpointIs(edit func(d *desk)) func(w *workload) {
	return func(w *workload) {
		d := &desk{w: w, takes: 20 * ms, runs: tally{}}
		edit(d)
		e := endpoint.Define("charge", d.charge)
		site := endpoint.Site{Logger: slog.New(slog.DiscardHandler)}
		cfg := endpoint.Config{Site: site, RetryBase: 25 * ms}
		w.serves = append(w.serves, func(_ *process, k *kernel.Kernel) { e.Serve(k) })
		send := func(ctx context.Context, k *kernel.Kernel) error { return d.send(ctx, e.Handler(k, cfg)) }
		w.then(0, send)
		if d.cancel {
			w.then(100*ms, func(ctx context.Context, k *kernel.Kernel) error {
				status, _, err := d.ask(ctx, endpoint.Status(k, site), http.MethodPost, "/tasks/"+d.id+":cancel")
				if err == nil && status == http.StatusConflict {
					return nil // it has ended before
				}
				return err
			})
		}
		w.then(0, func(ctx context.Context, k *kernel.Kernel) error { return d.wait(ctx, endpoint.Status(k, site)) })
		w.then(0, send)
		w.judge(d.judge)
	}
}

// charge is the function.
func (d *desk) charge(ctx context.Context, in endpoint.Request[int]) (string, error) {
	d.runs["the function ran"]++
	if !d.w.s.travel(ctx, d.takes) {
		return "", context.Cause(ctx)
	}
	if d.refuses {
		return "", endpoint.Permanent(&endpoint.Problem{Status: http.StatusPaymentRequired, Detail: "no credit"})
	}
	return fmt.Sprintf("charged %d", in.Body), nil
}

// send sends the request; what was accepted once is accepted always, under the same id.
func (d *desk) send(ctx context.Context, h http.Handler) error {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/charge", strings.NewReader("7"))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", "one")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	var doc endpoint.Document
	switch {
	case rec.Code == http.StatusServiceUnavailable:
		return errNotYet
	case rec.Code != http.StatusAccepted || json.Unmarshal(rec.Body.Bytes(), &doc) != nil || doc.ID == "":
		d.w.s.fail("E1", "the request was answered with %d %s", rec.Code, rec.Body)
	case d.id != "" && d.id != doc.ID:
		d.w.s.fail("E1", "the request was accepted as %s, and before as %s", doc.ID, d.id)
	}
	d.id = doc.ID
	return nil
}

// ask sends a request about the task.
func (d *desk) ask(ctx context.Context, h http.Handler, method, path string) (status int, body []byte, err error) {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, method, path, nil))
	switch rec.Code {
	case http.StatusServiceUnavailable:
		return rec.Code, nil, errNotYet
	case http.StatusNotFound, http.StatusGone:
		d.w.s.fail("E1", "a request that was accepted as %s is answered with %d", d.id, rec.Code)
	}
	return rec.Code, rec.Body.Bytes(), nil
}

// wait waits for the end, and reads it.
func (d *desk) wait(ctx context.Context, h http.Handler) error {
	_, body, err := d.ask(ctx, h, http.MethodGet, "/tasks/"+d.id+"?wait=60s")
	if err != nil {
		return err
	}
	var doc endpoint.Document
	if err := json.Unmarshal(body, &doc); err != nil {
		d.w.s.fail("E1", "the status of %s is %s", d.id, body)
		return nil
	}
	if !doc.Status.Ended() {
		return errNotYet
	}
	d.saw = fmt.Sprint(doc.Status)
	switch {
	case doc.Status == endpoint.Completed:
		d.saw += " " + string(doc.Result)
	case doc.Status == endpoint.Failed && doc.Error != nil:
		d.saw += " " + doc.Error.Detail
	}
	return nil
}

// judge compares in the end.
func (d *desk) judge() {
	s, tasks := d.w.s, 0
	d.w.walk(func(t *store.Task) {
		if strings.HasPrefix(t.Kind, "endpoint.") {
			tasks++
			if t.ID.String() != d.id {
				s.fail("E2", "there is a task %v, and the request was accepted as %s", t.ID, d.id)
			}
		}
	}, func(*store.Group) {})
	if tasks != 1 {
		s.fail("E2", "one request has made %d tasks", tasks)
	}
	d.runs.atMost(d.w, "E3", 1+d.w.faults())
	late := d.cancel && d.w.faults() > 0 && d.saw == `Completed "charged 7"` // it was done before the word came
	if d.saw != d.want && !late {
		s.fail("E1", "the client saw %q in the end, want %q", d.saw, d.want)
	}
}
