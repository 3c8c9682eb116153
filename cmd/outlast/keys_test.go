package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
)

func TestKeysAreMadeAddedAndUsed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := seal.Parse(ask(t, "keys", "new")); err != nil {
		t.Errorf("keys new prints no key file: %v", err)
	}
	ask(t, "keys", "new", "--file", path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file = %v, %v, want mode 600", info, err)
	}
	var second struct{ ID, Role string }
	if err := json.Unmarshal([]byte(ask(t, "keys", "new", "--file", path, "--json")), &second); err != nil || second.Role != "opens" {
		t.Errorf("keys new = %+v, %v, want a second one that opens", second, err)
	}
	before := ringOf(t, path).IDs()
	if len(before) != 2 || before[1] != second.ID {
		t.Errorf("the ring = %v, want %s last", before, second.ID)
	}
	if out := ask(t, "keys", "list", "--keys", path); !strings.Contains(out, before[0]+"  seals") || !strings.Contains(out, before[1]+"  opens") {
		t.Errorf("keys list = %q", out)
	}
	ask(t, "keys", "use", second.ID, "--file", path)
	if after := ringOf(t, path).IDs(); after[0] != second.ID || after[1] != before[0] {
		t.Errorf("after keys use %s the ring is %v", second.ID, after)
	}
	refused(t, cli.Misuse, "keys", "use", "0000000000000000", "--file", path)
	refused(t, cli.Misuse, "keys", "use", second.ID)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if text := refused(t, cli.Failed, "keys", "list", "--keys", path); !strings.Contains(text, "chmod 600") {
		t.Errorf("a file that strangers may read: %s", text)
	}
	refused(t, cli.Failed, "keys", "list", "--keys", path+"x")
}

func ringOf(t *testing.T, path string) *seal.Ring {
	t.Helper()
	ring, err := seal.FromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// A rotation is killed in the middle, and run again; at the end the new key alone opens everything.
func TestKeysRotateSurvivesKill(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rotateKilled(t, url)
		})
	}
}

func rotateKilled(t *testing.T, url string) {
	first, second := seal.NewKey(), seal.NewKey()
	keys := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(keys, []byte(second+"\n"+first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	both := ringOf(t, keys)
	k, st := planted(t, url, kernel.Config{Sealer: parse(t, first)})
	specs := make([]kernel.Spec, 3000)
	for i := range specs {
		specs[i] = kernel.Spec{Kind: "wait", Queue: "nobody", Args: fmt.Appendf(nil, "args %d", i)}
	}
	ids, err := k.SubmitMany(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "keys", "rotate", "--store", url, "--keys", keys)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for old := true; old; { // the oldest go first
		got, err := st.Get(t.Context(), ids[len(ids)/2].ID)
		if err != nil {
			t.Fatal(err)
		}
		old = both.Stale(got.Args)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if n := countOld(t, st, both); n == 0 || n == len(specs) {
		t.Fatalf("%d of %d are old after the kill, want it to be in the middle", n, len(specs))
	} else {
		t.Logf("killed with %d of %d left", n, len(specs))
	}
	var r rotation
	if err := json.Unmarshal([]byte(ask(t, "keys", "rotate", "--store", url, "--keys", keys, "--json")), &r); err != nil || !r.Done || r.Resealed == 0 {
		t.Errorf("the second rotation = %+v, %v, want the rest done", r, err)
	}
	if out := ask(t, "keys", "rotate", "--store", url, "--keys", keys); out != "0 records were sealed anew; nothing is left under an old key.\n" {
		t.Errorf("the third rotation = %q, want nothing to do", out)
	}
	last := kerneltest.New(t, st, kernel.Config{Sealer: parse(t, second)})
	for i, id := range ids {
		if got, err := last.Get(t.Context(), id.ID); err != nil || string(got.Args) != fmt.Sprintf("args %d", i) {
			t.Fatalf("with the new key alone task %d = %q, %v", i, got.Args, err)
		}
	}
}

func parse(t *testing.T, keys string) *seal.Ring {
	t.Helper()
	ring, err := seal.Parse(keys)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func countOld(t *testing.T, st store.Store, ring *seal.Ring) (n int) {
	t.Helper()
	err := st.Export(t.Context(), func(e store.Entry) error {
		if e.Task != nil && ring.Stale(e.Task.Args) {
			n++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What cannot be sealed anew is told, and the exit code says so.
func TestKeysRotateTellsWhatItCannotOpen(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	k, _ := planted(t, url, kernel.Config{Sealer: parse(t, seal.NewKey())})
	if _, err := k.Submit(t.Context(), kernel.Spec{Kind: "x", Args: []byte("lost")}); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "keys", "rotate", "--store", url)
	cmd.Env = append(cmd.Env, keysVar+"="+seal.NewKey())
	out, err := cmd.CombinedOutput()
	if ended := (*exec.ExitError)(nil); !errors.As(err, &ended) || ended.ExitCode() != cli.Failed || !strings.Contains(string(out), "1 could not be") {
		t.Errorf("keys rotate = %v, %s", err, out)
	}
	if text := refused(t, cli.Misuse, "keys", "rotate", "--store", url); !strings.Contains(text, "--keys FILE") {
		t.Errorf("without keys it says %q", text)
	}
}
