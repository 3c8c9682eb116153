//go:build unix

package turns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// observer stands outside: it knows what the processes wrote down, and when it killed which.
type observer struct {
	dir    string
	killed map[int]time.Time // by process id
}

func (o *observer) spawn(t *testing.T, url string, n int) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "TURNS_WORKER="+url, "TURNS_LOG="+filepath.Join(o.dir, fmt.Sprintf("%d.log", n)))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func (o *observer) kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	o.killed[cmd.Process.Pid] = time.Now() // until here it ran for certain
	var exit *exec.ExitError
	if err := errors.Join(cmd.Process.Kill(), cmd.Wait()); !errors.As(err, &exit) || exit.Exited() {
		t.Errorf("process %d ended by %v, want killed", cmd.Process.Pid, err)
	}
}

// run is one run of a handler, as far as it is certain.
type run struct {
	task, limit string
	epoch       int
	from, until int64 // begun at the latest, ended at the earliest
	claimed     int64 // by the store's clock
	lost        bool  // it lost its fence before it ended: another may run
}

func (o *observer) read(t *testing.T) []*run {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(o.dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*run
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		open := map[string]*run{}
		for line := range strings.Lines(string(data)) {
			var what, task, limit string
			var epoch, pid int
			var at, claimed int64
			if n, _ := fmt.Sscan(line, &what, &task, &epoch, &limit, &at, &claimed, &pid); n != 7 {
				continue // cut off by the kill
			}
			if what == "start" {
				r := &run{task: task, limit: limit, epoch: epoch, from: at, claimed: claimed, until: o.killed[pid].UnixNano()}
				open[task] = r
				all = append(all, r)
				continue
			}
			if r := open[task]; r != nil {
				r.until, r.lost = at, what == "lost"
			}
		}
	}
	return all
}

// judge says whether a limit was ever passed.
func (o *observer) judge(t *testing.T) {
	t.Helper()
	runs := o.read(t)
	for _, l := range limits {
		var of []*run
		for _, r := range runs {
			if r.limit == l.Key && !r.lost {
				of = append(of, r)
			}
		}
		most := atOnce(of)
		if l.Running > 0 && most > l.Running {
			t.Errorf("limit %s: %d ran at once, want at most %d", l.Key, most, l.Running)
		}
		starts := charged(of)
		for _, r := range l.Rates {
			burst := r.Burst
			if burst == 0 {
				burst = r.N
			}
			if n := inWindow(starts, r.Per); n > r.N+burst {
				t.Errorf("limit %s: %d starts within %v, want at most %d and a burst of %d", l.Key, n, r.Per, r.N, burst)
			}
		}
		t.Logf("limit %s: %d runs of %d tasks, %d at once at most", l.Key, len(of), len(starts), most)
		if len(of) == 0 {
			t.Errorf("limit %s: nothing ran", l.Key)
		}
	}
}

// atOnce is how many of the runs went on at the same moment, at most.
func atOnce(runs []*run) int {
	type edge struct {
		at  int64
		way int
	}
	var edges []edge
	for _, r := range runs {
		edges = append(edges, edge{r.from, 1}, edge{r.until, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(min(max(a.at-b.at, -1), 1))
		}
		return a.way - b.way // who ends makes room
	})
	n, most := 0, 0
	for _, e := range edges {
		n += e.way
		most = max(most, n)
	}
	return most
}

// charged is when tasks were first claimed. What comes back after a death has a later epoch, and is not charged again; a first claim
// whose process died before its handler said so is not seen.
func charged(runs []*run) []int64 {
	var list []int64
	for _, r := range runs {
		if r.epoch == 1 {
			list = append(list, r.claimed)
		}
	}
	slices.Sort(list)
	return list
}

// inWindow is how many lie in a window of this length, at most.
func inWindow(at []int64, window time.Duration) int {
	most, from := 0, 0
	for i := range at {
		for at[i]-at[from] >= int64(window) {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
