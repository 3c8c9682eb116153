//go:build unix

package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

// A process that is stopped in the middle of a commit keeps everybody from writing. The living must not look dead for that.
func TestABeatWaitsForNoWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "beat.db")
	s, other := mustOpen(t, path), mustOpen(t, path)
	if err := join(t.Context(), s, "w"); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "stall", path)
	if line := c.line(); line != "stalls" {
		t.Fatalf("the child = %q, want stalls", line)
	}
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	load := store.Load{State: "running", Running: 3}
	if _, err := s.Beat(ctx, store.BeatRequest{Worker: "w", Load: load}); err != nil {
		t.Errorf("Beat while another process holds the file = %v, want no error", err)
	}
	if got := workerNamed(t, other, "w"); got.Load != load {
		t.Errorf("its load, as another handle sees it, = %+v, want %+v", got.Load, load)
	}
	c.kill()
}

func workerNamed(t *testing.T, s *sqlite.Store, id string) store.Worker {
	t.Helper()
	list, err := s.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range list {
		if w.ID == id {
			return w
		}
	}
	t.Fatalf("Workers = %+v, want %s among them", list, id)
	return store.Worker{}
}

func TestALockFileThatWasRemovedComesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "removed.db")
	s, other := mustOpen(t, path), mustOpen(t, path)
	if err := join(t.Context(), s, "w"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path + ".workers"); err != nil {
		t.Fatal(err)
	}
	if res, err := other.Recover(t.Context(), store.RecoverRequest{Force: true}); err != nil || len(res.Dead) != 0 {
		t.Fatalf("Recover without the file = %v, %v, want nobody dead", res.Dead, err)
	}
	if _, err := s.Beat(t.Context(), store.BeatRequest{Worker: "w"}); err != nil {
		t.Fatalf("Beat = %v, want no error", err)
	}
	if res, err := other.Recover(t.Context(), store.RecoverRequest{Force: true}); err != nil || len(res.Dead) != 0 {
		t.Fatalf("Recover after a beat = %v, %v, want nobody dead", res.Dead, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	res, err := other.Recover(t.Context(), store.RecoverRequest{Force: true})
	if err != nil || len(res.Dead) != 1 || res.Dead[0].Death != store.DeathProof {
		t.Errorf("Recover after its end = %+v, %v, want one dead by proof", res.Dead, err)
	}
}

func TestAFileThatMakesNoSenseIsNoDeath(t *testing.T) {
	t.Parallel()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "torn.db"), timing: store.Timing{}.WithDefaults(), now: time.Unix(1e9, 0)}
	s, other := w.open(t), w.open(t)
	for _, id := range []string{"torn", "whole"} {
		if err := join(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
	}
	live := func(seconds int) (dead []store.Worker) {
		for range seconds {
			w.Pass(time.Second)
			if _, err := s.Beat(t.Context(), store.BeatRequest{Worker: "whole"}); err != nil {
				t.Fatal(err)
			}
			res, err := other.Recover(t.Context(), store.RecoverRequest{Force: true})
			if err != nil {
				t.Fatal(err)
			}
			dead = append(dead, res.Dead...)
		}
		return dead
	}
	live(10)
	file := filepath.Join(w.path+".workers", store.DeriveID("worker", "torn").String()+".lock")
	writeFile(t, file, "half of two writes")
	if dead := live(14); len(dead) != 0 {
		t.Errorf("dead = %+v, want nobody: its silence began when the file was first seen so", dead)
	}
	if dead := live(2); len(dead) != 1 || dead[0].ID != "torn" || dead[0].Death != store.DeathSilence {
		t.Errorf("dead = %+v, want torn by silence", dead)
	}
}
