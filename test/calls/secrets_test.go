package calls_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/file"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/test/secrets"
)

// logText keeps what is logged.
type logText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// plant sends requests full of secrets, with blobs beside the store, and returns what was found in the files of both, and in the logs.
func plant(t *testing.T, at home, sealer kernel.Sealer) (p *secrets.Planter, inFiles map[string][]string, inLog []string) {
	t.Helper()
	p = secrets.New()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Answer", p.Text("header of an answer"))
		switch {
		case strings.HasPrefix(r.URL.Path, "/hang"):
			panic(http.ErrAbortHandler)
		case strings.HasPrefix(r.URL.Path, "/large"):
			_, _ = w.Write(p.Large("large answer"))
		case strings.HasPrefix(r.URL.Path, "/missing"):
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprint(w, p.Text("answer"))
	}))
	t.Cleanup(server.Close)
	db, err := engine.Open(t.Context(), at.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	dir := t.TempDir()
	blobs, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	lines := &logText{}
	logger := slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	k := kerneltest.New(t, db, kernel.Config{
		Sealer: sealer, Blobs: []blob.Named{{Name: "file", Store: blobs}}, Logger: logger, Slots: map[string]int{"calls": 10, "callbacks": 10},
	})
	send(t, k, p, server.URL, logger)
	logged := at.flush()
	inFiles = p.FindIn(t, at.dir)
	maps.Copy(inFiles, p.FindIn(t, dir))
	return p, inFiles, p.Find(append(lines.bytes(), logged...))
}

// send runs the requests to the ends of their callbacks.
func send(t *testing.T, k *kernel.Kernel, p *secrets.Planter, url string, logger *slog.Logger) {
	t.Helper()
	client, err := call.NewClient(call.ClientConfig{
		Retry: kernel.Retry{Max: 2, Base: 1}, Breaker: call.Breaker{Failures: -1}, Logger: logger,
		Signers: map[string][]string{"s": {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := call.Define("planted", call.Callback{
		OnComplete: func(_ context.Context, r *call.Response) error { return check(p, r.Args) },
		OnError:    func(_ context.Context, e *call.Error) error { return check(p, e.Args) },
	}, call.Config{Client: client})
	c.Serve(k)
	kerneltest.Run(t, k)
	for _, path := range []string{"/ok/", "/large/", "/missing/", "/hang/"} {
		for _, fail := range []bool{false, true} {
			for _, body := range [][]byte{p.At("body"), p.Large("large body")} {
				h, err := c.Start(t.Context(), k, call.Request{
					Method: "POST", URL: strings.Replace(url, "//", "//user:"+p.Text("password")+"@", 1) + path + p.Text("path") + "?token=" + p.Text("query"),
					Header: http.Header{"Authorization": {"Bearer " + p.Text("authorization")}, "X-Api-Key": {p.Text("header")}}, Body: body, Sign: "s",
				}, call.Options{Args: map[string]string{"a": p.Text("args")}, FailOnStatus: fail})
				if err != nil {
					t.Fatal(err)
				}
				if err := h.WaitCallback(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func check(p *secrets.Planter, args []byte) error {
	if !bytes.Contains(args, p.At("args")) {
		return fmt.Errorf("the callback does not see its args")
	}
	return nil
}

// X-30, PH-140: headers, bodies, passwords, tokens, args and answers are in no file and no log when a sealer is set.
func TestNoSecretOfACallIsInFilesOrLogs(t *testing.T) {
	each(t, func(t *testing.T, at home) {
		ring, err := seal.Parse(seal.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		p, inFiles, inLog := plant(t, at, ring)
		if len(inFiles) > 0 || len(inLog) > 0 || len(p.Places()) != 11 {
			t.Errorf("of %v found in files: %v; in the log: %v; want nothing", p.Places(), inFiles, inLog)
		}
	})
}

// The search can fail: without a sealer it finds every secret, and none of them in the log all the same.
func TestEverySecretOfACallIsFoundWithoutASealer(t *testing.T) {
	each(t, func(t *testing.T, at home) {
		p, inFiles, inLog := plant(t, at, nil)
		for _, place := range p.Places() {
			found, logged := false, false
			for file, places := range inFiles {
				has := slices.Contains(places, place)
				found, logged = found || has, logged || has && strings.HasPrefix(file, at.log)
			}
			if !found || !logged && place == "args" {
				t.Errorf("%s was found: %v, in the log of writes: %v: the search does not see it", place, found, logged)
			}
		}
		if len(inLog) > 0 {
			t.Errorf("found in the log: %v; want nothing, sealed or not", inLog)
		}
	})
}
