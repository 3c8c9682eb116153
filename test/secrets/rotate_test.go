//go:build unix

package secrets_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/sqlite"
)

// A test that needs another process runs this binary again, as a rotation of the file that the environment names.
const (
	rotateVar = "OUTLAST_TEST_ROTATE"
	keysVar   = "OUTLAST_TEST_KEYS"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(rotateVar); path != "" {
		if err := rotate(context.Background(), path); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// rotate is what `outlast keys rotate` does.
func rotate(ctx context.Context, path string) error {
	ring, err := seal.FromEnv(keysVar)
	if err != nil {
		return err
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	k, err := kernel.New(db, kernel.Config{Sealer: ring, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	fmt.Println("begin")
	report, err := k.Reseal(ctx)
	if err != nil {
		return err
	}
	fmt.Println("end", report.Resealed, report.Left)
	return db.Close()
}

// startRotation starts one in a process of its own.
func startRotation(t *testing.T, path, keys string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), rotateVar+"="+path, keysVar+"="+keys)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "begin" {
		t.Fatalf("the rotation says %q, want begin", lines.Text())
	}
	return cmd, lines
}

func ringOf(t *testing.T, keys string) *seal.Ring {
	t.Helper()
	ring, err := seal.Parse(keys)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// old counts the records whose args are not sealed under the first key of the ring.
func old(t *testing.T, db *sqlite.Store, ring *seal.Ring) (n, all int) {
	t.Helper()
	err := db.Export(t.Context(), func(e store.Entry) error {
		if e.Task != nil && e.Task.Args != nil {
			all++
			if ring.Stale(e.Task.Args) {
				n++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n, all
}

// counters run beside the rotation: each saves a number that grows, and checks that what it saved is what it finds.
func counters(stop *atomic.Bool) kernel.Handler {
	return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		for n := uint64(1); !stop.Load(); n++ {
			if err := r.Save(ctx, map[string][]byte{"n": binary.BigEndian.AppendUint64(nil, n)}); err != nil {
				return kernel.Outcome{}, err
			}
			got, err := r.Load(ctx, "n")
			if err != nil {
				return kernel.Outcome{}, err
			}
			if found := binary.BigEndian.Uint64(got["n"]); found != n {
				return kernel.Outcome{}, kernel.Permanent(fmt.Errorf("saved %d and found %d", n, found))
			}
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
		return kernel.Done(r.Task().Args), nil
	}
}

func TestARotationSurvivesKill(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rotate.db")
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	first, second := seal.NewKey(), seal.NewKey()
	both, last := ringOf(t, second+"\n"+first), ringOf(t, second)
	ids := plantToRotate(t, db, ringOf(t, first))
	var stop atomic.Bool
	k, end := kerneltest.StartOn(t, db, kernel.Config{Sealer: both, Logger: slog.New(slog.DiscardHandler)}, map[string]kernel.Handler{"counter": counters(&stop)})

	killed, between, done := 0, 0, false
	for life := 5 * time.Millisecond; !done && life < 2*time.Minute; life += life / 5 { // as long as a slow machine needs
		cmd, lines := startRotation(t, path, second+","+first)
		kill := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
		done = lines.Scan()
		kill.Stop()
		if done {
			t.Logf("after %d kills, %d of them in the middle: %s", killed, between, lines.Text())
		}
		if _ = cmd.Wait(); !done {
			killed++
			if n, all := old(t, db, both); n > 0 && n < all-len(ids)/50 {
				between++
			}
		}
	}
	if !done || between == 0 {
		t.Fatalf("done %v after %d kills, %d of them in the middle; want at least one, and the end", done, killed, between)
	}
	stop.Store(true)
	for id, want := range ids {
		if want == "counter" {
			kerneltest.Wait(t, k, id, store.Done)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if report, err := k.Reseal(t.Context()); err != nil || report.Left != 0 {
		t.Errorf("a last Reseal = %+v, %v, want nothing left", report, err)
	}
	checkRotated(t, db, last, ids)
}

// plantToRotate fills a file with sealed tasks: most wait, some are to run, all have a message.
func plantToRotate(t *testing.T, db *sqlite.Store, ring *seal.Ring) map[store.ID]string {
	t.Helper()
	k := kerneltest.New(t, db, kernel.Config{Sealer: ring})
	ids := map[store.ID]string{}
	var specs []kernel.Spec
	for i := range 600 {
		s := kernel.Spec{Kind: "wait", Queue: "nobody", Args: fmt.Appendf(nil, "args %d", i), OnEnd: &kernel.Spec{Kind: "wait", Args: []byte("end")}}
		if i%50 == 0 {
			s.Kind, s.Queue, s.Args = "counter", "", []byte("counter")
		}
		s.ID = k.NewID()
		ids[s.ID] = string(s.Args)
		specs = append(specs, s)
	}
	all, err := k.SubmitMany(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all[:100] {
		_, sent := k.Send(t.Context(), kernel.Message{Task: s.ID, Name: "m", Body: []byte("body of " + ids[s.ID])})
		err = errors.Join(err, s.Err, sent)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// checkRotated reads everything with the new key alone.
func checkRotated(t *testing.T, db *sqlite.Store, ring *seal.Ring, ids map[store.ID]string) {
	t.Helper()
	k := kerneltest.New(t, db, kernel.Config{Sealer: ring})
	for id, want := range ids {
		got, err := k.Get(t.Context(), id)
		if err != nil || string(got.Args) != want {
			t.Errorf("Get with the new key alone = %q, %v, want %q", got.Args, err, want)
			continue
		}
		end, err := ring.Open(got.OnEnd.Sealed.String()+"/args", got.OnEnd.Args)
		if err != nil || string(end) != "end" {
			t.Errorf("OnEnd = %q, %v, want it opened", end, err)
		}
		messages, err := db.Messages(t.Context(), id)
		for _, m := range messages {
			body, failed := ring.Open(id.String()+"/message/"+m.ID.String(), m.Body)
			if err := errors.Join(err, failed); err != nil || string(body) != "body of "+want {
				t.Errorf("message = %q, %v", body, err)
			}
		}
		if want == "counter" && string(got.Result) != "counter" {
			t.Errorf("a task that ran beside it ended with %q, %+v", got.Result, got.Error)
		}
	}
	if findings, err := fsck.Check(t.Context(), db); err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v, want nothing", findings, err)
	}
}
