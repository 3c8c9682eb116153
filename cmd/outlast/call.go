package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// The client of calls that are made by hand: whoever runs "outlast call --wait" on a store sends those of others on it as well.
const (
	cliClient    = "cli"
	cliQueue     = "cli-calls"
	cliCallbacks = "cli-callbacks"
)

func callCommand() *cli.Command {
	return &cli.Command{
		Name: "call", Short: "make an HTTP call that outlasts this process",
		Args: cli.Args{Usage: "[URL]", Max: 1},
		Long: "The request is stored first, and its id told on the standard error. With --wait this process sends it, tries again what may be tried again, and\n" +
			"prints the answer. If the process dies, \"outlast call --resume ID\" goes on, and \"outlast show ID\" shows how it stands. Without --wait it is sent by\n" +
			"the next process that runs \"outlast call --wait\" or --resume on the store; a daemon whose address --store names sends it itself. Exit code: 0 for an answer below 400, 1 for any other end.",
		Flags: targetFlags(
			cli.Flag{Name: "request", Short: "X", Value: "METHOD", Shown: "GET, or POST with a body", Help: "method"},
			cli.Flag{Name: "header", Short: "H", Kind: cli.Many, Value: "NAME: VALUE", Help: "a header"},
			cli.Flag{Name: "data", Short: "d", Value: "BODY", Help: "the body; @FILE reads it from a file, @- from the standard input"},
			cli.Flag{Name: "json-body", Value: "JSON", Help: "the body, as JSON with its Content-Type; @FILE and @- as for --data"},
			cli.Flag{Name: "timeout", Kind: cli.Span, Default: "60s", Help: "how long one attempt may take"},
			cli.Flag{Name: "retries", Kind: cli.Number, Default: "4", Help: "attempts after the first one"},
			cli.Flag{Name: "fail", Short: "f", Kind: cli.Switch, Help: "print no body of an answer of 400 or above"},
			cli.Flag{Name: "include", Short: "i", Kind: cli.Switch, Help: "print status and headers before the body"},
			cli.Flag{Name: "wait", Short: "w", Kind: cli.Switch, Help: "send it, and wait for the answer"},
			cli.Flag{Name: "resume", Value: "ID", Help: "go on with a call that was started before, and wait for its answer"},
		),
		Example: "outlast call --wait https://example.com\noutlast call -X POST https://api.example.com/orders --json-body '{\"n\":1}' -H 'Authorization: Bearer t' --wait\n" +
			"outlast call --resume 0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c",
		Run: makeCall,
	}
}

func makeCall(ctx context.Context, l *cli.Line) error {
	req, err := requestOf(l)
	if err != nil {
		return err
	}
	url, err := storeURL(l)
	if err != nil {
		return err
	}
	if ofDaemon(url) {
		return callByDaemon(ctx, l, url, req)
	}
	cfg := kernel.Config{Slots: map[string]int{cliQueue: 10, cliCallbacks: 10}, ShutdownTimeout: 2 * time.Second}
	return withStore(ctx, l, want{create: true, config: cfg}, func(d *ops.Direct) error {
		client, err := call.NewClient(call.ClientConfig{Name: cliClient, Queue: cliQueue, CallbackQueue: cliCallbacks})
		if err != nil {
			return err
		}
		defer client.Close()
		c := call.Define("by-hand", call.Callback{
			OnComplete: func(context.Context, *call.Response) error { return nil },
			OnError:    func(context.Context, *call.Error) error { return nil },
		}, call.Config{Client: client})
		c.Serve(d.Kernel())
		h, err := begin(ctx, l, d, c, req)
		if err != nil || !l.On("wait") && !l.Given("resume") {
			return err
		}
		return await(ctx, l, d, h)
	})
}

// requestOf reads the request that the flags describe; it is empty if one is resumed.
func requestOf(l *cli.Line) (req call.Request, err error) {
	if l.Given("resume") {
		if len(l.Args) > 0 || l.Given("data") || l.Given("json-body") || l.Given("header") || l.Given("request") {
			return req, cli.Misused("--resume goes on with the request as it was stored; say nothing else of it")
		}
		return req, nil
	}
	if len(l.Args) == 0 {
		return req, cli.Misused("say which URL, or --resume ID")
	}
	if !strings.Contains(l.Args[0], "://") {
		return req, cli.Misused("the URL has no scheme; write it as https://example.com/path")
	}
	if l.Given("data") && l.Given("json-body") {
		return req, cli.Misused("--data and --json-body are both the body; give one")
	}
	req = call.Request{URL: l.Args[0], Method: l.Text("request"), Header: http.Header{}, Timeouts: call.Timeouts{Total: l.Span("timeout")}}
	for _, text := range l.Many("header") {
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return req, cli.Misused("--header has no colon; write it as -H 'Name: value'") // the text may be a secret
		}
		req.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	for _, name := range []string{"data", "json-body"} {
		if !l.Given(name) {
			continue
		}
		if req.Body, err = bodyOf(l, l.Text(name)); err != nil {
			return req, err
		}
		if name == "json-body" && !json.Valid(req.Body) {
			return req, cli.Misused("--json-body is not JSON")
		}
		kind := map[string]string{"data": "application/x-www-form-urlencoded", "json-body": "application/json"}[name]
		if req.Header.Get("Content-Type") == "" {
			req.Header.Set("Content-Type", kind)
		}
		if req.Method == "" {
			req.Method = http.MethodPost
		}
	}
	return req, nil
}

