package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// serving runs a daemon in this process, and returns its address. It ends with the test.
func serving(t *testing.T, url string, more ...string) string {
	t.Helper()
	out, in := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	var crew sync.WaitGroup
	var errs bytes.Buffer
	crew.Go(func() {
		args := append([]string{"serve", "--store", url, "--listen", "127.0.0.1:0", "--log-level", "error", "--shutdown-timeout", "1s"}, more...)
		if code := run(ctx, args, in, &errs); code != cli.OK {
			t.Errorf("the daemon ended with %d: %s", code, errs.String())
		}
		_ = in.Close()
	})
	t.Cleanup(func() {
		stop()
		_ = out.Close()
		crew.Wait()
	})
	var address string
	if _, err := fmt.Fscanf(out, "listening on %s\n", &address); err != nil {
		t.Fatalf("the daemon says where it is: %v", err)
	}
	return address
}

// both is a store that is reached directly and through a daemon.
type both struct {
	*testing.T
	url, address string
}

// say runs a command line one way, and returns all that comes of it.
func (b *both) say(target string, args []string) string {
	b.Helper()
	var out, errs bytes.Buffer
	code := run(b.Context(), append([]string{args[0]}, append(args[1:len(args):len(args)], "--store", target)...), &out, &errs)
	return fmt.Sprintf("%d\n%s%s", code, out.String(), errs.String())
}

// same wants that a command line says the same both ways.
func (b *both) same(args ...string) {
	b.Helper()
	direct, daemon := b.say(b.url, args), b.say(b.address, args)
	if direct != daemon {
		b.Errorf("outlast %s says of the store:\n%s\nand of the daemon:\n%s", strings.Join(args, " "), direct, daemon)
	}
}

var volatile = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`),
	regexp.MustCompile(`"n": ?"?\d"?`),
}

// twin runs a command line on two things that are the same but for their names, ids and times: the first directly, the second through the
// daemon.
func (b *both) twin(code int, one, two any, args ...string) {
	b.Helper()
	on := func(target string, name any) string {
		var list []string
		for _, a := range args {
			list = append(list, strings.ReplaceAll(a, "ID", fmt.Sprint(name)))
		}
		text := strings.ReplaceAll(b.say(target, list), fmt.Sprint(name), "…")
		for _, r := range volatile {
			text = r.ReplaceAllString(text, "…")
		}
		return text
	}
	direct, daemon := on(b.url, one), on(b.address, two)
	if direct != daemon || !strings.HasPrefix(direct, fmt.Sprintf("%d\n", code)) {
		b.Errorf("outlast %s says of the store, want %d:\n%s\nand of the daemon:\n%s", strings.Join(args, " "), code, direct, daemon)
	}
}

// stage plants what the commands look at, and starts a daemon on it.
func stage(t *testing.T) (b *both, failed, waiting []store.ID) {
	t.Helper()
	url := fresh(t)
	failed, waiting = world(t, url)
	return &both{t, url, serving(t, url)}, failed, waiting
}

// furnish adds a held group, a schedule, a limit, a pause, and a task that has all that a task can have.
func furnish(t *testing.T, url string) (group, task store.ID) {
	t.Helper()
	k, st := planted(t, url, kernel.Config{})
	held, _, err := k.SubmitGroup(t.Context(), kernel.NewGroup{Name: "held", Seal: true, Hold: true}, []kernel.Spec{{Kind: "wait", Queue: "nobody", Line: 7}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: "a/b:c", Rule: "every 24h", Zone: "Europe/Berlin", Jitter: time.Second, Task: kernel.Spec{Kind: "wait", Queue: "nobody"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := k.PutLimit(t.Context(), kernel.Limit{Key: "l", Running: 3, Rates: []kernel.Rate{{N: 5, Per: time.Minute, Burst: 2}}}); err != nil {
		t.Fatal(err)
	}
	keyed, err := k.Submit(t.Context(), kernel.Spec{Kind: "wait", Queue: "nobody", Unique: kernel.Unique{Key: "u"}, Order: store.OrderSkip, Trace: "t", Correlation: "c", Priority: 3, Delay: time.Hour, Args: []byte("\xff")})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Pause(t.Context(), store.Scope{Queue: "nobody", Lane: "x"}, time.Hour, "why not"); err != nil {
		t.Fatal(err)
	}
	return held, keyed.ID
}

// looks are command lines that change nothing, and some that are refused.
func looks(failed, waiting []store.ID, held, keyed store.ID) [][]string {
	none := store.DeriveID("none").String()
	return [][]string{
		{"tasks"},
		{"tasks", "--state", "failed", "--state", "ready"},
		{"tasks", "--kind", "ok"},
		{"tasks", "--queue", "nobody", "--oldest"},
		{"tasks", "--label", "n=3"},
		{"tasks", "--parent", failed[0].String()},
		{"tasks", "--since", "2020-01-01"},
		{"tasks", "--until", "2020-01-01"},
		{"tasks", "--limit", "3"},
		{"tasks", "--limit", "3", "--all"},
		{"tasks", "--key", "u", "--kind", "wait"},
		{"tasks", "--group", held.String()},
		{"tasks", "--worker", "none"},
		{"show", failed[0].String()},
		{"show", waiting[0].String()},
		{"show", keyed.String()},
		{"show", "--wait", failed[1].String()},
		{"queues"},
		{"lanes", "nobody"},
		{"lanes", "none"},
		{"pauses"},
		{"limits"},
		{"stats"},
		{"stats", "--minutes", "--since", "2h"},
		{"stats", "--since", "2020-01-01"},
		{"schedules"},
		{"groups"},
		{"groups", "--live"},
		{"groups", "show", held.String()},
		{"retry", "--kind", "bad", "--dry-run"},
		{"cancel", "--queue", "nobody", "--dry-run"},
		{"free", "--queue", "nobody", "--dry-run"},
		{"delete", "--state", "done", "--dry-run"},
		// what is refused
		{"show", none},
		{"show", "this-is-no-id"},
		{"groups", "show", none},
		{"saga", "show", failed[0].String()},
		{"saga", "show", none},
		{"tasks", "--cursor", "nonsense"},
		{"resume", "nothing"},
		{"schedules", "pause", "nothing"},
		{"schedules", "delete", "nothing", "--yes"},
		{"limits", "remove", "nothing"},
		{"tasks", "--key", "u"},
		{"retry", none},
		{"cancel", none},
		{"free", waiting[0].String()},
		{"delete", waiting[0].String()},
		{"retry", waiting[0].String()},
	}
}

// Each command that looks says the same of a store and of the daemon that serves it.
func TestADaemonSaysWhatItsStoreSays(t *testing.T) {
	t.Parallel()
	b, failed, waiting := stage(t)
	held, keyed := furnish(t, b.url)
	for _, line := range looks(failed, waiting, held, keyed) {
		b.same(append(line, "--json")...)
	}
	for _, line := range [][]string{{"workers"}, {"top", "--once"}} {
		direct, daemon := b.say(b.url, append(line, "--json")), b.say(b.address, append(line, "--json"))
		if clock := regexp.MustCompile(`"(at|beat_at)":"[^"]*"|"running":\d+`); clock.ReplaceAllString(direct, "") != clock.ReplaceAllString(daemon, "") {
			t.Errorf("%v says of the store:\n%s\nand of the daemon:\n%s", line, direct, daemon)
		}
	}
}

