package otlp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// span is one run.
type span struct {
	trace, id, parent string // in hex; parent is empty at the beginning of a trace
	name              string
	begin, end        time.Time
	attributes        []attribute
	failed            bool
	message           string
}

// The numbers of the protocol.
const (
	kindConsumer = 5
	statusOK     = 1
	statusError  = 2
)

func (s *span) object() object {
	status := object{"code": statusOK}
	if s.failed {
		status = object{"code": statusError, "message": s.message}
	}
	o := object{
		"traceId": s.trace, "spanId": s.id, "name": s.name, "kind": kindConsumer, "startTimeUnixNano": nanos(s.begin), "endTimeUnixNano": nanos(s.end),
		"attributes": s.attributes, "status": status,
	}
	if s.parent != "" {
		o["parentSpanId"] = s.parent
	}
	return o
}

type spanKey struct{}

// Traceparent returns what a run hands on to whom it calls, as W3C Trace Context writes it; empty: ctx belongs to no run that is traced. As Trace of a Spec it
// makes the task part of the same trace.
func Traceparent(ctx context.Context) string {
	text, _ := ctx.Value(spanKey{}).(string)
	return text
}

// Around makes a span of each run: give it to kernel.Config.Around.
func (e *Exporter) Around(next kernel.Handler) kernel.Handler {
	return func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
		t := run.Task()
		s := span{id: newID(), name: t.Kind, begin: time.Now()}
		if s.trace, s.parent = ParseTraceparent(t.Trace); s.trace == "" {
			id := t.ID
			s.trace = hex.EncodeToString(id[:]) // all runs of the task are one trace
		}
		out, err := func() (out kernel.Outcome, err error) {
			// A handler that panics has run as well; the kernel makes a failed attempt of it.
			defer func() {
				if p := recover(); p != nil {
					s.note(run, kernel.Outcome{}, errPanic)
					e.put(s)
					panic(p)
				}
			}()
			return next(context.WithValue(ctx, spanKey{}, "00-"+s.trace+"-"+s.id+"-01"), run)
		}()
		s.note(run, out, err)
		e.put(s)
		return out, err
	}
}

type panicked struct{}

func (panicked) Error() string { return "the handler panicked" }

var errPanic error = panicked{}

// note writes down how a run ended.
func (s *span) note(run *kernel.Run, out kernel.Outcome, err error) {
	t := run.Task()
	s.end = time.Now()
	outcome := string(out.Kind)
	switch {
	case err != nil:
		outcome = "error"
	case outcome == "":
		outcome = "done"
	}
	s.failed = err != nil || outcome == "fail"
	if s.failed && t.Sealed.IsZero() {
		if err != nil {
			s.message = err.Error()
		} else if out.Error != nil {
			s.message = out.Error.Message
		}
		s.message = s.message[:min(len(s.message), 500)]
	}
	s.attributes = []attribute{
		text("outlast.task", t.ID.String()), text("outlast.kind", t.Kind), text("outlast.queue", t.Queue), number("outlast.attempt", int64(run.Attempt())),
		text("outlast.outcome", outcome), text("outlast.namespace", run.Kernel().Store().Namespace), number("outlast.crashes", int64(t.Crashes)),
		number("outlast.waited_ms", s.begin.Sub(t.CreatedAt).Milliseconds()),
	}
	if t.Correlation != "" {
		s.attributes = append(s.attributes, text("outlast.correlation", t.Correlation))
	}
}

// put queues a span; without room it is dropped.
func (e *Exporter) put(s span) {
	select {
	case e.spans <- s:
	default:
		e.dropped.Add(1)
	}
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// ParseTraceparent reads the trace and the span of a header of W3C Trace Context; both are empty if it is none.
func ParseTraceparent(text string) (trace, parent string) {
	if len(text) < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-' || text[:2] == "ff" {
		return "", ""
	}
	trace, parent = text[3:35], text[36:52]
	for _, part := range []string{trace, parent} {
		zero := true
		for _, c := range part {
			if !strings.ContainsRune("0123456789abcdef", c) {
				return "", ""
			}
			zero = zero && c == '0'
		}
		if zero {
			return "", ""
		}
	}
	return trace, parent
}
