package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

// Saga is how a saga stands. The definition is with the program that runs it: steps that have not begun are not told.
type Saga struct {
	ID        string      `json:"id"`
	State     string      `json:"state"`
	Reason    string      `json:"reason,omitempty"`
	Failure   string      `json:"failure,omitempty"` // why it is or was rolled back
	Lacks     []string    `json:"lacks,omitempty"`   // what a process needs to go on with it
	Lock      string      `json:"lock,omitempty"`    // the lock it waits for
	CreatedAt time.Time   `json:"createdAt"`
	EndedAt   time.Time   `json:"endedAt,omitzero"`
	Steps     []SagaStep  `json:"steps"`
	Timeline  []SagaEvent `json:"timeline"`
}

// SagaStep is how one step stands.
type SagaStep struct {
	Name     string          `json:"name"`
	State    string          `json:"state"`
	Attempts int             `json:"attempts"` // that have failed
	Error    string          `json:"error,omitempty"`
	NextAt   time.Time       `json:"nextAt,omitzero"`
	Task     string          `json:"task,omitempty"` // its own, if it has one
	Result   json.RawMessage `json:"result,omitempty"`
	Note     string          `json:"note,omitempty"` // of the operator who resolved or skipped it
}

// SagaEvent is one line of a saga's timeline.
type SagaEvent struct {
	Seq     int64     `json:"seq"`
	At      time.Time `json:"at"`
	Step    string    `json:"step,omitempty"`
	Kind    string    `json:"kind"`
	Attempt int       `json:"attempt,omitempty"`
	Text    string    `json:"text,omitempty"`
}

func getSaga(q *request, id kernel.ID, _ none) (Saga, error) {
	s, err := saga.Look(q, q.k, id)
	if err != nil {
		return Saga{}, err
	}
	v := Saga{
		ID: s.ID.String(), State: string(s.State), Reason: s.Reason, Lacks: s.Lacks, Lock: s.Lock, CreatedAt: s.CreatedAt, EndedAt: s.EndedAt,
		Steps: []SagaStep{}, Timeline: []SagaEvent{},
	}
	if s.Failure != nil {
		v.Failure = s.Failure.Message
	}
	for _, st := range s.Steps {
		v.Steps = append(v.Steps, SagaStep{st.Name, st.State, st.Attempts, st.Error, st.NextAt, idText(st.Task), st.Result, st.Note})
	}
	for _, e := range s.Timeline {
		v.Timeline = append(v.Timeline, SagaEvent{e.Seq, e.At, e.Step, e.Kind, e.Attempt, e.Text})
	}
	return v, nil
}

// Order is what an operator wants of a saga that is held.
type Order struct {
	Step   string          `json:"step,omitempty"`   // of retry-undo: empty means all that could not be undone
	Note   string          `json:"note,omitempty"`   // why; it stands in the timeline
	Result json.RawMessage `json:"result,omitempty"` // of skip: what the step would have given
}

// sagaOrders are the orders by name.
var sagaOrders = map[string]func(q *request, id kernel.ID, in Order) error{
	"retry-undo": func(q *request, id kernel.ID, in Order) error { return saga.RetryUndo(q, q.k, id, in.Step, in.Note) },
	"resolve":    func(q *request, id kernel.ID, in Order) error { return saga.Resolve(q, q.k, id, in.Step, in.Note) },
	"release":    func(q *request, id kernel.ID, _ Order) error { return saga.Release(q, q.k, id) },
	"skip": func(q *request, id kernel.ID, in Order) error {
		return saga.SkipStep(q, q.k, id, in.Step, in.Result, in.Note)
	},
}

// orderSaga gives an order to a saga, and tells how it stands then. Nothing is sent to a task that is none.
func orderSaga(name string) func(q *request, id kernel.ID, in Order) (Saga, error) {
	return func(q *request, id kernel.ID, in Order) (Saga, error) {
		switch {
		case in.Step == "" && (name == "resolve" || name == "skip"):
			return Saga{}, fmt.Errorf("%w: say which step", kernel.ErrInvalid)
		case len(in.Result) == 0 && name == "skip":
			return Saga{}, fmt.Errorf("%w: the step has no result", kernel.ErrInvalid)
		}
		if _, err := saga.Look(q, q.k, id); err != nil {
			return Saga{}, err
		}
		if err := sagaOrders[name](q, id, in); err != nil {
			return Saga{}, err
		}
		return getSaga(q, id, none{})
	}
}

// NewSignal is a value for a saga that waits for it.
type NewSignal struct {
	Value json.RawMessage `json:"value"`
}

func sendSignal(q *request, id kernel.ID, in NewSignal) (none, error) {
	name := q.r.PathValue("name")
	if len(in.Value) == 0 {
		return none{}, fmt.Errorf("%w: the signal has no value", kernel.ErrInvalid)
	}
	err := saga.NewSignal[json.RawMessage](name).Send(q, q.k, id, in.Value)
	if errors.Is(err, saga.ErrNotWaiting) {
		return none{}, problem(conflict, "not_waiting", "the saga does not wait for the signal %.80s, or has been answered already", name)
	}
	return none{}, err
}
