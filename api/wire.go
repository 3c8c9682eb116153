package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Span is a duration: "1h30m" in answers; in requests also a number of seconds.
type Span time.Duration

var errSpan = errors.New("a duration is a text such as 30s or 5m, or a number of seconds")

// MarshalJSON writes a text.
func (s Span) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).String()) }

// UnmarshalJSON reads a text, or a number of seconds.
func (s *Span) UnmarshalJSON(data []byte) error {
	var seconds float64
	if json.Unmarshal(data, &seconds) == nil {
		if seconds > 1e9 || seconds < -1e9 {
			return errSpan
		}
		*s = Span(seconds * float64(time.Second))
		return nil
	}
	var text string
	if json.Unmarshal(data, &text) != nil {
		return errSpan
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%w, not %.40q", errSpan, text)
	}
	*s = Span(d)
	return nil
}

// Retry says when a task is tried again.
type Retry struct {
	Max         int     `json:"max,omitempty"`
	Base        Span    `json:"base,omitempty"`
	Factor      float64 `json:"factor,omitempty"`
	Cap         Span    `json:"cap,omitempty"`
	CrashSpends bool    `json:"crashSpends,omitempty"`
	Exact       bool    `json:"exact,omitempty"`
}

func (r *Retry) policy() kernel.Retry {
	if r == nil {
		return kernel.Retry{}
	}
	return kernel.Retry{
		Max: r.Max, Base: time.Duration(r.Base), Factor: r.Factor, Cap: time.Duration(r.Cap), CrashSpends: r.CrashSpends, Exact: r.Exact,
	}
}

// Unique keeps a second task of the same kind and key out.
type Unique struct {
	Key        string `json:"key"`
	OnConflict string `json:"onConflict,omitempty"` // reject, replace; empty: the one that stands is told
	For        Span   `json:"for,omitempty"`
}

// NewTask is a task to be submitted. Only the kind is needed. Args are any JSON; what is not goes into argsBase64.
type NewTask struct {
	ID          string            `json:"id,omitempty"`
	Kind        string            `json:"kind"`
	Queue       string            `json:"queue,omitempty"`
	Lane        string            `json:"lane,omitempty"`
	Limit       string            `json:"limit,omitempty"`
	Order       string            `json:"order,omitempty"`
	Priority    int               `json:"priority,omitempty"`
	Args        json.RawMessage   `json:"args,omitempty"`
	ArgsBase64  []byte            `json:"argsBase64,omitempty"`
	Delay       Span              `json:"delay,omitempty"`
	DueAt       time.Time         `json:"dueAt,omitzero"`
	StartBy     Span              `json:"startBy,omitempty"`
	Timeout     Span              `json:"timeout,omitempty"`
	Retry       *Retry            `json:"retry,omitempty"`
	Unique      *Unique           `json:"unique,omitempty"`
	Group       string            `json:"group,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Correlation string            `json:"correlation,omitempty"`
	Trace       string            `json:"trace,omitempty"` // a traceparent, as W3C Trace Context writes it; default: the header of the request
	Retention   Span              `json:"retention,omitempty"`
	OnEnd       *NewTask          `json:"onEnd,omitempty"`
}

// spec makes what the kernel stores of it.
func (n *NewTask) spec() (kernel.Spec, error) {
	id, err := parseID("id", n.ID)
	if err != nil {
		return kernel.Spec{}, err
	}
	group, err := parseID("group", n.Group)
	if err != nil {
		return kernel.Spec{}, err
	}
	args, err := payload("args", n.Args, n.ArgsBase64)
	if err != nil {
		return kernel.Spec{}, err
	}
	s := kernel.Spec{
		ID: id, Kind: n.Kind, Queue: n.Queue, Lane: n.Lane, Limit: n.Limit, Order: kernel.Order(n.Order), Priority: n.Priority, Args: args,
		Delay: time.Duration(n.Delay), DueAt: n.DueAt, StartBy: time.Duration(n.StartBy), Timeout: time.Duration(n.Timeout),
		Retry: n.Retry.policy(), Group: group, Labels: n.Labels, Correlation: n.Correlation, Trace: n.Trace, Retention: time.Duration(n.Retention),
	}
	if n.Unique != nil {
		s.Unique = kernel.Unique{Key: n.Unique.Key, OnConflict: kernel.Conflict(n.Unique.OnConflict), For: time.Duration(n.Unique.For)}
	}
	if n.OnEnd != nil {
		next, err := n.OnEnd.spec()
		if err != nil {
			return s, fmt.Errorf("onEnd: %w", err)
		}
		s.OnEnd = &next
	}
	return s, nil
}

// payload is what was given as JSON, or as base64.
func payload(field string, plain json.RawMessage, encoded []byte) ([]byte, error) {
	if len(plain) > 0 && len(encoded) > 0 {
		return nil, fmt.Errorf("%w: %s and %sBase64 are both given", kernel.ErrInvalid, field, field)
	}
	if len(encoded) > 0 {
		return encoded, nil
	}
	return plain, nil
}

// shown parts a payload into JSON and what is not.
func shown(b []byte) (plain json.RawMessage, encoded []byte) {
	if len(b) == 0 {
		return nil, nil
	}
	if json.Valid(b) {
		return b, nil
	}
	return nil, b
}

func parseID(field, text string) (kernel.ID, error) {
	id, err := kernel.ParseID(text)
	if err != nil {
		return id, fmt.Errorf("%w: %s is %.80q, which is no id: an id has 36 letters", kernel.ErrInvalid, field, text)
	}
	return id, nil
}

// idText is an id as answers tell it; empty: there is none.
func idText(id kernel.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}
