//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

func TestWhatWasAcceptedSurvivesKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kill.db")
	var accepted []store.ID
	for round := range 5 {
		c := startChild(t, "submit", path)
		for range 20 + 13*round {
			accepted = append(accepted, ids(t, c.line())...)
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for line := c.line(); line != ""; line = c.line() { // what it said before it died counts, too
			accepted = append(accepted, ids(t, line)...)
		}
	}
	s := mustOpen(t, path)
	for _, id := range accepted {
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Errorf("Get of an accepted task = %v, want no error", err)
		}
	}
	findings, err := fsck.Check(t.Context(), s)
	if err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v, want nothing", findings, err)
	}
}

func TestProcessesThatStartAtOnceMigrateOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	var list []*child
	for range 6 {
		list = append(list, startChild(t, "open", path))
	}
	for _, c := range list {
		if line := c.line(); line != "open" {
			t.Errorf("a child that opens = %q, want open", line)
		}
	}
	mustOpen(t, path)
}

func TestAKilledProcessIsProvedDead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "proof.db")
	s := mustOpen(t, path)
	spec := newSpec()
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{spec}}); err != nil {
		t.Fatal(err)
	}
	c := startChild(t, "hold", path)
	if line := c.line(); line != "holds 1" {
		t.Fatalf("the child = %q, want holds 1", line)
	}
	res, err := s.Recover(t.Context(), store.RecoverRequest{Force: true})
	if err != nil || len(res.Dead) != 0 {
		t.Fatalf("Recover while the process lives = %v dead, %v, want none", res.Dead, err)
	}
	c.kill()
	res, err = s.Recover(t.Context(), store.RecoverRequest{Force: true})
	if err != nil || len(res.Dead) != 1 || res.Dead[0].Death != store.DeathProof {
		t.Fatalf("Recover after the kill = %+v, %v, want one dead by proof", res.Dead, err)
	}
	if got, err := s.Get(t.Context(), spec.ID); err != nil || got.State != store.Ready || got.Crashes != 1 {
		t.Errorf("its task is %s with %d crashes, %v, want ready with one", got.State, got.Crashes, err)
	}
}

func TestAStalledWriterHoldsUpOnlyThoseWhoWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stall.db")
	s := mustOpen(t, path)
	c := startChild(t, "stall", path)
	if line := c.line(); line != "stalls" {
		t.Fatalf("the child = %q, want stalls", line)
	}
	if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Submit(ctx, store.SubmitRequest{Specs: []store.Spec{newSpec()}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Submit while another process holds the file = %v, want the end of its context", err)
	}
	if _, err := s.Queues(t.Context()); err != nil {
		t.Errorf("a read meanwhile = %v, want no error", err)
	}
	accepted := make(chan error, 1)
	spec := newSpec()
	done := inBackground(t, func() {
		_, err := s.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{spec}})
		accepted <- err
	})
	c.kill()
	if err := <-accepted; err != nil {
		t.Errorf("Submit of one who waits = %v, want no error", err)
	}
	done()
}

func TestAnotherProcessIsWoken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wake.db")
	s := mustOpen(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	notices := make(chan store.Notice, 64)
	done := inBackground(t, func() {
		_ = s.Watch(ctx, "", []string{"q"}, func(n store.Notice) {
			select {
			case notices <- n:
			default:
			}
		})
	})
	if n := <-notices; n.Kind != store.NoticeStart {
		t.Errorf("the first notice = %+v, want start", n)
	}
	startChild(t, "submit", path)
	select {
	case n := <-notices:
		if n.Kind != store.NoticeWork || n.Queue != "q" {
			t.Errorf("the notice = %+v, want work in q", n)
		}
	case <-time.After(10 * time.Second):
		t.Error("no notice came from another process")
	}
	cancel()
	done()
}
