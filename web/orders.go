package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

func askSend(f form) (question, error) {
	_, err := f.one()
	return question{
		Title: "Send a message", Text: "It is put into the task's inbox, and wakes the task.", Label: "Send",
		Inputs: []input{{Name: "name", Label: "Name", Value: f.Get("name"), Need: true}, {Name: "body", Label: "Body", Hint: "as its handler reads it, JSON perhaps", Wide: true}},
	}, err
}

func sendMessage(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	_, err = f.q.h.k.Send(ctx, kernel.Message{Task: id, Name: f.Get("name"), Body: []byte(f.Get("body"))})
	return done{count: 1, text: "Sent the message " + f.Get("name") + "."}, err
}

func askGroup(title, text string, inputs ...input) func(f form) (question, error) {
	return func(f form) (question, error) {
		_, err := f.one()
		return question{Title: title, Text: text, Label: strings.Fields(title)[0], Inputs: inputs}, err
	}
}

func releaseGroup(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	g, err := f.q.h.k.Release(ctx, id)
	return done{count: 1, text: "Released: " + plural(g.Total, "row.", "rows.")}, err
}

func abortGroup(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	reason := f.Get("reason")
	if reason == "" {
		reason = "aborted"
	}
	_, err = f.q.h.k.Abort(ctx, id, reason)
	return done{count: 1, text: "Aborted. Its rows end one after the other."}, err
}

func retryGroup(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	rows, err := batch.Open(f.q.h.k, id).Retry(ctx)
	return done{count: int(rows), text: plural(rows, "row is tried again.", "rows are tried again.")}, err
}

func askSaga(title, text string, inputs ...input) func(f form) (question, error) {
	return func(f form) (question, error) {
		_, err := f.one()
		q := question{Title: title, Text: text, Label: strings.TrimSuffix(title, "?"), Inputs: inputs}
		if step := f.Get("step"); step != "" {
			q.Text = "Step " + step + ". " + text
		}
		if f.Get("verb") == "resolve" {
			q.Label = "Yes, it is resolved"
		}
		return q, err
	}
}

func askSignal(f form) (question, error) {
	_, err := f.one()
	return question{
		Title: "Send a signal", Text: "Of several the first one counts. A value that does not fit makes the step fail.", Label: "Send signal",
		Inputs: []input{{Name: "signal", Label: "Signal", Value: f.Get("signal"), Need: true}, {Name: "value", Label: "Value", Hint: `JSON: {"by":"Ann"}, 5, "text"`, Value: "{}", Wide: true, Need: true}},
	}, err
}

func sendSignal(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	value := []byte(f.Get("value"))
	if !json.Valid(value) {
		return done{}, fmt.Errorf("%w: the value is not JSON; a text stands between quotes", kernel.ErrInvalid)
	}
	err = saga.NewSignal[json.RawMessage](f.Get("signal")).Send(ctx, f.q.h.k, id, value)
	if errors.Is(err, saga.ErrNotWaiting) {
		return done{}, fmt.Errorf("%w: the saga takes no such signal any more: it has one, has ended, or is being rolled back", kernel.ErrState)
	}
	return done{count: 1, text: "Sent the signal " + f.Get("signal") + "."}, err
}

// cancelSaga asks a saga to end, as saga.Handle.Cancel does.
func cancelSaga(mode saga.CancelMode) func(ctx context.Context, f form) (done, error) {
	return func(ctx context.Context, f form) (done, error) {
		id, err := f.one()
		if err != nil {
			return done{}, err
		}
		reason := f.Get("reason")
		if reason == "" {
			reason = "cancelled"
		}
		t, err := f.q.h.k.Get(ctx, id)
		if err != nil {
			return done{}, err
		}
		if o := f.q.outline(t.Kind); o != nil {
			err = o.Cancel(ctx, f.q.h.k, id, mode, reason)
		} else {
			err = saga.Cancel(ctx, f.q.h.k, id, mode, reason)
		}
		if err != nil {
			return done{}, err
		}
		return done{count: 1, text: "Asked the saga to end: " + string(mode) + "."}, nil
	}
}

func retryUndo(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	return done{count: 1, text: "The undo is tried again."}, saga.RetryUndo(ctx, f.q.h.k, id, f.Get("step"), f.Get("note"))
}

func resolveStep(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	return done{count: 1, text: "The step counts as undone."}, saga.Resolve(ctx, f.q.h.k, id, f.Get("step"), f.Get("note"))
}

func askSkip(f form) (question, error) {
	_, err := f.one()
	return question{
		Title: "Skip the step " + f.Get("step") + "?", Text: "It counts as done with this result, and is never undone.", Label: "Skip",
		Inputs: []input{{Name: "value", Label: "Result", Hint: "JSON of the type that the step returns", Value: "null", Wide: true, Need: true}, noteInput},
	}, err
}

func skipStep(ctx context.Context, f form) (done, error) {
	id, err := f.one()
	if err != nil {
		return done{}, err
	}
	value := json.RawMessage(f.Get("value"))
	if !json.Valid(value) {
		return done{}, fmt.Errorf("%w: the result is not JSON; a text stands between quotes", kernel.ErrInvalid)
	}
	return done{count: 1, text: "Skipped the step " + f.Get("step") + "."}, saga.SkipStep(ctx, f.q.h.k, id, f.Get("step"), value, f.Get("note"))
}
