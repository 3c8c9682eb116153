package web

import (
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

//go:embed static/*
var static embed.FS

// policy lets a page load what stands beside it, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

type handler struct {
	k     *kernel.Kernel
	cfg   Config
	guard *http.CrossOriginProtection
	reads reads
	pages map[string]pageFunc
}

// Handler returns the dashboard of a kernel, which need not be run. It panics if a TrustedOrigin is none.
func Handler(k *kernel.Kernel, cfg Config) http.Handler {
	h := &handler{k: k, cfg: cfg.withDefaults(), guard: http.NewCrossOriginProtection()}
	for _, origin := range cfg.TrustedOrigins {
		if err := h.guard.AddTrustedOrigin(origin); err != nil {
			panic("web: TrustedOrigins: " + err.Error())
		}
	}
	h.reads.k = k
	h.pages = map[string]pageFunc{
		"": overviewPage, "queues": queuesPage, "queue": queuePage, "tasks": tasksPage, "task": taskPage, "workers": workersPage, "dead": deadPage,
		"calls": callsPage, "batches": batchesPage, "batch": batchPage, "endpoints": endpointsPage, "sagas": sagasPage, "saga": sagaPage,
		"schedules": schedulesPage,
	}
	return h
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "same-origin")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	base, where := h.place(r)
	if file, ok := strings.CutPrefix(where, "static/"); ok {
		serveStatic(w, r, file)
		return
	}
	head.Set("Cache-Control", "no-store")
	q := &request{h: h, r: r, base: base, where: where}
	switch {
	case r.Method == http.MethodPost:
		if err := h.guard.Check(r); err != nil {
			q.fail(w, http.StatusForbidden, errors.New("this request came from another site, and was refused"))
			return
		}
		q.post(r.Context(), w)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD, POST")
		q.fail(w, http.StatusMethodNotAllowed, errors.New("use GET or POST"))
	case strings.HasPrefix(where, "file/"):
		q.file(r.Context(), w)
	case where == "live":
		q.live(r.Context(), w)
	default:
		q.show(r.Context(), w)
	}
}

// place tells the prefix that links need, and the path below it.
func (h *handler) place(r *http.Request) (base, where string) {
	full := r.URL.Path
	if h.cfg.Base != "" {
		if rest, ok := strings.CutPrefix(full, h.cfg.Base); ok && (rest == "" || rest[0] == '/') {
			full = rest
		}
		return h.cfg.Base, strings.Trim(full, "/")
	}
	// http.StripPrefix has taken away what the request line still has.
	if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
		if rest, ok := strings.CutSuffix(u.Path, full); ok {
			base = strings.TrimSuffix(rest, "/")
		}
	}
	return base, strings.Trim(full, "/")
}

func serveStatic(w http.ResponseWriter, r *http.Request, file string) {
	data, err := fs.ReadFile(static, path.Join("static", path.Clean("/"+file)))
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(file)]
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable") // their names in pages carry a sum of what is in them
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(data)))
}
