package call_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// flip is a sealer for tests: it hides text from a reader, not from an attacker.
type flip struct{}

func (flip) Seal(about string, plain []byte) ([]byte, error) {
	return append([]byte(about+"|"), turned(plain)...), nil
}

func (flip) Open(about string, sealed []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(sealed, []byte(about+"|"))
	if !ok {
		return nil, errors.New("sealed for another place")
	}
	return turned(rest), nil
}

func turned(b []byte) []byte {
	out := make([]byte, len(b))
	for i := range b {
		out[i] = ^b[i]
	}
	return out
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// babbler answers in many ways, always with the secret.
func babbler(secret string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", secret)
		switch r.URL.Path {
		case "/" + secret + "/404":
			w.WriteHeader(404)
		case "/" + secret + "/503":
			w.WriteHeader(503)
		case "/" + secret + "/redirect":
			w.Header().Set("Location", "ftp://"+secret)
			w.WriteHeader(302)
		case "/" + secret + "/hang":
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, secret)
	}
}

// Secrets in headers, bodies, URLs, passwords, args and answers are in no log, label, lane or error, and with a sealer nowhere in the
// store.
func TestSecretsAreNowhereToBeSeen(t *testing.T) {
	t.Parallel()
	secret := "S3cr" + randomText()
	s := server(t, babbler(secret))
	logs := &lockedBuffer{}
	logger := slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	st := memory.New(memory.Config{})
	w := begin(t, setup{
		store: st, client: call.ClientConfig{Logger: logger, Retry: quick, OnUnknown: call.FailUnknown, Breaker: call.Breaker{Failures: -1}},
		kernel: kernel.Config{Logger: logger, Sealer: flip{}, Slots: map[string]int{"calls": 9, "callbacks": 9}},
	})
	base := strings.Replace(s.URL, "//", "//user:"+secret+"@", 1) + "/" + secret
	n := 0
	for _, url := range []string{
		base + "/ok", base + "/404", base + "/503", base + "/redirect", base + "/hang", "http://no-such-name.invalid/" + secret,
		"http://127.0.0.1:1/" + secret, "https" + strings.TrimPrefix(s.URL, "http") + "/" + secret,
	} {
		for _, fail := range []bool{false, true} {
			w.start(call.Request{
				Method: "POST", URL: url + "?token=" + secret, Header: http.Header{"Authorization": {"Bearer " + secret}, "X-Api-Key": {secret}},
				Body: []byte(secret),
			}, call.Options{Args: map[string]string{"a": secret}, FailOnStatus: fail})
			n++
		}
	}
	for range n {
		got := w.next()
		var args map[string]string
		if got.r != nil {
			args, _ = call.ArgsOf[map[string]string](got.r)
		} else {
			args, _ = call.ArgsOf[map[string]string](got.e)
		}
		if args["a"] != secret {
			t.Errorf("the callback does not see its args: %+v", got)
		}
	}
	if text := logs.b.String(); strings.Contains(text, secret) || !strings.Contains(text, "attempt failed") {
		at := strings.Index(text, secret)
		t.Errorf("the log repeats a secret: …%s…", text[max(at-300, 0):min(at+100, len(text))])
	}
	if err := st.Export(context.Background(), func(e store.Entry) error {
		if text := fmt.Sprintf("%+v %s", e, dump(e)); strings.Contains(text, secret) {
			at := strings.Index(text, secret)
			t.Errorf("the store has a secret: …%s…", text[max(at-300, 0):min(at+100, len(text))])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// dump writes all texts of a record.
func dump(e store.Entry) string {
	if e.Task == nil {
		return ""
	}
	t := e.Task
	text := fmt.Sprintf("%s %s %+v", t.Args, t.Result, t.Spec)
	if t.Error != nil {
		text += fmt.Sprintf(" %s %s", t.Error.Message, t.Error.Detail)
	}
	if t.OnEnd != nil {
		text += fmt.Sprintf(" %s", t.OnEnd.Args)
	}
	return text
}
