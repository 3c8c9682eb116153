package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/instore"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/web"
)

// evilName would leave its place in a page, a header or a folder.
const evilName = "<img src=x onerror=alert(1)>\x7f..\\\"é.html"

var lists = batch.Define("lists", batch.Processor[struct{}, int, string]{
	Row: func(_ context.Context, _ struct{}, row batch.Row[int]) (batch.Result[string], error) {
		return batch.Result[string]{Files: map[string]string{"odd & even.csv": fmt.Sprint(row.Input, ",ok"), evilName: "<script>alert(1)</script>"}}, nil
	},
}, batch.Config{Files: true})

// withFiles is a kernel that has run a batch of a thousand rows with two files.
func withFiles(t *testing.T, cfg kernel.Config, kept bool) (*kernel.Kernel, kernel.ID) {
	t.Helper()
	st := memory.New(memory.Config{})
	if kept {
		blobs, err := instore.New(st)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Blobs = []blob.Named{{Name: "blobs", Store: blobs}}
	}
	k := kerneltest.New(t, st, cfg)
	lists.Serve(k)
	kerneltest.Run(t, k)
	var rows []int
	for i := range 1000 {
		rows = append(rows, i)
	}
	h, err := lists.Submit(t.Context(), k, batch.Inputs(rows...), batch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := h.Wait(t.Context()); err != nil || s.State != batch.Success {
		t.Fatalf("the batch is %+v, %v", s, err)
	}
	return k, h.ID()
}

// fetch gets a file.
func (s *site) fetch(method string, id kernel.ID, name string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+"/file/"+id.String()+"?name="+url.QueryEscape(name), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(data)
}

func TestFilesOfABatchAreDownloads(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		k, id := withFiles(t, kernel.Config{}, kept)
		s := open(t, k, web.Config{ReadOnly: true})
		body := s.get("/batch/" + id.String())
		if !strings.Contains(body, `/file/`+id.String()+`?name=odd&#43;%26&#43;even.csv" download>odd &amp; even.csv</a>`) || strings.Contains(body, "<img") {
			t.Errorf("kept %v: the page does not offer the files, or not as text:\n%s", kept, body)
		}
		resp, text := s.fetch(http.MethodGet, id, "odd & even.csv")
		if resp.StatusCode != http.StatusOK || !strings.HasPrefix(text, "0,ok\n1,ok\n") || !strings.HasSuffix(text, "\n999,ok\n") || resp.ContentLength != int64(len(text)) {
			t.Errorf("kept %v: the file is %d, %d bytes of %d", kept, resp.StatusCode, len(text), resp.ContentLength)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/csv; charset=utf-8", "Content-Disposition": `attachment; filename="odd & even.csv"`, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		resp, text = s.fetch(http.MethodGet, id, evilName)
		if got := resp.Header.Get("Content-Type"); got != "application/octet-stream" || !strings.HasPrefix(text, "<script>") {
			t.Errorf("a page as a file is %q, %.40q", got, text)
		}
		if got := resp.Header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; filename*=utf-8''") || strings.ContainsAny(got, "<>\\\"") || strings.Contains(got, "%5C") {
			t.Errorf("its name is sent as %q", got)
		}
		if resp, text := s.fetch(http.MethodHead, id, "odd & even.csv"); resp.StatusCode != http.StatusOK || text != "" || resp.ContentLength == 0 {
			t.Errorf("HEAD = %d, %q, %d", resp.StatusCode, text, resp.ContentLength)
		}
		if resp, _ := s.fetch(http.MethodGet, id, "none"); resp.StatusCode != http.StatusNotFound {
			t.Errorf("a file that is not there = %d", resp.StatusCode)
		}
		if resp, _ := s.fetch(http.MethodGet, k.NewID(), "none"); resp.StatusCode != http.StatusNotFound {
			t.Errorf("a file of no batch = %d", resp.StatusCode)
		}
	}
}

func TestADownloadIsAuthorizedAndAudited(t *testing.T) {
	t.Parallel()
	k, id := withFiles(t, kernel.Config{}, true)
	var mu sync.Mutex
	var lines []web.AuditLine
	s := open(t, k, web.Config{
		Authorize: func(_ *http.Request, a web.Action) error {
			if a.Verb == web.Download && a.Target[1] == "odd & even.csv" {
				return errors.New("not for you")
			}
			return nil
		},
		Audit: func(_ context.Context, l web.AuditLine) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, l)
		},
	})
	if resp, text := s.fetch(http.MethodGet, id, "odd & even.csv"); resp.StatusCode != http.StatusForbidden || !strings.Contains(text, "not for you") {
		t.Errorf("the file = %d, %.60q", resp.StatusCode, text)
	}
	if resp, _ := s.fetch(http.MethodGet, id, evilName); resp.StatusCode != http.StatusOK {
		t.Errorf("the other file = %d", resp.StatusCode)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lines) != 2 || lines[0].Err == nil || lines[1].Err != nil || lines[1].Action.Verb != web.Download || lines[0].At.IsZero() {
		t.Errorf("the audit is %+v, want one that was refused and one that was not", lines)
	}
}

func TestFilesOfASealedBatchStaySealed(t *testing.T) {
	t.Parallel()
	k, id := withFiles(t, kernel.Config{Sealer: mirror{}}, true)
	s := open(t, k, web.Config{})
	if resp, text := s.fetch(http.MethodGet, id, "odd & even.csv"); resp.StatusCode != http.StatusForbidden || strings.Contains(text, ",ok") {
		t.Errorf("a file of a sealed batch = %d, %.60q", resp.StatusCode, text)
	}
	if body := s.get("/batch/" + id.String()); strings.Contains(body, "/file/") || !strings.Contains(body, "sealed") {
		t.Errorf("the page offers files of a sealed batch:\n%s", body)
	}
	if resp, text := open(t, k, web.Config{Reveal: true}).fetch(http.MethodGet, id, "odd & even.csv"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(text, "0,ok") {
		t.Errorf("revealed it = %d, %.60q", resp.StatusCode, text)
	}
}
