//go:build unix

package turns

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/test/servers"
)

const workers = 3

var limits = []kernel.Limit{
	{Key: "one", Running: 1},
	{Key: "two", Running: 2},
	{Key: "rate", Rates: []kernel.Rate{{N: 40, Per: time.Second, Burst: 10}}},
	{Key: "both", Running: 2, Rates: []kernel.Rate{{N: 30, Per: time.Second}, {N: 200, Per: 10 * time.Second, Burst: 20}}},
}

var rules = map[string]string{"every": "every 1s", "cron": "* * * * * *", "two": "*/2 * * * * *"}

// kills is how many processes are killed per engine: TURNS_KILLS.
func kills(t *testing.T) int {
	text := os.Getenv("TURNS_KILLS")
	if text == "" {
		return 12
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("TURNS_KILLS is %q, want a number", text)
	}
	return n
}

func TestLimitsAndTicksHoldThroughKillsOnSQLite(t *testing.T) {
	t.Parallel()
	trial(t, "sqlite:"+filepath.Join(t.TempDir(), "turns.db"))
}

func TestLimitsAndTicksHoldThroughKillsOnPostgres(t *testing.T) {
	t.Parallel()
	trial(t, servers.StartPostgres(t).URL())
}

func TestLimitsAndTicksHoldThroughKillsOnRedis(t *testing.T) {
	t.Parallel()
	r := servers.NewRedis(t, servers.RedisConfig{})
	trial(t, r.URL())
}

// trial kills processes under load, and then judges what they wrote down.
func trial(t *testing.T, url string) {
	st, err := engine.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	k, err := kernel.New(st, kernel.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	setUp(t, k)
	o := &observer{dir: t.TempDir(), killed: map[int]time.Time{}}
	var fleet []*exec.Cmd
	for i := range workers {
		fleet = append(fleet, o.spawn(t, url, i))
	}
	for i := range kills(t) {
		feed(t, k, 40)
		<-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond)
		at := rand.IntN(workers)
		o.kill(t, fleet[at])
		fleet[at] = o.spawn(t, url, workers+i)
	}
	ticked := stopTicks(t, k)
	drained(t, k)
	for _, cmd := range fleet {
		o.kill(t, cmd)
	}
	o.judge(t)
	judgeStore(t, k, st)
	judgeTicks(t, k, ticked)
}

func setUp(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	for _, l := range limits {
		if _, err := k.PutLimit(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	for name, rule := range rules {
		_, err := k.PutSchedule(t.Context(), kernel.Schedule{
			Name: name, Rule: rule, CatchUp: kernel.CatchUpAll, Overlap: kernel.OverlapAllow, Task: kernel.Spec{Kind: "tick", Retention: -1},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// feed submits n tasks for each limit, unless plenty of them wait.
func feed(t *testing.T, k *kernel.Kernel, n int) {
	t.Helper()
	qs, err := k.Queues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range qs {
		if q.Ready > 400 {
			return
		}
	}
	var specs []kernel.Spec
	for _, l := range limits {
		for i := range n {
			specs = append(specs, kernel.Spec{Kind: "work", Limit: l.Key, Lane: fmt.Sprint(i % 3), Retention: -1})
		}
	}
	if _, err := k.SubmitMany(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
}

// stopTicks ends the schedules and returns how they stood.
func stopTicks(t *testing.T, k *kernel.Kernel) map[string]kernel.Schedule {
	t.Helper()
	<-time.After(3 * time.Second) // let them catch up
	last := map[string]kernel.Schedule{}
	for name := range rules {
		if err := k.PauseSchedule(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		s, err := k.Schedule(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		last[name] = s
	}
	return last
}

// drained waits until everything has ended.
func drained(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		page, err := k.List(t.Context(), store.Filter{States: []store.State{store.Ready, store.Running, store.Scheduled}}, store.PageRequest{Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Items) == 0 {
			return
		}
	}
	t.Fatal("not everything has ended")
}

// judgeStore says whether a slot leaked, and whether the store is in order.
func judgeStore(t *testing.T, k *kernel.Kernel, st store.Store) {
	t.Helper()
	list, err := k.Limits(t.Context())
	if err != nil || len(list) != len(limits) {
		t.Fatalf("Limits = %v, %v", list, err)
	}
	for _, l := range list {
		if l.InUse != 0 {
			t.Errorf("limit %s has %d slots in use, and nothing runs", l.Key, l.InUse)
		}
	}
	found, err := fsck.Check(context.WithoutCancel(t.Context()), st)
	if err != nil || len(found) > 0 {
		t.Errorf("fsck = %v, %v", found, err)
	}
}

// judgeTicks says whether each tick of each schedule came once.
func judgeTicks(t *testing.T, k *kernel.Kernel, last map[string]kernel.Schedule) {
	t.Helper()
	for name, s := range last {
		have := map[kernel.ID]bool{}
		first := s.LastTick
		page := store.PageRequest{Limit: 1000}
		for {
			p, err := k.List(t.Context(), store.Filter{Kinds: []string{"tick"}, Labels: map[string]string{kernel.ScheduleLabel: name}}, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range p.Items {
				have[task.ID] = true
			}
			if page.Cursor = p.Cursor; page.Cursor == "" {
				break
			}
		}
		n := 0
		for at := s.CreatedAt; at.Before(first); n++ {
			next, err := kernel.Ticks(s.Rule, s.Zone, at, 1)
			if err != nil {
				t.Fatal(err)
			}
			at = next[0]
			// The pause made a version of its own; what ticked is of the one before.
			if id := store.TickID(name, s.Version-1, at); !have[id] {
				t.Errorf("schedule %s: the tick of %v did not come", name, at)
			}
		}
		if len(have) != n {
			t.Errorf("schedule %s has %d tasks for %d ticks", name, len(have), n)
		}
		t.Logf("schedule %s: %d ticks, each once", name, n)
	}
}
