package call_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/file"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// shelf keeps blobs in a folder.
type shelf struct {
	t     *testing.T
	store *file.Store
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	st, err := file.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{t, st}
}

// kernel is a Config with the shelf in it.
func (s *shelf) kernel(threshold int) kernel.Config {
	return kernel.Config{
		Blobs: []blob.Named{{Name: "shelf", Store: s.store}}, BlobThreshold: threshold, Slots: map[string]int{"calls": 10, "callbacks": 10},
	}
}

// keys lists what is kept.
func (s *shelf) keys() []string {
	s.t.Helper()
	page, err := s.store.List(s.t.Context(), "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	var list []string
	for _, info := range page.Items {
		list = append(list, info.Key)
	}
	return list
}

func (s *shelf) clear() {
	s.t.Helper()
	for _, key := range s.keys() {
		if err := s.store.Delete(s.t.Context(), key); err != nil {
			s.t.Fatal(err)
		}
	}
}

// PH-129, FT-26, R001-5: (payload_store_threshold) what is larger leaves the record, both ways, and is read where it is used.
func TestLargeBodiesLeaveTheRecord(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	for threshold, option := range map[int]int{64 << 10: 0, 5000: 5000} {
		keeper := newShelf(t)
		w := begin(t, setup{kernel: keeper.kernel(option)})
		small, large := bytes.Repeat([]byte("s"), threshold-1000), bytes.Repeat([]byte("l"), threshold+1)
		if r := w.answer(call.Request{Method: "POST", URL: s.URL, Body: small}, call.Options{}); !bytes.Equal(r.Body, small) || len(keeper.keys()) != 0 {
			t.Errorf("%d bytes: %d came back, kept %v; want them in the record", threshold, len(r.Body), keeper.keys())
		}
		for _, req := range []call.Request{{Body: large}, {Reader: bytes.NewReader(large)}} {
			req.Method, req.URL = "POST", s.URL
			r := w.answer(req, call.Options{})
			body, err := r.Bytes(t.Context())
			if err != nil || !bytes.Equal(body, large) || r.Body != nil || r.Size != int64(len(large)) {
				t.Errorf("%d bytes: %d came back, %v; size %d", len(large), len(body), err, r.Size)
			}
			kept := 0
			for _, key := range keeper.keys() {
				if blob.Task(key) == r.ID.String() {
					kept++
				}
			}
			if kept != 2 {
				t.Errorf("%d blobs are kept of the request, want what was sent and what came", kept)
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
	keeper := newShelf(t)
	strict := begin(t, setup{kernel: keeper.kernel(0)})
	if e := strict.failure(call.Request{URL: s.URL}, call.Options{}); e.Type != call.TypeTooLarge {
		t.Errorf("%v, want too_large", e)
	}
	w := begin(t, setup{kernel: keeper.kernel(0), client: call.ClientConfig{MaxSpill: 1 << 30}})
	r := w.answer(call.Request{URL: s.URL}, call.Options{})
	if body, err := r.Bytes(t.Context()); err != nil || len(body) != 3<<20 {
		t.Errorf("%d bytes, %v; want 3 MiB", len(body), err)
	}
	if e := w.failure(call.Request{URL: s.URL + "/bomb"}, call.Options{}); e.Type != call.TypeTooLarge {
		t.Errorf("a bomb: %v, want too_large", e)
	}
	for _, key := range keeper.keys() {
		if blob.Task(key) != r.ID.String() {
			t.Errorf("%s is left of a request that failed", key)
		}
	}
	none := begin(t, setup{client: call.ClientConfig{MaxSpill: 1 << 30}})
	if e := none.failure(call.Request{URL: s.URL}, call.Options{}); e.Type != call.TypeTooLarge {
		t.Errorf("without blobs: %v, want too_large", e)
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
	w := begin(t, setup{kernel: newShelf(t).kernel(1000)})
	if r := w.answer(call.Request{Method: "POST", URL: s.URL, Body: make([]byte, 5000)}, call.Options{}); r.Status != 200 || got.count() != 3 {
		t.Errorf("%d after %d requests", r.Status, got.count())
	}
}

// PH-131, PH-130: a body that is gone is an error that is seen, at once.
func TestABodyThatIsGoneIsAnError(t *testing.T) {
	t.Parallel()
	s := server(t, echo)
	keeper := newShelf(t)
	idle := begin(t, setup{kernel: keeper.kernel(1000), idle: true})
	h := idle.start(call.Request{Method: "POST", URL: s.URL, Body: make([]byte, 5000)}, call.Options{})
	keeper.clear()
	w := begin(t, setup{store: idle.st, kernel: keeper.kernel(1000)})
	if e := w.next().e; e == nil || e.Type != call.TypeBody || e.Attempts != 1 || e.ID != h.ID() || e.MaySent {
		t.Errorf("%+v, want body at once", e)
	}
	r := w.answer(call.Request{Method: "POST", URL: s.URL, Body: make([]byte, 5000)}, call.Options{})
	keeper.clear()
	if _, err := r.Bytes(t.Context()); !errors.Is(err, call.ErrForgotten) {
		t.Errorf("Bytes of an answer that is gone = %v, want ErrForgotten", err)
	}
}

// What was kept for a request that is not started is let go.
func TestABodyOfNobodyIsLetGo(t *testing.T) {
	t.Parallel()
	keeper := newShelf(t)
	w := begin(t, setup{idle: true, kernel: keeper.kernel(2000)})
	big := call.Request{Method: "POST", URL: "http://h.test", Body: make([]byte, 5000)}
	if _, err := w.call.Start(t.Context(), w.k, big, call.Options{Delay: -1}); err == nil {
		t.Error("Start with a bad option = nil")
	}
	if n := len(keeper.keys()); n != 0 {
		t.Errorf("%d bodies are kept of requests that were not started", n)
	}
	first := w.start(big, call.Options{Key: "k"})
	second := w.start(big, call.Options{Key: "k"})
	if !second.Existed() || second.ID() != first.ID() || len(keeper.keys()) != 1 {
		t.Errorf("the second start: existed %v, %d bodies; want the first's alone", second.Existed(), len(keeper.keys()))
	}
	if _, err := w.call.Start(t.Context(), w.k, big, call.Options{Key: "k", OnConflict: "reject"}); !errors.Is(err, kernel.ErrDuplicate) || len(keeper.keys()) != 1 {
		t.Errorf("Start = %v with %d bodies", err, len(keeper.keys()))
	}
}
