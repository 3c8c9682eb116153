//go:build unix

package sagas

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/test/servers"
)

// trial is one saga that two worker processes run, and one death.
type trial struct {
	url   string
	fails bool
	here  bool // a third process calls Run
	at    int  // the commit at which a process dies, of all that are made
	lost  bool // before it, not after
}

// places are the stores that processes can share.
var places = []struct {
	name string
	url  func(t testing.TB) string
	tx   bool
}{
	{"sqlite", func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "saga.db") }, true},
	{"postgres", func(t testing.TB) string { return servers.PostgresSpace(t) }, true},
	{"redis", func(t testing.TB) string { return servers.RedisSpace(t) }, false},
}

// commits is how many there are: forward, and with the whole rollback. A transaction is two: its own, and the settling of what it has staged.
func commits(fails, tx bool) int {
	switch {
	case fails && tx:
		return 13
	case fails:
		return 9
	case tx:
		return 7
	}
	return 5
}

// thorough says that each commit is tried both before it and after it; otherwise they take turns.
func thorough() bool { return os.Getenv("SAGA_KILLS") == "all" }

// Two processes, one of which is killed at a commit, each in turn, before it and after it, forward and backward: the other goes on, the
// ending is right, each step is recorded once, no step comes after the rollback began, and what is done in a transaction or behind
// a barrier comes once. FT-23, RR-033, RR-055, RR-060, RR-069, RR-072
func TestKilledAtEveryCommit(t *testing.T) {
	t.Parallel()
	slots := make(chan struct{}, 6) // so many trials at once: each is two processes or three
	for _, p := range places {
		for _, c := range []struct{ fails, here bool }{{false, false}, {true, false}, {false, true}} {
			last := commits(c.fails, p.tx)
			if c.here {
				last = 2 // what the caller commits; the rest is as without it
			}
			for at := 1; at <= last; at++ {
				for _, lost := range []bool{false, true} {
					if c.here && at == 1 && lost {
						continue // nothing was ever stored
					}
					if !thorough() && !c.here && lost == (at%2 == 1) {
						continue
					}
					t.Run(fmt.Sprintf("%s/fails=%v/caller=%v/commit=%d/lost=%v", p.name, c.fails, c.here, at, lost), func(t *testing.T) {
						t.Parallel()
						slots <- struct{}{}
						defer func() { <-slots }()
						trial{p.url(t), c.fails, c.here, at, lost}.judge(t, last)
					})
				}
			}
		}
	}
}

// judge runs a trial and looks at what is left.
func (c trial) judge(t *testing.T, last int) {
	dir, h := c.begin(t)
	took := c.end(t, dir, h)
	t.Logf("ended %v after the death", took.Round(time.Millisecond))
	if data, err := os.ReadFile(filepath.Join(dir, "commits")); err != nil || !c.here && !c.lost && c.at == last && len(data) != last {
		t.Errorf("%d commits, %v; the trials try %d of them", len(data), err, last)
	}
	onceEach(t, filepath.Join(dir, "effects"))
	c.exactlyOnce(t, dir)
}

