//go:build unix

package turns

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/test/servers"
)

// slots is how many the one process runs at once.
const slots = 4

// backlog is how many tasks the big tenant has: TURNS_BACKLOG.
func backlog(t *testing.T) int {
	text := os.Getenv("TURNS_BACKLOG")
	if text == "" {
		return 20_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 {
		t.Fatalf("TURNS_BACKLOG is %q, want a number from 1000 on", text)
	}
	return n
}

func TestTenantsTakeTurnsOnSQLite(t *testing.T) {
	fair(t, "sqlite:"+filepath.Join(t.TempDir(), "fair.db"))
}

func TestTenantsTakeTurnsOnPostgres(t *testing.T) { fair(t, servers.StartPostgres(t).URL()) }

func TestTenantsTakeTurnsOnRedis(t *testing.T) {
	fair(t, servers.NewRedis(t, servers.RedisConfig{}).URL())
}

// starts is what somebody sees who stands beside the handlers: whose task started, one after the other.
type starts struct {
	mu   sync.Mutex
	of   []string
	want int
	met  chan struct{}
}

func (s *starts) note(lane string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of = append(s.of, lane); len(s.of) == s.want {
		close(s.met)
	}
}

// seen is all that has started so far.
func (s *starts) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.of)
}

// until lets the process run until so many have started in all. It returns what has.
func (s *starts) until(t *testing.T, n int) []string {
	t.Helper()
	met := make(chan struct{})
	s.mu.Lock()
	s.want, s.met = n, met
	if len(s.of) >= n {
		close(met)
	}
	s.mu.Unlock()
	select {
	case <-met:
	case <-t.Context().Done():
		t.Fatal("it took too long")
	}
	return s.seen()
}

// fair lets a tenant with very many tasks and one with ten share a process. It judges by who started when, in numbers of starts.
func fair(t *testing.T, url string) {
	st, err := engine.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	k, err := kernel.New(st, kernel.Config{Slots: map[string]int{"default": slots, "weighted": slots}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	seen := map[string]*starts{"share": {}, "weight": {}}
	for kind, s := range seen {
		k.Handle(kind, func(_ context.Context, run *kernel.Run) (kernel.Outcome, error) {
			s.note(run.Task().Lane)
			return kernel.Done(nil), nil
		})
	}
	submitLane(t, k, kernel.Spec{Kind: "share", Lane: "big"}, backlog(t))
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if err := k.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
	defer group.Wait()
	defer stop()
	judgeShare(t, k, seen["share"])
	judgeWeight(t, k, seen["weight"])
}

func submitLane(t *testing.T, k *kernel.Kernel, spec kernel.Spec, n int) {
	t.Helper()
	for from := 0; from < n; from += 1000 {
		if _, err := k.SubmitMany(t.Context(), slices.Repeat([]kernel.Spec{spec}, min(1000, n-from))); err != nil {
			t.Fatal(err)
		}
	}
}

// judgeShare submits ten tasks beside the many: each of them waits for one of the big tenant at most, and the last for what runs already.
func judgeShare(t *testing.T, k *kernel.Kernel, s *starts) {
	const few = 10
	s.until(t, 100)
	submitLane(t, k, kernel.Spec{Kind: "share", Lane: "small"}, few)
	at := len(s.seen())
	most := few + 2*slots // of the big tenant: one for each, and what was claimed before
	list := s.until(t, at+few+most)
	small, big := 0, 0
	for _, lane := range list[:at] {
		if lane == "small" {
			small++ // between its commit and the answer
		}
	}
	for _, lane := range list[at:] {
		if small == few {
			break
		}
		if lane == "small" {
			small++
		} else {
			big++
		}
	}
	if small < few || big > most {
		t.Errorf("%d of %d had started after %d of a backlog of %d, want all after %d at most", small, few, big, backlog(t), most)
	}
	t.Logf("the last of %d started after %d of a backlog of %d", few, big, backlog(t))
}

// judgeWeight gives one tenant weight 3 beside one of weight 1.
func judgeWeight(t *testing.T, k *kernel.Kernel, s *starts) {
	const n, share = 400, 300
	if err := k.PutWeight(t.Context(), "weighted", "three", 3); err != nil {
		t.Fatal(err)
	}
	if err := k.Pause(t.Context(), kernel.Scope{Queue: "weighted"}, 0, "until all are there"); err != nil {
		t.Fatal(err)
	}
	submitLane(t, k, kernel.Spec{Kind: "weight", Queue: "weighted", Lane: "one"}, n)
	submitLane(t, k, kernel.Spec{Kind: "weight", Queue: "weighted", Lane: "three"}, n)
	if err := k.Resume(t.Context(), kernel.Scope{Queue: "weighted"}); err != nil {
		t.Fatal(err)
	}
	list := s.until(t, n)[:n]
	got := 0
	for _, lane := range list {
		if lane == "three" {
			got++
		}
	}
	if got < share-2*slots || got > share+2*slots {
		t.Errorf("a tenant of weight 3 beside one of weight 1 had %d of %d starts, want %d or some more or less", got, n, share)
	}
	t.Logf("weight 3 beside weight 1: %d of %d starts", got, n)
}
