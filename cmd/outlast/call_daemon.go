package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

// callByDaemon lets a daemon send a request, and prints the answer. A token that may submit is enough.
func callByDaemon(ctx context.Context, l *cli.Line, url string, req call.Request) error {
	d, err := openDaemon(l, url)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // it has nothing to lose
	id, err := beginByDaemon(ctx, l, d, req)
	if err != nil || !l.On("wait") && !l.Given("resume") {
		return err
	}
	c, err := d.WaitCall(ctx, id)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("stopped before the answer came; \"outlast call --resume %s\" goes on", id)
	case err != nil:
		return err
	case c.End == nil:
		return fmt.Errorf("call %s: %w", id, call.ErrForgotten)
	}
	if e := c.End.Error; e != nil {
		if l.AsJSON() {
			_ = l.JSON(map[string]any{"id": id, "error": map[string]any{"type": e.Type, "message": e.Message}, "attempts": c.End.Attempts, "crashes": c.End.Crashes})
			return cli.Told
		}
		failed := &call.Error{ID: id, Type: call.Type(e.Type), Phase: call.Phase(e.Phase), Message: e.Message, Reason: e.Reason}
		return fmt.Errorf("%w (after %d attempts; \"outlast show %s\" has more)", failed, c.End.Attempts, id)
	}
	return answerOf(l, id, c.End)
}

// beginByDaemon hands the request over, or finds the one that was.
func beginByDaemon(ctx context.Context, l *cli.Line, d *ops.Daemon, req call.Request) (store.ID, error) {
	if l.Given("resume") {
		return parseID(l.Text("resume"))
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	id := store.MakeID(l.Now(), random)
	got, err := d.StartCall(ctx, api.NewCall{
		ID: id.String(), Method: req.Method, URL: req.URL, Header: req.Header, BodyBase64: req.Body, Timeout: api.Span(req.Timeouts.Total),
		Retry: &api.Retry{Max: l.Number("retries") + 1, Base: api.Span(time.Second), Factor: 2, Cap: api.Span(time.Minute)},
	})
	switch {
	case errors.Is(err, store.ErrInvalid):
		return id, cli.Misused("%v", err)
	case err != nil:
		return id, err
	case l.On("wait"):
		fmt.Fprintf(l.Err, "stored as %s\n", got.ID)
	case l.AsJSON():
		return id, l.JSON(map[string]any{"id": id, "state": store.Ready})
	default:
		l.Say("%s", got.ID)
	}
	return id, nil
}

// answerOf prints what came back to the daemon.
func answerOf(l *cli.Line, id store.ID, end *api.CallEnd) error {
	body := end.BodyBase64
	if len(body) == 0 {
		body = []byte(end.Body)
	}
	r := &call.Response{
		ID: id, Status: end.Status, Header: http.Header(end.Header), URL: end.URL, Proto: end.Proto, Attempts: end.Attempts, Crashes: end.Crashes,
		Duration: time.Duration(math.Round(end.Seconds * float64(time.Second))),
	}
	err := answer(l, r, body)
	if int64(len(body)) < end.Size {
		err = errors.Join(err, fmt.Errorf("of the %s bytes of the body the daemon hands over %s", cli.Thousands(end.Size), number(len(body))))
	}
	return err
}
