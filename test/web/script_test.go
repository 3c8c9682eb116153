package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/web"
)

// scripts would run if a page took them for anything but text: in an element, an attribute, a URL, a style, a script, an event of SSE.
var scripts = []string{
	`<script>window.__xss=1;alert(1)</script>`,
	`"><img src=x onerror="window.__xss=1;alert(1)">`,
	`'><svg onload='window.__xss=1'>`,
	`"onfocus="window.__xss=1"autofocus x="`,
	`javascript:window.__xss=1//`,
	`</title></textarea></style></script><script>window.__xss=1</script>`,
	`{{.}}<iframe srcdoc="<script>parent.__xss=1</script>">`,
	`<a href="javascript:window.__xss=1" style="position:fixed;inset:0">x</a>`,
	"\n\ndata: \"<img src=x onerror=window.__xss=1>\"\n\n",
	`<meta http-equiv="refresh" content="0;url=javascript:window.__xss=1">`,
	`<base href="https://evil.example/"><form action="https://evil.example/"><button>x`,
	"\u2028<details open ontoggle=window.__xss=1>",
	`<math><mtext><table><mglyph><style><img src=x onerror=window.__xss=1>`,
}

// carriers are tasks whose every field is a script.
type carriers struct {
	k      *kernel.Kernel
	url    string
	places []string
}

func newCarriers(t *testing.T) *carriers {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "x.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	k, err := kernel.New(st, kernel.Config{
		Version: scripts[0], Logger: slog.New(slog.DiscardHandler), ShutdownTimeout: -1,
		Slots: map[string]int{"default": 50},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &carriers{k: k}
	def := c.serve()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		k.Close()
	})
	c.fill(t, def)
	srv := httptest.NewServer(web.Handler(k, web.Config{
		Title: scripts[0], Sagas: []saga.Outline{def.Outline()}, Who: func(*http.Request) string { return scripts[1] }, Every: 200 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	c.url = srv.URL
	return c
}

var evil = batch.Define("evil", batch.Processor[struct{}, string, string]{
	Row: func(_ context.Context, _ struct{}, row batch.Row[string]) (batch.Result[string], error) {
		if name := plainKey(row.Input); row.Line%2 == 0 {
			return batch.Result[string]{Files: map[string]string{name: row.Input}, Failed: true, Messages: []batch.Message{{Code: name, Field: name, Vals: []string{row.Input}}}}, nil
		}
		return batch.Result[string]{}, batch.Permanent(errors.New(row.Input))
	},
}, batch.Config{Files: true})

// plainKey is what of a text a key or a name may hold.
func plainKey(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x2028 {
			return -1
		}
		return r
	}, text)
}

// serve says what runs: what carries a script ends as its args say.
func (c *carriers) serve() *saga.Def[string, string] {
	c.k.Handle("job.fail", func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		text := string(r.Task().Args)
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("type", errors.New(text)))
	})
	c.k.Handle("job.hold", func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		return kernel.Hold(string(r.Task().Args)), nil
	})
	c.k.Handle("job.run", func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		text := string(r.Task().Args)
		r.Progress(1, 2, text)
		if err := r.Save(ctx, map[string][]byte{"entry": []byte(text)}); err != nil {
			return kernel.Outcome{}, err
		}
		<-ctx.Done()
		return kernel.Outcome{}, context.Cause(ctx)
	})
	c.k.Handle("job.done", func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		return kernel.Done(r.Task().Args), nil
	})
	def := saga.Define("evil", func(b *saga.Builder[string]) *saga.Node[string] {
		first := saga.Step1(b, "first", func(_ context.Context, s string) (string, error) { return s, nil }, b.In()).
			Undo(func(_ context.Context, s string) error { return saga.Permanent(errors.New(s)) })
		return saga.Step1(b, "second", func(_ context.Context, s string) (string, error) { return "", saga.Permanent(errors.New(s)) }, first)
	})
	def.Serve(c.k)
	evil.Serve(c.k)
	return def
}