// Each command that changes something does the same to a store and through the daemon that serves it.
func TestADaemonDoesWhatItsStoreDoes(t *testing.T) {
	t.Parallel()
	b, failed, waiting := stage(t)
	k, _ := planted(t, b.url, kernel.Config{})
	var groups [2]store.ID
	for i := range groups {
		var err error
		if groups[i], _, err = k.SubmitGroup(t.Context(), kernel.NewGroup{Seal: true, Hold: true}, []kernel.Spec{{Kind: "wait", Queue: "nobody"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: fmt.Sprint("s", i), Rule: "every 24h", Task: kernel.Spec{Kind: "wait", Queue: "nobody"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		one, two any
		code     int
		args     []string
	}{
		{failed[0], failed[1], 0, []string{"retry", "ID"}},
		{failed[0], failed[1], 1, []string{"retry", "ID"}},
		{failed[0], failed[1], 0, []string{"show", "ID"}},
		{"2", "3", 0, []string{"retry", "--label", "n=ID", "--state", "failed", "--yes"}},
		{waiting[0], waiting[1], 0, []string{"cancel", "ID", "--reason", "not needed"}},
		{waiting[0], waiting[1], 0, []string{"show", "ID"}},
		{waiting[2], waiting[3], 0, []string{"cancel", "ID"}},
		{waiting[0], waiting[1], 0, []string{"delete", "ID"}},
		{waiting[0], waiting[1], 1, []string{"delete", "ID"}},
		{waiting[2], waiting[3], 1, []string{"free", "ID"}},
		{"qp", "qq", 0, []string{"pause", "--queue", "ID", "--kind", "k", "--lane", "l", "--for", "1h", "--reason", "deploy"}},
		{"qp", "qq", 0, []string{"resume", "--queue", "ID", "--kind", "k", "--lane", "l"}},
		{"qp", "qq", 1, []string{"resume", "--queue", "ID", "--kind", "k", "--lane", "l"}},
		{groups[0], groups[1], 0, []string{"groups", "release", "ID"}},
		{groups[0], groups[1], 0, []string{"groups", "abort", "ID", "--yes", "--reason", "wrong"}},
		{"s0", "s1", 0, []string{"schedules", "pause", "ID"}},
		{"s0", "s1", 0, []string{"schedules", "resume", "ID"}},
		{"s0", "s1", 0, []string{"schedules", "delete", "ID", "--yes"}},
		{"s0", "s1", 1, []string{"schedules", "delete", "ID", "--yes"}},
		{"l0", "l1", 0, []string{"limits", "set", "ID", "--running", "3", "--rate", "10/1s+20"}},
		{"l0", "l1", 0, []string{"limits", "remove", "ID"}},
		{"l0", "l1", 1, []string{"limits", "remove", "ID"}},
	} {
		b.twin(c.code, c.one, c.two, append(c.args, "--json")...)
	}
}
