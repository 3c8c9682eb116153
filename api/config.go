package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
)

// Config sets up a Server. Its zero value works, for a single namespace and without tokens.
type Config struct {
	// Tokens say who may do what. Default nil: everybody who asks a loopback address may do everything.
	Tokens *Tokens
	// Open lets everybody do everything from wherever they ask, without tokens. Default: not.
	Open bool
	// Spaces are further namespaces, by name. A token that names one sees nothing else. Default: none.
	Spaces map[string]Space
	// Calls makes the calls of POST /v1/calls. Default nil: there are none.
	Calls *Calls
	// Recipes send the requests of batches whose rows are requests. Default nil: there are none.
	Recipes Recipes

	// MaxBody bounds a request, in bytes. Default 8 MiB.
	MaxBody int64
	// MaxUpload bounds the rows of a batch, in bytes. Default 1 GiB.
	MaxUpload int64
	// MaxWait bounds how long a request may wait for something. Default 60 s.
	MaxWait time.Duration
	// StoreTimeout is how long a request waits for a store that does not answer. Default 15 s.
	StoreTimeout time.Duration
	// Rate is how many requests per second one token, or one address without one, may make; twice as many at once. Default 0: no bound.
	Rate float64
	// Heartbeat is how often a silent stream of events says that it is there. Default 15 s.
	Heartbeat time.Duration
	// Version of the program, for /v1/info. Default: empty.
	Version string
	// Logger takes what the server has to say. Default: slog.Default.
	Logger *slog.Logger
}

// Space is a namespace: its kernel, and what makes its calls, if there is something.
type Space struct {
	Kernel  *kernel.Kernel
	Calls   *Calls
	Recipes Recipes
}

func (c Config) withDefaults() Config {
	if c.MaxBody <= 0 {
		c.MaxBody = 8 << 20
	}
	if c.MaxUpload <= 0 {
		c.MaxUpload = 1 << 30
	}
	if c.MaxWait <= 0 {
		c.MaxWait = time.Minute
	}
	if c.StoreTimeout <= 0 {
		c.StoreTimeout = 15 * time.Second
	}
	if c.Heartbeat <= 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Server answers requests. Make one with New.
type Server struct {
	k       *kernel.Kernel
	cfg     Config
	log     *slog.Logger
	mux     *http.ServeMux
	limiter *limiter
	events  *board

	counters *counters
}

// New makes a server on a kernel, which may run or not. It starts nothing.
func New(k *kernel.Kernel, cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{k: k, cfg: cfg, log: cfg.Logger, mux: http.NewServeMux(), limiter: newLimiter(), events: newBoard(), counters: newCounters()}
	for _, r := range routes() {
		s.mux.Handle(r.method+" "+r.path, s.serve(r))
	}
	s.mux.Handle("/", http.HandlerFunc(s.lost))
	return s
}

// ServeHTTP answers what is below /v1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// lost answers what no route does.
func (s *Server) lost(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "/" && pattern != "" {
			w.Header().Add("Allow", method)
		}
	}
	if w.Header().Get("Allow") != "" {
		write(w, problem(http.StatusMethodNotAllowed, "bad_method", "%s is not for this path", r.Method))
		return
	}
	write(w, problem(http.StatusNotFound, "no_path", "there is no such path; /v1/openapi.json lists what there is"))
}

// problem makes a refusal.
func problem(status int, code, format string, args ...any) *endpoint.Problem {
	return &endpoint.Problem{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}
