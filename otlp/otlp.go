// Package otlp sends traces and metrics to a collector of OpenTelemetry: OTLP over HTTP, encoded as JSON. It is for the daemon, and for
// programs that want the same without the SDK; it needs the standard library alone.
//
// Each run of a handler is a span: an attempt with its outcome. The runs of a task are one trace, that of its submitter if the task carries a
// traceparent (kernel.Spec.Trace), else one of the task's own.
//
// # What it promises
//
// Work never waits for it: what does not fit into its queue, or cannot be sent, is dropped and counted. It sends no payloads; of a sealed
// task not even the text of an error.
package otlp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config sets up an Exporter. Only the Endpoint is needed.
type Config struct {
	// Endpoint is the base URL of the collector, such as http://localhost:4318; /v1/traces and /v1/metrics are below it.
	Endpoint string
	// Headers go with each request: an API key of the collector's. Default: none.
	Headers map[string]string
	// Service names this program. Default "outlast".
	Service string
	// Attributes are further ones of this program, such as its version. Default: none.
	Attributes map[string]string
	// Metrics returns what there is to measure, as Prometheus reads it. Default nil: no metrics are sent.
	Metrics func(ctx context.Context) (string, error)
	// Every is how often metrics are sent. Default 30 s.
	Every time.Duration
	// Linger is how long a span waits for others. Default 2 s.
	Linger time.Duration
	// Queue is how many spans may wait to be sent. Default 4096.
	Queue int
	// Client sends. Default: one of its own, with a timeout of 10 s.
	Client *http.Client
	// Logger takes what cannot be sent. Default: slog.Default.
	Logger *slog.Logger
}

// Exporter sends. Make one with New, and Run it.
type Exporter struct {
	cfg     Config
	traces  string
	metrics string
	begun   time.Time
	spans   chan span
	dropped atomic.Int64
	lost    bool // the last request failed: told once
}

// New makes an exporter. It starts nothing: Run does.
func New(cfg Config) (*Exporter, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("otlp: the endpoint %.100q is no http or https URL", cfg.Endpoint)
	}
	cfg.Service = cmp.Or(cfg.Service, "outlast")
	cfg.Every = cmp.Or(max(cfg.Every, 0), 30*time.Second)
	cfg.Linger = cmp.Or(max(cfg.Linger, 0), 2*time.Second)
	cfg.Queue = cmp.Or(max(cfg.Queue, 0), 4096)
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: 10 * time.Second}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	base := strings.TrimSuffix(cfg.Endpoint, "/")
	return &Exporter{cfg: cfg, traces: base + "/v1/traces", metrics: base + "/v1/metrics", begun: time.Now(), spans: make(chan span, cfg.Queue)}, nil
}

// Dropped returns how many spans were not sent.
func (e *Exporter) Dropped() int64 { return e.dropped.Load() }

// most is how many spans one request has.
const most = 512

// Run sends until ctx ends, and then what still waits, once. It returns nil.
func (e *Exporter) Run(ctx context.Context) error {
	measure := time.NewTicker(e.cfg.Every)
	defer measure.Stop()
	flush := time.NewTicker(e.cfg.Linger)
	defer flush.Stop()
	var batch []span
	for {
		select {
		case s := <-e.spans:
			if batch = append(batch, s); len(batch) >= most {
				e.send(ctx, &batch)
			}
		case <-flush.C:
			e.send(ctx, &batch)
		case <-measure.C:
			e.measure(ctx)
		case <-ctx.Done():
			e.finish(ctx, batch)
			return nil
		}
	}
}

// lastWord is how long the end may take.
const lastWord = 5 * time.Second

// finish sends what is left. The process ends: nobody waits longer for it than lastWord.
func (e *Exporter) finish(ctx context.Context, batch []span) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer cancel()
	for range len(e.spans) {
		if batch = append(batch, <-e.spans); len(batch) >= most {
			e.send(ctx, &batch)
		}
	}
	e.send(ctx, &batch)
	e.dropped.Add(int64(len(batch)))
	e.measure(ctx)
}

// send sends the spans of a batch, and empties it whether they arrived or not; save where ctx has ended, and the end has a last word.
func (e *Exporter) send(ctx context.Context, batch *[]span) {
	if len(*batch) == 0 {
		return
	}
	err := e.post(ctx, e.traces, e.traceRequest(*batch))
	if err != nil && ctx.Err() != nil {
		return
	}
	if err != nil {
		e.dropped.Add(int64(len(*batch)))
		e.complain(err)
	}
	*batch = (*batch)[:0]
}

func (e *Exporter) measure(ctx context.Context) {
	if e.cfg.Metrics == nil {
		return
	}
	text, err := e.cfg.Metrics(ctx)
	if err == nil {
		err = e.post(ctx, e.metrics, e.metricRequest(text, time.Now()))
	}
	if err != nil {
		e.complain(err)
	}
}

// complain logs the first of several failures in a row.
func (e *Exporter) complain(err error) {
	if !e.lost && !errors.Is(err, context.Canceled) {
		e.cfg.Logger.Warn("telemetry not sent", "err", err, "dropped", e.dropped.Load())
	}
	e.lost = true
}
