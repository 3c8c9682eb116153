package sqlite_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

// A test that needs another process runs this binary again, as the child that the environment names.
const (
	childVar = "OUTLAST_TEST_CHILD"
	pathVar  = "OUTLAST_TEST_PATH"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childVar); name != "" {
		if err := children[name](context.Background(), os.Getenv(pathVar)); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

var children = map[string]func(ctx context.Context, path string) error{
	"open":   childOpen,
	"submit": childSubmit,
	"hold":   childHold,
	"stall":  childStall,
	"hammer": childHammer,
}

// child is another process.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startChild(t testing.TB, name, path string) *child {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVar+"="+name, pathVar+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t: t, cmd: cmd, lines: bufio.NewScanner(out)}
	t.Cleanup(c.kill)
	return c
}

// line waits for the next line that the child writes; empty: it has ended.
func (c *child) line() string {
	if !c.lines.Scan() {
		return ""
	}
	return c.lines.Text()
}

// kill ends the child as kill -9 does, and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func openAt(ctx context.Context, path string) (*sqlite.Store, error) {
	return sqlite.Open(ctx, sqlite.Config{Path: path})
}

// mustOpen opens a file on the real clock for a test.
func mustOpen(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := openAt(t.Context(), path)
	if err != nil {
		t.Fatalf("Open = %v, want no error", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newSpec() store.Spec {
	var random [16]byte
	_, _ = rand.Read(random[:])
	return store.Spec{
		ID: store.MakeID(time.Now(), random), Kind: "k", Queue: "q", Args: []byte("args"), Retention: time.Hour, Retry: store.Retry{Max: 3},
	}
}

func newID() store.ID { return newSpec().ID }

// childOpen opens the file, and is done.
func childOpen(ctx context.Context, path string) error {
	s, err := openAt(ctx, path)
	if err != nil {
		return err
	}
	fmt.Println("open")
	return s.Close()
}

// childSubmit submits one task after the other, and writes each that was accepted.
func childSubmit(ctx context.Context, path string) error {
	s, err := openAt(ctx, path)
	if err != nil {
		return err
	}
	for {
		specs := []store.Spec{newSpec(), newSpec(), newSpec()}
		if _, err := s.Submit(ctx, store.SubmitRequest{Specs: specs}); err != nil {
			return err
		}
		fmt.Println(specs[0].ID, specs[1].ID, specs[2].ID)
	}
}

// childHold joins, claims one task, and waits to be killed.
func childHold(ctx context.Context, path string) error {
	s, err := openAt(ctx, path)
	if err != nil {
		return err
	}
	if err := join(ctx, s, "child"); err != nil {
		return err
	}
	res, err := s.Claim(ctx, claimOf("child", 1))
	if err != nil {
		return err
	}
	fmt.Println("holds", len(res.Tasks))
	select {}
}

// childHammer always has more to write, and watches.
func childHammer(ctx context.Context, path string) error {
	s, err := openAt(ctx, path)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for range 32 {
		running.Go(func() {
			for {
				if _, err := s.Submit(ctx, store.SubmitRequest{Specs: specs(10)}); err != nil {
					return
				}
			}
		})
	}
	return s.Watch(ctx, "", []string{"q"}, func(n store.Notice) {
		if n.Kind == store.NoticeStart {
			fmt.Println("hammers")
		}
	})
}

// childStall begins to write, and stays there.
func childStall(ctx context.Context, path string) error {
	s, err := openAt(ctx, path)
	if err != nil {
		return err
	}
	if _, err := s.Begin(ctx); err != nil {
		return err
	}
	fmt.Println("stalls")
	select {}
}

func join(ctx context.Context, s store.Store, id string) error {
	return s.Join(ctx, store.JoinRequest{ID: id, Beat: time.Second, DeadAfter: 15 * time.Second})
}

func claimOf(worker string, n int) store.ClaimRequest {
	return store.ClaimRequest{
		Worker: worker, Nonce: newID(), Queues: []store.QueueSlots{{Queue: "q", Slots: n}}, Kinds: []string{"k"},
	}
}

// ids reads the ids of a line.
func ids(t *testing.T, line string) (list []store.ID) {
	t.Helper()
	for _, text := range strings.Fields(line) {
		id, err := store.ParseID(text)
		if err != nil {
			t.Fatalf("the child wrote %q", line)
		}
		list = append(list, id)
	}
	return list
}
