package workers_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/api"
)

// The rows of a batch that is uploaded are sent as requests by the daemon, each until it is answered, also when the daemon is killed in between.
func TestUploadedRowsAreSentThoughTheDaemonDies(t *testing.T) {
	t.Parallel()
	const rows = 120
	var mu sync.Mutex
	seen := map[string]int{} // by item
	gate := make(chan struct{})
	var once sync.Once
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Item string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Idempotency-Key") == "" || r.Header.Get("X-Of") != in.Item {
			t.Errorf("a request without a body, key or header: %v %v", err, r.Header)
		}
		mu.Lock()
		seen[in.Item]++
		n := len(seen)
		mu.Unlock()
		if n == rows/3 {
			once.Do(func() { close(gate) })
		}
		if in.Item == "item-7" {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
		fmt.Fprintf(w, `{"got":%q}`, in.Item)
	}))
	defer target.Close()
	p := begin(t, engines["sqlite"](t), "--no-guard", "--slots", "batch-run=4")

	var text strings.Builder
	text.WriteString("item\n")
	for i := range rows {
		fmt.Fprintf(&text, "item-%d\n", i)
	}
	query := url.Values{"url": {target.URL + "/x"}, "body": {`{"item": {{.item}}}`}, "header": {"X-Of: {{.item}}"}, "key": {"k"}}
	var up, again api.Uploaded
	p.upload(query, text.String(), &up)
	<-gate
	p.daemon.kill()
	p.serve(strings.TrimPrefix(p.url, "http://"), "--no-guard", "--slots", "batch-run=8")
	if p.upload(query, text.String(), &again); again.ID != up.ID || !again.Existed || up.Rows != rows {
		t.Errorf("uploads = %+v and %+v, want one batch", up, again)
	}
	var s api.BatchStatus
	p.ask("GET", "/v1/batches/"+up.ID+"?wait=60", nil, &s)
	if s.State != "failed" || s.Success != rows-1 || s.Failed != 1 {
		t.Errorf("batch = %+v, want one row failed by its answer and all others good", s)
	}
	var page api.BatchRows
	p.ask("GET", "/v1/batches/"+up.ID+"/rows?state=success&limit=1", nil, &page)
	if len(page.Rows) != 1 || !strings.Contains(string(page.Rows[0].Result), `"status":200`) || !strings.Contains(string(page.Rows[0].Result), `"got":"item-0"`) {
		t.Errorf("rows = %+v, want the answer of the first", page)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != rows {
		t.Errorf("%d of %d rows were sent", len(seen), rows)
	}
}

// upload sends rows as CSV.
func (p *place) upload(query url.Values, text string, into *api.Uploaded) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.url+"/v1/batches?"+query.Encode(), strings.NewReader(text))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/csv")
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusCreated {
		p.Fatalf("upload = %d %s, %v", res.StatusCode, answer, err)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		p.Fatal(err)
	}
}
