package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/test/servers"
)

// Variables by which a process of this test learns what it is.
const (
	envRole  = "OUTLAST_ENDPOINTS_ROLE"
	envStore = "OUTLAST_ENDPOINTS_STORE"
	envAddr  = "OUTLAST_ENDPOINTS_ADDR"
)

// TestMain runs the tests, or, in a process that they started, a server or a worker.
func TestMain(m *testing.M) {
	role := os.Getenv(envRole)
	if role == "" {
		code := m.Run()
		servers.EndShared()
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := runRole(ctx, role)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
}

// Echoes takes a moment and gives back what it was given.
var Echoes = endpoint.Define("echoes", func(ctx context.Context, in endpoint.Request[Order]) (Order, error) {
	timer := time.NewTimer(time.Duration(rand.IntN(20)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return in.Body, nil
	case <-ctx.Done():
		return Order{}, context.Cause(ctx)
	}
})

func runRole(ctx context.Context, role string) error {
	st, err := engine.Open(ctx, os.Getenv(envStore))
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	k, err := kernel.New(st, kernel.Config{
		Slots: map[string]int{"default": 20}, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer k.Close()
	if role == "work" {
		Echoes.Serve(k)
		return k.Run(ctx)
	}
	mux := http.NewServeMux()
	mux.Handle("POST /echoes", Echoes.Handler(k, endpoint.Config{MaxWaiting: 100}))
	mux.Handle("/tasks/", endpoint.Status(k, endpoint.Site{}))
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", os.Getenv(envAddr))
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { <-ctx.Done(); _ = srv.Close() })
	err = srv.Serve(l)
	serving.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// troupe is the processes of one crash test.
type troupe struct {
	t     *testing.T
	store string
	addr  string

	group sync.WaitGroup
	mu    sync.Mutex
	procs map[string]*exec.Cmd // by name
	kills map[string]int       // by role
	over  bool
}

// start starts a process under a name, and starts it again whenever it is killed.
func (tr *troupe) start(name, role string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.over {
		return
	}
	cmd := exec.CommandContext(context.Background(), os.Args[0]) //nolint:gosec // ourselves
	cmd.Env = append(os.Environ(), envRole+"="+role, envStore+"="+tr.store, envAddr+"="+tr.addr)
	cmd.Stderr = tr.t.Output()
	if err := cmd.Start(); err != nil {
		tr.t.Errorf("start %s: %v", name, err)
		return
	}
	tr.procs[name] = cmd
	tr.group.Go(func() {
		_ = cmd.Wait() // killed by us
		tr.start(name, role)
	})
}

// kill ends one process of a role as a failing machine would.
func (tr *troupe) kill(role string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var able []*exec.Cmd
	for name, cmd := range tr.procs {
		if strings.HasPrefix(name, role) {
			able = append(able, cmd)
		}
	}
	if err := able[rand.IntN(len(able))].Process.Kill(); err == nil {
		tr.kills[role]++
	}
}

// end kills all, and waits.
func (tr *troupe) end() {
	tr.mu.Lock()
	tr.over = true
	for _, cmd := range tr.procs {
		_ = cmd.Process.Kill() // it may be on its way
	}
	tr.mu.Unlock()
	tr.group.Wait()
}

// freeAddr returns an address on which a server can come back after it was killed.
func freeAddr(t *testing.T) string {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
