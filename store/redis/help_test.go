package redis_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// logged keeps what a store logs.
type logged struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *logged) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

func (l *logged) count(what string) int { return strings.Count(l.text(), what) }

// background runs fn beside the test; the function it returns waits for its end.
func background(t *testing.T, fn func()) (wait func()) {
	t.Helper()
	var g sync.WaitGroup
	g.Go(fn)
	return g.Wait
}
