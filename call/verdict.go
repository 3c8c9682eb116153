package call

import (
	"context"
	"errors"

	"github.com/outlast-go/outlast/kernel"
)

// The states that matter here.
const (
	stateDone      kernel.TaskState = "done"
	stateFailed    kernel.TaskState = "failed"
	stateCancelled kernel.TaskState = "cancelled"
)

// verdict is how a request ended: exactly one of both.
type verdict struct {
	response *Response
	failure  *Error
}

func (v *verdict) result() (*Response, error) {
	if v.failure != nil {
		return nil, v.failure
	}
	return v.response, nil
}

func (v *verdict) status() Status {
	if v.failure != nil {
		return Status{State: stateFailed, Error: v.failure.Error(), ErrorType: v.failure.Type, MaxAttempts: 1, Attempts: 1}
	}
	return Status{State: stateDone, MaxAttempts: 1}
}

// verdict reads how a request ended off its ended task, by whichever road it ended. An error means that it could not be read now.
func (c *Client) verdict(ctx context.Context, k *kernel.Kernel, task *kernel.Task, back wireCallback) (*verdict, error) {
	var out wireOutcome
	body, err := unframe(task.Result, &out)
	switch {
	case err == nil && out.Response != nil:
		ans := &answer{wireResponse: *out.Response, body: body}
		if ans.Entry {
			entries, err := k.Load(ctx, *task, entryBody)
			if err != nil {
				return nil, err
			}
			ans.body = entries[entryBody]
		}
		return complete(k, task, ans, back), nil
	case err == nil && out.Error != nil:
		e := out.Error
		return &verdict{failure: describe(task, back, &Error{
			Type: e.Type, Phase: e.Phase, Message: e.Message, URL: e.URL, Redirects: e.Redirects, Duration: e.Duration, MaySent: e.MaySent,
		})}, nil
	}
	return &verdict{failure: describe(task, back, unanswered(task))}, nil
}

// complete makes the verdict of an answer.
func complete(k *kernel.Kernel, task *kernel.Task, ans *answer, back wireCallback) *verdict {
	r := response(k, ans)
	r.ID, r.Method, r.Args = task.ID, back.Method, back.Args
	r.Attempts, r.Crashes = task.Attempts, task.Crashes
	if task.State == stateDone {
		return &verdict{response: r}
	}
	e := describe(task, back, &Error{Type: TypeHTTP, URL: r.URL, Redirects: r.Redirects, Duration: r.Duration, MaySent: true, Response: r})
	if task.Error != nil {
		e.Message = task.Error.Message
	}
	return &verdict{failure: e}
}

func response(k *kernel.Kernel, ans *answer) *Response {
	return &Response{
		Status: ans.Status, Header: ans.Header, URL: ans.URL, Proto: ans.Proto, Redirects: ans.Redirects, Duration: ans.Duration,
		Body: ans.body, Size: ans.Size, ref: ans.Ref, k: k,
	}
}

// unanswered is the error of a request that ended by a road on which nobody could write an outcome.
func unanswered(task *kernel.Task) *Error {
	e := &Error{Type: TypeUnknown, MaySent: task.Epoch > 0}
	if task.Error != nil {
		e.Message = task.Error.Message
	}
	switch {
	case task.State == stateCancelled && task.Reason == "expired":
		e.Type, e.MaySent = TypeExpired, false
	case task.State == stateCancelled:
		e.Type = TypeCancelled
	case task.Reason == "crashed":
		e.Type = TypeCrashed
	case task.Reason == "corrupt", task.Error != nil && task.Error.Type == string(TypeInvalid):
		e.Type = TypeInvalid
	case task.Reason == "attempts" && task.Error != nil && task.Error.Type == "stuck":
		e.Type, e.Phase = TypeTimeout, PhaseTotal
	}
	if e.Message == "" {
		e.Message = "its task is " + string(task.State) + " (" + task.Reason + ")"
	}
	return e
}

// describe adds what the record and the callback know of a request.
func describe(task *kernel.Task, back wireCallback, e *Error) *Error {
	e.ID, e.Method, e.Args, e.Reason = task.ID, back.Method, back.Args, task.Reason
	e.Attempts, e.Crashes = task.Attempts, task.Crashes
	e.URL = firstOf(e.URL, back.URL)
	return e
}

// lostRecord is the verdict on a request whose record is gone or unreadable.
func lostRecord(id kernel.ID, back wireCallback, err error) *verdict {
	kind := TypeInvalid
	if errors.Is(err, kernel.ErrNotFound) {
		kind = TypeUnknown
	}
	return &verdict{failure: &Error{
		ID: id, Type: kind, Method: back.Method, URL: back.URL, Args: back.Args, MaySent: true,
		Message: "the record of the request cannot be read: " + err.Error(),
	}}
}
