package ops

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/store"
)

// Row is a row of a batch, whatever its operation.
type Row = batch.RowStatus[json.RawMessage, json.RawMessage]

// Batches looks at batches and orders them about. What a method does is said at that of batch.Handle.
type Batches interface {
	// Batches lists them, newest first.
	Batches(ctx context.Context, name string, limit int) ([]batch.Status, error)
	Batch(ctx context.Context, id store.ID) (batch.Status, error)
	// Rows calls fn for each row in one of the states, by line, until it says that it is enough.
	Rows(ctx context.Context, id store.ID, states []batch.State, fn func(Row) (more bool)) error
	Files(ctx context.Context, id store.ID) ([]batch.File, error)
	// OpenFile is batch.ErrNoFile if there is none of that name.
	OpenFile(ctx context.Context, id store.ID, name string) (io.ReadCloser, error)
	ReleaseBatch(ctx context.Context, id store.ID) (rows int64, err error)
	AbortBatch(ctx context.Context, id store.ID, reason string) (batch.Status, error)
	RetryBatch(ctx context.Context, id store.ID) (rows int64, err error)
}

func (d *Direct) handle(id store.ID) *batch.Handle[json.RawMessage, json.RawMessage] {
	return batch.Open(d.k, id)
}

// Batches lists batches.
func (d *Direct) Batches(ctx context.Context, name string, limit int) ([]batch.Status, error) {
	return batch.List(ctx, d.k, batch.ListOptions{Name: name, Limit: limit})
}

// Batch tells how a batch stands.
func (d *Direct) Batch(ctx context.Context, id store.ID) (batch.Status, error) {
	return ask(ctx, d, d.handle(id).Status)
}

// Rows lists the rows of a batch.
func (d *Direct) Rows(ctx context.Context, id store.ID, states []batch.State, fn func(Row) bool) error {
	for r, err := range d.handle(id).All(ctx, states...) {
		if err != nil {
			return err
		}
		if !fn(r) {
			return nil
		}
	}
	return nil
}

// Files lists the output files of a batch.
func (d *Direct) Files(ctx context.Context, id store.ID) ([]batch.File, error) {
	return ask(ctx, d, d.handle(id).Files)
}

// OpenFile opens one.
func (d *Direct) OpenFile(ctx context.Context, id store.ID, name string) (io.ReadCloser, error) {
	return d.handle(id).OpenFile(ctx, name)
}

// ReleaseBatch lets a batch run that waits.
func (d *Direct) ReleaseBatch(ctx context.Context, id store.ID) (int64, error) {
	return ask(ctx, d, d.handle(id).Release)
}

// AbortBatch ends a batch, also where no process is that would settle it.
func (d *Direct) AbortBatch(ctx context.Context, id store.ID, reason string) (batch.Status, error) {
	_, err := d.handle(id).Abort(ctx, reason)
	if err == nil {
		err = d.Settle(ctx)
	}
	if err != nil {
		return batch.Status{}, err
	}
	return d.Batch(ctx, id)
}

// RetryBatch makes the failed rows of a batch ready again.
func (d *Direct) RetryBatch(ctx context.Context, id store.ID) (int64, error) {
	return d.handle(id).Retry(ctx)
}

func batchPath(id store.ID) string { return "/v1/batches/" + id.String() }

func statusOf(v *api.BatchStatus) batch.Status {
	return batch.Status{
		ID: parse(v.ID), Name: v.Name, State: batch.State(v.State), Rows: v.Rows, Success: v.Success, Failed: v.Failed, Aborted: v.Aborted, Filling: v.Filling,
		Unserved: v.Unserved, Reason: v.Reason, Generation: v.Generation, DoneError: v.DoneError, Labels: v.Labels, CreatedAt: v.CreatedAt, ClosedAt: v.ClosedAt,
	}
}

// Batches lists batches.
func (d *Daemon) Batches(ctx context.Context, name string, limit int) (list []batch.Status, err error) {
	q := url.Values{}
	if name != "" {
		q.Set("op", name)
	}
	for len(list) < limit {
		q.Set("limit", strconv.Itoa(min(limit-len(list), 1000)))
		v, err := fetch[api.Batches](ctx, d, "/v1/batches", q)
		if err != nil {
			return list, err
		}
		list = append(list, each(v.Batches, statusOf)...)
		if v.Before == "" || len(v.Batches) == 0 {
			break
		}
		q.Set("before", v.Before)
	}
	return list, nil
}

// Batch tells how a batch stands.
func (d *Daemon) Batch(ctx context.Context, id store.ID) (batch.Status, error) {
	v, err := fetch[api.BatchStatus](ctx, d, batchPath(id), nil)
	return statusOf(&v), err
}

// Rows lists the rows of a batch.
func (d *Daemon) Rows(ctx context.Context, id store.ID, states []batch.State, fn func(Row) bool) error {
	q := url.Values{"limit": {"500"}}
	for _, s := range states {
		q.Add("state", string(s))
	}
	for {
		v, err := fetch[api.BatchRows](ctx, d, batchPath(id)+"/rows", q)
		if err != nil {
			return err
		}
		for _, r := range v.Rows {
			more := fn(Row{
				Line: r.Line, Task: parse(r.Task), State: batch.State(r.State), Input: r.Input, Out: r.Result, Messages: r.Messages, Files: r.Files, Error: r.Error,
				Attempts: r.Attempts, Crashes: r.Crashes, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
			})
			if !more {
				return nil
			}
		}
		if v.Cursor == "" {
			return nil
		}
		q.Set("cursor", v.Cursor)
	}
}

// Files lists the output files of a batch.
func (d *Daemon) Files(ctx context.Context, id store.ID) ([]batch.File, error) {
	v, err := fetch[api.BatchFiles](ctx, d, batchPath(id)+"/files", nil)
	return v.Files, err
}

// OpenFile opens one.
func (d *Daemon) OpenFile(ctx context.Context, id store.ID, name string) (io.ReadCloser, error) {
	if _, err := d.Batch(ctx, id); err != nil {
		return nil, err
	}
	body, err := d.stream(ctx, batchPath(id)+"/files/"+url.PathEscape(name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, batch.ErrNoFile // the batch itself is there
	}
	return body, err
}

// ReleaseBatch lets a batch run that waits.
func (d *Daemon) ReleaseBatch(ctx context.Context, id store.ID) (int64, error) {
	v, err := send[api.BatchChange](ctx, d, http.MethodPost, batchPath(id)+"/release", api.Reason{})
	return v.Rows, err
}

// AbortBatch ends a batch. The daemon ends the rows that wait; it is given a moment for that.
func (d *Daemon) AbortBatch(ctx context.Context, id store.ID, reason string) (batch.Status, error) {
	if _, err := send[api.BatchStatus](ctx, d, http.MethodPost, batchPath(id)+"/abort", api.Reason{Reason: reason}); err != nil {
		return batch.Status{}, err
	}
	v, err := fetch[api.BatchStatus](ctx, d, batchPath(id), url.Values{"wait": {"2s"}})
	return statusOf(&v), err
}

// RetryBatch makes the failed rows of a batch ready again.
func (d *Daemon) RetryBatch(ctx context.Context, id store.ID) (int64, error) {
	v, err := sendWithin[api.BatchChange](ctx, d, d.limit+2*time.Minute, request{http.MethodPost, batchPath(id) + "/retry", api.Reason{}})
	return v.Rows, err
}