// begin starts the processes.
func (c trial) begin(t *testing.T) (dir string, h *saga.Handle[string]) {
	t.Helper()
	dir = t.TempDir()
	db := openURL(t, c.url)()
	l := ledgerOf(db)
	if l != nil {
		if err := l.create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	user, err := openBarrier(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = user.Close() }()
	for _, q := range []string{saga.Barrier{}.Schema(), "create table effect (what text)"} {
		if _, err := user.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	k := kerneltest.New(t, db, kernel.Config{Logger: quiet(t)})
	def := killable(dir, l, c.fails)
	id := k.NewID()
	c.spawn(t, dir)
	c.spawn(t, dir)
	acquainted(t, k)
	if c.here {
		c.spawn(t, dir, "SAGA_RUN="+id.String())
		return dir, def.Handle(k, id)
	}
	if h, err = def.Start(t.Context(), k, "", saga.Options{ID: id}); err != nil {
		t.Fatal(err)
	}
	return dir, h
}

// end waits for the ending, and tells how long after the death it came.
func (c trial) end(t *testing.T, dir string, h *saga.Handle[string]) time.Duration {
	t.Helper()
	if c.here {
		stored(t, h)
	}
	forward := []string{"done a", "sent b", "done b", "done c", "sent d", "done d"}
	if c.fails {
		sagatest.Failed(t, h, saga.Failed, "e")
	} else {
		sagatest.Completed(t, h, "abcde")
	}
	ended := time.Now()
	if c.fails {
		sagatest.Sequence(t, h, slices.Concat(forward, []string{"failed e", "unwinding", "undo sent d", "undone d", "undone c", "undo sent b", "undone b", "undone a", "failed"})...)
	} else {
		sagatest.Sequence(t, h, slices.Concat(forward, []string{"done e", "completed"})...)
	}
	died, err := os.Stat(filepath.Join(dir, "died"))
	for range 500 { // the last commit may be seen before its process has left the mark
		if err == nil {
			break
		}
		sagatest.Pass(t, 10*time.Millisecond)
		died, err = os.Stat(filepath.Join(dir, "died"))
	}
	if err != nil {
		t.Fatalf("no process has died: the commit was not reached: %v", err)
	}
	took := max(ended.Sub(died.ModTime()), 0)
	if took > time.Minute {
		t.Errorf("it took %v to go on", took)
	}
	return took
}

// acquainted waits until both workers have beaten while the other one was there: who has never seen another alive cannot bear
// witness that it is gone, and has to wait for its silence.
func acquainted(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	for range 6000 {
		ws, err := k.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(ws) == 2 && ws[0].BeatAt.After(ws[1].JoinedAt) && ws[1].BeatAt.After(ws[0].JoinedAt) {
			return
		}
		sagatest.Pass(t, 20*time.Millisecond)
	}
	t.Fatal("the workers did not start")
}

// stored waits until a saga is there that another process starts.
func stored(t *testing.T, h *saga.Handle[string]) {
	t.Helper()
	for range 6000 {
		if _, err := h.Status(t.Context()); err == nil {
			return
		}
		sagatest.Pass(t, 10*time.Millisecond)
	}
	t.Fatal("the saga was not stored")
}

// spawn starts a process, which ends with the test at the latest.
func (c trial) spawn(t *testing.T, dir string, env ...string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	word := map[bool]string{true: "1"}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), append(env, "SAGA_DIR="+dir, "SAGA_URL="+c.url, "SAGA_KILL="+strconv.Itoa(c.at), "SAGA_LOST="+word[c.lost], "SAGA_FAILS="+word[c.fails])...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// onceEach fails the test if an effect came under two keys, more than twice, or a step's after the first undo.
func onceEach(t *testing.T, log string) {
	t.Helper()
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	keys, count, undone := map[string]string{}, map[string]int{}, false
	for line := range strings.Lines(string(data)) {
		what, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		if first, ok := keys[what]; ok && first != key {
			t.Errorf("%s came under the keys %s and %s", what, first, key)
		}
		keys[what] = key
		if count[what]++; count[what] > 2 {
			t.Errorf("%s came %d times, with one crash", what, count[what])
		}
		if strings.HasPrefix(what, "undo-") {
			undone = true
		} else if undone {
			t.Errorf("%s came after the rollback began", what)
		}
	}
}

// exactlyOnce fails the test if what is done in a transaction, or behind a barrier, has not come once.
func (c trial) exactlyOnce(t *testing.T, dir string) {
	t.Helper()
	if l := ledgerOf(openURL(t, c.url)()); l != nil {
		if c.fails {
			holds(t, l, "c", "undo c")
		} else {
			holds(t, l, "c")
		}
	}
	db, err := openBarrier(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var got string
	if err := db.QueryRowContext(t.Context(), "select group_concat(what, ', ') from (select what from effect order by rowid)").Scan(&got); err != nil {
		t.Fatal(err)
	}
	if want := map[bool]string{false: "d", true: "d, undo d"}[c.fails]; got != want {
		t.Errorf("behind the barrier came %q, want %q", got, want)
	}
}

// How long a saga stands still when its process is killed, with default settings: the time from the death to its end, which comes a few
// milliseconds of work later. SAGA_TRIALS is how many deaths there are per engine; the figures are printed as JSON.
func TestHowSoonAnotherGoesOn(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SAGA_TRIALS"))
	n = max(n, 4)
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			var mu sync.Mutex
			var all []time.Duration
			t.Run("deaths", func(t *testing.T) {
				slots := make(chan struct{}, 2)
				for i := range n {
					t.Run(strconv.Itoa(i), func(t *testing.T) {
						t.Parallel()
						slots <- struct{}{}
						defer func() { <-slots }()
						fails := i%2 == 1
						c := trial{p.url(t), fails, false, 1 + i%(commits(fails, p.tx)-1), i%4 < 2}
						dir, h := c.begin(t)
						took := c.end(t, dir, h)
						mu.Lock()
						defer mu.Unlock()
						all = append(all, took)
					})
				}
			})
			slices.Sort(all)
			if len(all) == 0 {
				t.Fatal("there was no trial")
			}
			at := func(q float64) float64 { return all[int(math.Ceil(q*float64(len(all))))-1].Seconds() }
			line, err := json.Marshal(map[string]any{"measure": "resume after kill -9", "engine": p.name, "deaths": len(all), "p50_s": at(0.5), "p99_s": at(0.99), "max_s": at(1)})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(string(line))
		})
	}
}
