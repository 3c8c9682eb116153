//go:build unix

package sagas

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/store/storetest"
)

// TestMain lets this binary be a worker process as well.
func TestMain(m *testing.M) {
	if path := os.Getenv("SAGA_WORKER"); path != "" {
		work(path)
		return
	}
	code := m.Run()
	endServers()
	os.Exit(code)
}

// work is a worker process that kills itself at a write.
func work(path string) {
	at, _ := strconv.ParseInt(os.Getenv("SAGA_KILL"), 10, 64)
	lost := os.Getenv("SAGA_LOST") != ""
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		panic(err)
	}
	var writes atomic.Int64
	st := storetest.Wrap(db, func(_ context.Context, op string, do func() error) error {
		if op != "Complete" && op != "Save" && (op != "Submit" || os.Getenv("SAGA_RUN") == "") {
			return do()
		}
		n := writes.Add(1)
		if n == at && lost {
			die()
		}
		err := do()
		if n == at {
			die()
		}
		return err
	})
	k, err := kernel.New(store.Store(st), kernel.Config{Slots: map[string]int{"default": 4, "one": 4, "two": 4}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	def := killable(path+".log", os.Getenv("SAGA_FAILS") != "")
	if id := os.Getenv("SAGA_RUN"); id != "" {
		var opts saga.Options
		if err := opts.ID.UnmarshalText([]byte(id)); err != nil {
			panic(err)
		}
		_, err := def.Run(ctx, k, "", opts)
		panic(fmt.Sprintf("not killed: %v", err))
	}
	def.Serve(k)
	_ = k.Run(ctx)
}

func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until it comes
}

// killable is a saga whose effects go to a file.
func killable(log string, fails bool) *saga.Def[string, string] {
	effect := func(ctx context.Context, what string) error {
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		_, err = fmt.Fprintln(f, what, saga.Key(ctx))
		return err
	}
	node := func(b *saga.Builder[string], name string, from saga.Ref[string]) *saga.Node[string] {
		return saga.Step1(b, name, func(ctx context.Context, s string) (string, error) { return s + name, effect(ctx, name) }, from).
			Undo(func(ctx context.Context, _ string) error { return effect(ctx, "undo-"+name) })
	}
	return saga.Define("killable", func(b *saga.Builder[string]) *saga.Node[string] {
		a := node(b, "a", b.In())
		bb := node(b, "b", a).Async("one")
		c := node(b, "c", bb)
		d := node(b, "d", c).Async("two")
		return saga.Step1(b, "e", func(_ context.Context, s string) (string, error) {
			if fails {
				return "", errNo
			}
			return s + "e", nil
		}, d)
	})
}

// Real processes on SQLite, killed at their writes: the saga goes on in the other one, within seconds, and ends right. FT-23, RR-069, RR-072
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	slots := make(chan struct{}, 4) // so many trials at once: each is three processes
	for _, c := range []struct {
		fails, here bool
		writes      int64
	}{{false, false, 5}, {true, false, 9}, {false, true, 2}} {
		for at := int64(1); at <= c.writes; at++ {
			for _, lost := range []bool{false, true} {
				if c.here && at == 1 && lost {
					continue // nothing was ever stored
				}
				t.Run(fmt.Sprintf("fails=%v/caller=%v/write=%d/lost=%v", c.fails, c.here, at, lost), func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					killProcess(t, c.fails, c.here, "SAGA_KILL="+strconv.FormatInt(at, 10), "SAGA_LOST="+map[bool]string{true: "1"}[lost])
				})
			}
		}
	}
}

func killProcess(t *testing.T, fails, here bool, env ...string) {
	path := filepath.Join(t.TempDir(), "saga.db")
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	k, err := kernel.New(db, kernel.Config{Logger: quiet(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	def := killable(path+".log", fails)
	id := k.NewID()
	if here {
		env = append(env, "SAGA_RUN="+id.String())
	} else if _, err := def.Start(t.Context(), k, "", saga.Options{ID: id}); err != nil {
		t.Fatal(err)
	}
	h := def.Handle(k, id)
	err = spawn(t, path, fails, env...).Wait()
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the process ended by %v, want killed: the write was not reached", err)
	}
	died := time.Now()
	heir := spawn(t, path, fails)
	defer func() {
		_ = heir.Process.Kill()
		_ = heir.Wait()
	}()
	forward := []string{"done a", "sent b", "done b", "done c", "sent d", "done d"}
	if fails {
		sagatest.Failed(t, h, saga.Failed, "e")
		sagatest.Sequence(t, h, slices.Concat(forward, []string{"failed e", "unwinding", "undo sent d", "undone d", "undone c", "undo sent b", "undone b", "undone a", "failed"})...)
	} else {
		sagatest.Completed(t, h, "abcde")
		sagatest.Sequence(t, h, slices.Concat(forward, []string{"done e", "completed"})...)
	}
	took := time.Since(died)
	t.Logf("ended %v after the death, the start of a process included", took.Round(time.Millisecond))
	if took > 20*time.Second {
		t.Errorf("it took %v to go on", took)
	}
	onceEach(t, path+".log")
}

func spawn(t *testing.T, path string, fails bool, env ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), append(env, "SAGA_WORKER="+path, "SAGA_FAILS="+map[bool]string{true: "1"}[fails])...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// onceEach fails the test if an effect came under two keys, more than twice, or a step's after its undo.
func onceEach(t *testing.T, log string) {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	keys, count, undone := map[string]string{}, map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		what, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		if first, ok := keys[what]; ok && first != key {
			t.Errorf("%s came under the keys %s and %s", what, first, key)
		}
		keys[what] = key
		if count[what]++; count[what] > 2 {
			t.Errorf("%s came %d times, with one crash", what, count[what])
		}
		if step, ok := strings.CutPrefix(what, "undo-"); ok {
			undone[step] = true
		} else if len(undone) > 0 {
			t.Errorf("%s came after the rollback began", what)
		}
	}
}
