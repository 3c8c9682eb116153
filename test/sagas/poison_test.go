//go:build unix

package sagas

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// poison is a saga whose second step kills its process until it is cured.
func poison(dir string, async bool) *saga.Def[string, string] {
	return saga.Define("poison", func(b *saga.Builder[string]) *saga.Node[string] {
		a := saga.Step1(b, "a", func(ctx context.Context, s string) (string, error) { return s + "a", effect(ctx, dir, "a") }, b.In()).
			Undo(func(ctx context.Context, _ string) error { return effect(ctx, dir, "undo-a") })
		p := saga.Step1(b, "poison", func(ctx context.Context, s string) (string, error) {
			if _, err := os.Stat(filepath.Join(dir, "cured")); err == nil {
				return s + "p", nil
			}
			if err := effect(ctx, dir, "poison"); err != nil {
				return "", err
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}, a).Compensate(func(ctx context.Context, f saga.Failure) error {
			return effect(ctx, dir, "compensate-poison-"+string(f.Outcome))
		})
		if async {
			p.Async("one")
		}
		return p
	})
}

// beside is a saga that has nothing to do with it.
func beside() *saga.Def[int, int] { return empty(2, 1) }

// serveCrew keeps two worker processes running: one that dies is replaced, a few times.
func serveCrew(t *testing.T, url, dir string, async bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range 6 {
				cmd := exec.CommandContext(ctx, self)
				cmd.Env = append(os.Environ(), "SAGA_DIR="+dir, "SAGA_URL="+url, "SAGA_POISON=1", "SAGA_ASYNC="+map[bool]string{true: "1"}[async])
				cmd.Stderr = os.Stderr
				if _ = cmd.Run(); ctx.Err() != nil {
					return
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

// A step that kills its process is held for the operator after three or four of them, on each engine; other sagas go on meanwhile and
// later. The operator rolls back, and nobody knows what the step has done; or lets it be tried again. FT-15, RR-032
func TestAPoisonStepIsHeldOnEachEngine(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		for _, async := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/async=%v", p.name, async), func(t *testing.T) {
				t.Parallel()
				url, dir := p.url(t), t.TempDir()
				w := &World{}
				k := kerneltest.New(t, openURL(t, url)(), kernel.Config{Logger: quiet(t)})
				def, other := poison(dir, async), beside()
				h, err := def.Start(t.Context(), k, "", saga.Options{})
				if err != nil {
					t.Fatal(err)
				}
				serveCrew(t, url, dir, async)
				for range 5 {
					besides(t, k, other)
				}
				until(t, w, h, "it is quarantined", func(st saga.Status) bool { return st.State == saga.Quarantined })
				besides(t, k, other)
				log, err := os.ReadFile(filepath.Join(dir, "effects"))
				if n := bytes.Count(log, []byte("poison ")); err != nil || n < 3 || n > 4 {
					t.Errorf("%d processes died, %v; want three or four", n, err)
				}
				if async {
					released(t, k, dir, def.Handle(k, h.ID()))
					return
				}
				if err := h.Cancel(t.Context(), saga.Rollback, "it kills"); err != nil {
					t.Fatal(err)
				}
				sagatest.Failed(t, def.Handle(k, h.ID()), saga.Cancelled, "")
				if got := sagatest.Events(t, h); !slices.Equal(got[max(len(got)-3, 0):], []string{"compensated poison", "undone a", "cancelled"}) {
					t.Errorf("events %q", got)
				}
				if log, _ := os.ReadFile(filepath.Join(dir, "effects")); !bytes.Contains(log, []byte("compensate-poison-unknown")) {
					t.Errorf("effects %q; want the compensation told that nobody knows", log)
				}
			})
		}
	}
}

// released cures the step and lets it be tried again.
func released(t *testing.T, k *kernel.Kernel, dir string, h *saga.Handle[string]) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cured"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := h.Status(t.Context())
	if err == nil {
		err = saga.Release(t.Context(), k, st.Steps[1].Task)
	}
	if err != nil {
		t.Fatal(err)
	}
	sagatest.Completed(t, h, "ap")
	sagatest.Sequence(t, h, "done a", "sent poison", "done poison", "completed")
}

// besides runs a saga that has nothing to do with what kills.
func besides(t *testing.T, k *kernel.Kernel, other *saga.Def[int, int]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	h, err := other.Start(ctx, k, 0, saga.Options{})
	if err == nil {
		_, err = h.Wait(ctx)
	}
	if err != nil {
		t.Errorf("a saga beside the poison = %v, want it done", err)
	}
}