// fill puts each script into every field that takes it.
func (c *carriers) fill(t *testing.T, def *saga.Def[string, string]) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	see := func(where ...string) { c.places = append(c.places, where...) }
	for _, x := range scripts {
		key := plainKey(x)
		for _, kind := range []string{"job.fail", "job.hold", "job.run", "job.done"} {
			got, err := c.k.Submit(ctx, kernel.Spec{
				Kind: kind, Args: []byte(x), Labels: map[string]string{"label": key}, Correlation: key, Trace: key, Unique: kernel.Unique{Key: key}, Retry: kernel.Retry{Max: 1},
			})
			must(err)
			see("/task/" + got.ID.String())
		}
		quoted, err := json.Marshal(map[string]string{x: x, "url": "https://user:" + x + "@h/"})
		must(err)
		got, err := c.k.Submit(ctx, kernel.Spec{Kind: "job.waits", Queue: "nobody", Lane: key, Limit: key, Args: quoted})
		must(err)
		_, err = c.k.Send(ctx, kernel.Message{Task: got.ID, Name: "message", Body: []byte(x)})
		must(err)
		_, err = c.k.PutLimit(ctx, kernel.Limit{Key: key, Running: 1})
		must(err)
		must(c.k.Pause(ctx, kernel.Scope{Queue: "nobody", Lane: key}, 0, x))
		see("/task/"+got.ID.String(), "/tasks?label="+url.QueryEscape("label="+key), "/tasks?kind="+url.QueryEscape(x), "/tasks?worker="+url.QueryEscape(x),
			"/queue/"+url.PathEscape(key), "/dead?cause="+url.QueryEscape(x), "/tasks?label="+url.QueryEscape(x))
		h, err := def.Start(ctx, c.k, x, saga.Options{})
		must(err)
		see("/saga/" + h.ID().String())
	}
	b, err := evil.Submit(ctx, c.k, batch.Inputs(slices.Concat(scripts, scripts)...), batch.Options{Labels: map[string]string{"label": plainKey(scripts[1])}})
	must(err)
	_, err = b.Wait(ctx)
	must(err)
	see("/", "/tasks", "/tasks?state=failed", "/tasks?state=held", "/tasks?state=running", "/queues", "/queue/nobody", "/workers", "/dead", "/sagas", "/batches",
		"/batch/"+b.ID().String(), "/calls", "/endpoints", "/schedules")
}

// Whatever a task carries is text on every page: no script runs, and the policy, which would stop one, has nothing to say. Hard.
func TestNothingThatATaskCarriesRuns(t *testing.T) {
	c := newCarriers(t)
	b := openBrowser(t)
	for _, where := range c.places {
		b.open(c.url + where)
		if n := eval[int](b, `document.querySelectorAll("main img, main iframe, main script, main style, main base, main math, [onerror], [onload], [onfocus], [ontoggle], a[href^='javascript:'], [style]").length`); n != 0 {
			t.Errorf("%s: %d elements are there that a task carried", where, n)
		}
		b.quiet(where)
	}
	// The same once it comes by the line to the server, into a page that is open.
	b.open(c.url + "/tasks?state=failed")
	b.until("the page listens", `document.getElementById("live").textContent === "live"`)
	for i, x := range scripts {
		if _, err := c.k.Submit(t.Context(), kernel.Spec{Kind: "job.fail", Args: fmt.Appendf(nil, "%s", x), Labels: map[string]string{"n": fmt.Sprint(i)}, Retry: kernel.Retry{Max: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	b.until("all of them are there", fmt.Sprintf(`document.querySelectorAll("tbody tr").length >= %d`, 2*len(scripts)))
	b.quiet("live")
}

// The watch must be able to see: a page with a script in it is found out, and the policy stops it.
func TestTheWatchSeesWhatRuns(t *testing.T) {
	for name, head := range map[string]string{"policy": "default-src 'none'", "none": ""} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if head != "" {
				w.Header().Set("Content-Security-Policy", head)
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<html><body><main><h3>skips</h3><button></button><input><p style="color:#ccc;background:#fff">pale</p>%s</main></body></html>`, scripts[1])
		}))
		b := openBrowser(t)
		b.open(srv.URL)
		b.until("something was seen", `window.__trouble.length > 0 || window.__xss !== undefined`)
		if ran := eval[bool](b, `window.__xss !== undefined`); ran != (name == "none") {
			t.Errorf("with %s the script has run: %v", name, ran)
		}
		if name == "none" {
			found := strings.Join(eval[[]string](b, `document.head.insertAdjacentHTML("beforeend", '<meta name="viewport" content="width=device-width">'), `+accessible), "\n")
			for _, want := range []string{"no language", "no title", "not exactly one h1", "skips a level", "has no name", "has no label", "contrast", "no alt"} {
				if !strings.Contains(found, want) {
					t.Errorf("the check of accessibility does not find %q in\n%s", want, found)
				}
			}
		}
		srv.Close()
	}
}