func bodyOf(l *cli.Line, text string) ([]byte, error) {
	path, ok := strings.CutPrefix(text, "@")
	switch {
	case !ok:
		return []byte(text), nil
	case path == "-":
		return io.ReadAll(l.In)
	}
	return os.ReadFile(path)
}

// begin stores the request, or finds the one that was.
func begin(ctx context.Context, l *cli.Line, d *ops.Direct, c *call.Call, req call.Request) (*call.Handle, error) {
	if l.Given("resume") {
		id, err := parseID(l.Text("resume"))
		if err != nil {
			return nil, err
		}
		h := c.Handle(d.Kernel(), id)
		_, err = h.Status(ctx)
		return h, err
	}
	retry := kernel.Retry{Max: l.Number("retries") + 1, Base: time.Second, Factor: 2, Cap: time.Minute}
	h, err := c.Start(ctx, d.Kernel(), req, call.Options{Retry: retry})
	var invalid *call.InvalidError
	switch {
	case errors.As(err, &invalid):
		return nil, cli.Misused("%v", invalid)
	case err != nil:
		return nil, err
	}
	if l.On("wait") {
		fmt.Fprintf(l.Err, "stored as %s\n", h.ID())
		return h, nil
	}
	if l.AsJSON() {
		return h, l.JSON(map[string]any{"id": h.ID(), "state": store.Ready})
	}
	l.Say("%s", h.ID())
	return h, nil
}

// await runs this process as a worker until the call has ended, and prints the answer.
func await(ctx context.Context, l *cli.Line, d *ops.Direct, h *call.Handle) error {
	var crew sync.WaitGroup
	var ran error
	work, stop := context.WithCancel(ctx)
	status, err := h.Status(ctx)
	if err == nil && !status.State.Terminal() {
		crew.Go(func() { ran = d.Kernel().Run(work) })
	}
	r, err := h.Wait(ctx)
	if err == nil || ctx.Err() == nil { // what follows it costs a moment, and is then out of the way
		brief, enough := context.WithTimeout(ctx, time.Second)
		_ = h.WaitCallback(brief) // it does nothing; left behind, the next process does it
		enough()
	}
	var body []byte
	if err == nil {
		body, err = r.Bytes(ctx)
	}
	stop()
	crew.Wait()
	failed := &call.Error{}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("stopped before the answer came; \"outlast call --resume %s\" goes on", h.ID())
	case errors.As(err, &failed):
		if l.AsJSON() {
			_ = l.JSON(map[string]any{"id": h.ID(), "error": map[string]any{"type": failed.Type, "message": failed.Message}, "attempts": failed.Attempts, "crashes": failed.Crashes})
			return cli.Told
		}
		return fmt.Errorf("%w (after %d attempts; \"outlast show %s\" has more)", err, failed.Attempts, h.ID())
	case err != nil:
		return errors.Join(err, ran)
	}
	return errors.Join(answer(l, r, body), ran)
}

// answer prints what came back.
func answer(l *cli.Line, r *call.Response, body []byte) error {
	switch {
	case l.AsJSON():
		err := l.JSON(map[string]any{
			"id": r.ID, "status": r.Status, "url": r.URL, "header": r.Header, "body": payload(body), "attempts": r.Attempts + 1, "crashes": r.Crashes,
			"duration_seconds": r.Duration.Seconds(),
		})
		if err != nil {
			return err
		}
	default:
		if l.On("include") {
			l.Say("%s %d %s", r.Proto, r.Status, http.StatusText(r.Status))
			for _, name := range slices.Sorted(maps.Keys(r.Header)) {
				for _, value := range r.Header[name] {
					l.Say("%s: %s", name, value)
				}
			}
			l.Say("")
		}
		if r.Status < 400 || !l.On("fail") {
			if _, err := l.Out.Write(body); err != nil {
				return err
			}
			if n := len(body); n > 0 && body[n-1] != '\n' && l.Terminal {
				l.Say("")
			}
		}
	}
	if r.Status >= 400 {
		return fmt.Errorf("the answer is %d %s, after %d attempts", r.Status, http.StatusText(r.Status), r.Attempts+1)
	}
	return nil
}
