package rowcall

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// Queue is where the rows wait.
const Queue = "batch-run"

// Answer is what is kept of the answer to a row's request.
type Answer struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body,omitempty"`        // JSON as it came, other text as a text
	Binary []byte          `json:"body_base64,omitempty"` // what is no text
	Millis int64           `json:"ms"`
}

// Job is a kitchen at work on a sheet.
type Job struct {
	*batch.Batch[struct{}, json.RawMessage, Answer]
	Key string
}

// NewJob makes the operation: its name is made of the key, so that no process takes up a row whose recipe it has not got.
func NewJob(k *Kitchen, key string, keep time.Duration) (*Job, error) {
	client, err := call.NewClient(call.ClientConfig{Name: "batch-run", Inline: true})
	if err != nil {
		return nil, err
	}
	nothing := call.Callback{
		OnComplete: func(context.Context, *call.Response) error { return nil },
		OnError:    func(context.Context, *call.Error) error { return nil },
	}
	sender := call.Define("row", nothing, call.Config{Client: client})
	process := func(ctx context.Context, _ struct{}, row batch.Row[json.RawMessage]) (batch.Result[Answer], error) {
		return k.send(ctx, sender, row)
	}
	return &Job{Key: key, Batch: batch.Define("run/"+key[:16], batch.Processor[struct{}, json.RawMessage, Answer]{Row: process}, batch.Config{
		Queue: Queue, Retention: keep, Timeout: k.timeout + time.Minute, // the request itself ends before
		Retry: kernel.Retry{Max: k.recipe.Attempts, Base: time.Second, Factor: 2, Cap: 5 * time.Minute},
	})}, nil
}

// send sends the request of a row once. What another attempt may mend is an error; anything else is the row's result.
func (k *Kitchen) send(ctx context.Context, sender *call.Call, row batch.Row[json.RawMessage]) (res batch.Result[Answer], err error) {
	columns, err := read(row.Input)
	if err != nil {
		return res, kernel.Permanent(err)
	}
	req, err := k.request(columns)
	if err != nil {
		return res, kernel.Permanent(err)
	}
	if req.Header.Get("Idempotency-Key") == "" {
		req.Header.Set("Idempotency-Key", batch.From(ctx).Key())
	}
	begin := time.Now()
	h, err := sender.Start(ctx, nil, req, call.Options{})
	if err != nil {
		return res, kernel.Permanent(err)
	}
	resp, err := h.Wait(ctx)
	var lost *call.Error
	switch {
	case ctx.Err() != nil:
		return res, context.Cause(ctx)
	case errors.As(err, &lost) && !lost.Again():
		return res, kernel.Permanent(err)
	case err != nil:
		return res, err
	}
	if again, after := resp.Again(); again && batch.From(ctx).Attempt() < k.recipe.Attempts {
		err := fmt.Errorf("status %d", resp.Status)
		if after > 0 {
			return res, kernel.RetryAfter(after, err)
		}
		return res, err
	}
	res.Out = Answer{Status: resp.Status, Millis: time.Since(begin).Milliseconds()}
	res.Failed = !resp.OK()
	res.Out.take(resp.Body)
	return res, nil
}

// take keeps a body as what it is.
func (a *Answer) take(body []byte) {
	switch {
	case len(body) == 0:
	case json.Valid(body):
		a.Body = body
	case utf8.Valid(body):
		a.Body, _ = json.Marshal(string(body)) // a text can be written as JSON
	default:
		a.Binary = body
	}
}

// Line is a line of the results.
type Line struct {
	Line  int64           `json:"line"`
	Input json.RawMessage `json:"input"`
	State batch.State     `json:"state"`
	Answer
	Error    string `json:"error,omitempty"`
	Attempts int    `json:"attempts"` // that were made, the last one included
}

// Write writes the results of all rows to a file, by line. Whoever reads it finds the results before, or all of these.
func Write(ctx context.Context, h *batch.Handle[json.RawMessage, Answer], path string) (n int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // where it was renamed there is nothing to remove
	n, err = WriteTo(ctx, h, f)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return n, err
	}
	return n, os.Rename(f.Name(), path)
}

// WriteTo writes the results of all rows, by line.
func WriteTo(ctx context.Context, h *batch.Handle[json.RawMessage, Answer], w io.Writer) (n int64, err error) {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for row, err := range h.All(ctx) {
		if err != nil {
			return n, err
		}
		line := Line{Line: row.Line, Input: row.Input, State: row.State, Answer: row.Out, Attempts: row.Attempts}
		if row.State == batch.Success || row.Out.Status != 0 {
			line.Attempts++ // the one that brought the answer
		} else {
			line.Error = row.Error
		}
		if err := enc.Encode(line); err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}
