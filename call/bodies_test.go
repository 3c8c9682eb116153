package call_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// shelf keeps bodies in memory.
type shelf struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (s *shelf) Put(_ context.Context, name string, r io.Reader) (string, error) {
	var b bytes.Buffer
	buf := make([]byte, 8<<10)
	for {
		n, err := r.Read(buf)
		b.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("put: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[string][]byte{}
	}
	s.kept["ref:"+name] = b.Bytes()
	return "ref:" + name, nil
}

func (s *shelf) Get(_ context.Context, ref string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.kept[ref]
	if !ok {
		return nil, errors.New("it is not on the shelf")
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (s *shelf) Remove(_ context.Context, ref string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, ref)
	return nil
}

func (s *shelf) refs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for ref := range s.kept {
		list = append(list, ref)
	}
	return list
}

// PH-129, FT-26, R001-5: (payload_store_threshold) what is larger leaves the record, both ways, and is read where it is used.
func TestLargeBodiesLeaveTheRecord(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	for threshold, client := range map[int]call.ClientConfig{64 << 10: {}, 1000: {BodyThreshold: 1000}} {
		keeper := &shelf{}
		client.Bodies = keeper
		w := begin(t, setup{client: client})
		small, large := bytes.Repeat([]byte("s"), threshold), bytes.Repeat([]byte("l"), threshold+1)
		if r := w.answer(call.Request{Method: "POST", URL: s.URL, Body: small}, call.Options{}); !bytes.Equal(r.Body, small) || len(keeper.refs()) != 0 {
			t.Errorf("%d bytes: %d came back, kept %v; want them in the record", threshold, len(r.Body), keeper.refs())
		}
		for _, req := range []call.Request{{Body: large}, {Reader: bytes.NewReader(large)}} {
			req.Method, req.URL = "POST", s.URL
			r := w.answer(req, call.Options{})
			body, err := r.Bytes(t.Context())
			if err != nil || !bytes.Equal(body, large) || r.Body != nil || r.Size != int64(len(large)) {
				t.Errorf("%d bytes: %d came back, %v; size %d", len(large), len(body), err, r.Size)
			}
			for _, ref := range []string{"ref:" + r.ID.String() + "/request", "ref:" + r.ID.String() + "/response-1"} {
				if _, err := keeper.Get(t.Context(), ref); err != nil {
					t.Errorf("%s: %v, want it kept", ref, err)
				}
			}
			task, err := w.k.Get(t.Context(), r.ID)
			if err != nil || len(task.Args) > 1000 || len(task.Result) > 1000 {
				t.Errorf("the record has args of %d and a result of %d bytes, %v", len(task.Args), len(task.Result), err)
			}
		}
	}
}

// Over the bound it is an error, or goes to the keeper, by choice; a bomb is one either way.
func TestWhatIsOverTheBoundMayBeSpilled(t *testing.T) {
	t.Parallel()
	bomb := compress(t, "gzip", io.LimitReader(endless{}, 300<<20))
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bomb" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb)
			return
		}
		_, _ = io.Copy(w, io.LimitReader(endless{}, 3<<20))
	})
	keeper := &shelf{}
	strict := begin(t, setup{client: call.ClientConfig{Bodies: keeper}})
	if e := strict.failure(call.Request{URL: s.URL}, call.Options{}); e.Type != call.TypeTooLarge {
		t.Errorf("%v, want too_large", e)
	}
	w := begin(t, setup{client: call.ClientConfig{Bodies: keeper, MaxSpill: 1 << 30}})
	r := w.answer(call.Request{URL: s.URL}, call.Options{})
	if body, err := r.Bytes(t.Context()); err != nil || len(body) != 3<<20 {
		t.Errorf("%d bytes, %v; want 3 MiB", len(body), err)
	}
	if e := w.failure(call.Request{URL: s.URL + "/bomb"}, call.Options{}); e.Type != call.TypeTooLarge {
		t.Errorf("a bomb: %v, want too_large", e)
	}
	for _, ref := range keeper.refs() {
		if !strings.Contains(ref, r.ID.String()) {
			t.Errorf("%s is left of a request that failed", ref)
		}
	}
}

// Each attempt reads the body from its beginning, also behind a redirect.
func TestALargeBodyIsSentAgainFromItsBeginning(t *testing.T) {
	t.Parallel()
	var got seen
	s := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if len(body) != 5000 {
			t.Errorf("%s came with %d bytes", r.URL.Path, len(body))
		}
		switch got.add(r) {
		case 1:
			w.WriteHeader(503)
		case 2:
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		}
	})
	w := begin(t, setup{client: call.ClientConfig{Bodies: &shelf{}, BodyThreshold: 1000}})
	if r := w.answer(call.Request{Method: "POST", URL: s.URL, Body: make([]byte, 5000)}, call.Options{}); r.Status != 200 || got.count() != 3 {
		t.Errorf("%d after %d requests", r.Status, got.count())
	}
}

// PH-131, PH-130: a body that is gone is an error that is seen, at once.
func TestABodyThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	keeper := &shelf{}
	client := call.ClientConfig{Bodies: keeper, BodyThreshold: 1000}
	idle := begin(t, setup{client: client, idle: true})
	h := idle.start(call.Request{Method: "POST", URL: s.URL, Body: make([]byte, 5000)}, call.Options{})
	if err := keeper.Remove(t.Context(), keeper.refs()[0]); err != nil {
		t.Fatal(err)
	}
	w := begin(t, setup{store: idle.st, client: client})
	if e := w.next().e; e == nil || e.Type != call.TypeBody || e.Attempts != 1 || e.ID != h.ID() || e.MaySent {
		t.Errorf("%+v, want body at once", e)
	}
	r := w.answer(call.Request{Method: "POST", URL: s.URL, Body: make([]byte, 5000)}, call.Options{})
	for _, ref := range keeper.refs() {
		_ = keeper.Remove(t.Context(), ref)
	}
	if _, err := r.Bytes(t.Context()); !errors.Is(err, call.ErrForgotten) {
		t.Errorf("Bytes of an answer that is gone = %v, want ErrForgotten", err)
	}
}

// What was kept for a request that is not started is let go.
func TestABodyOfNobodyIsLetGo(t *testing.T) {
	t.Parallel()
	keeper := &shelf{}
	w := begin(t, setup{idle: true, client: call.ClientConfig{Bodies: keeper, BodyThreshold: 10}})
	big := call.Request{Method: "POST", URL: "http://h.test", Body: make([]byte, 100)}
	if _, err := w.call.Start(t.Context(), w.k, big, call.Options{Delay: -1}); err == nil {
		t.Error("Start with a bad option = nil")
	}
	if n := len(keeper.refs()); n != 0 {
		t.Errorf("%d bodies are kept of requests that were not started", n)
	}
	first := w.start(big, call.Options{Key: "k"})
	second := w.start(big, call.Options{Key: "k"})
	if !second.Existed() || second.ID() != first.ID() || len(keeper.refs()) != 1 {
		t.Errorf("the second start: existed %v, %d bodies; want the first's alone", second.Existed(), len(keeper.refs()))
	}
	if _, err := w.call.Start(t.Context(), w.k, big, call.Options{Key: "k", OnConflict: "reject"}); !errors.Is(err, kernel.ErrDuplicate) || len(keeper.refs()) != 1 {
		t.Errorf("Start = %v with %d bodies", err, len(keeper.refs()))
	}
}
