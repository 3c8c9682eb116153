package workers_test

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
)

// workers are those that are tried: how they are started, and the kind that they run.
var workers = map[string]struct {
	program, script, kind string
}{
	"python": {"python3", "../../examples/worker.py", "shout"},
	"shell":  {"sh", "../../examples/worker.sh", "lines"},
}

// everywhere tries something with each worker on each engine.
func everywhere(t *testing.T, do func(t *testing.T, p *place, start func() *process, kind string)) {
	t.Helper()
	for engine, store := range engines {
		for name, w := range workers {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := begin(t, store(t))
				do(t, p, func() *process { return p.start(p.env(), w.program, w.script) }, w.kind)
			})
		}
	}
}

// Workers that are killed and stopped in the middle lose nothing: every task ends once, with a result.
func TestWorkersElsewhereThatDieLoseNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place, start func() *process, kind string) {
		ids := p.submit(kind, 30, 0.1)
		fleet := []*process{start(), start(), start()}
		for round := range 3 {
			running := func() bool {
				var list api.Tasks
				p.ask("GET", "/v1/tasks?state=running", nil, &list)
				return len(list.Tasks) > 0
			}
			until(t, "a task that runs", running)
			victim := fleet[round]
			if round == 1 {
				victim.signal(syscall.SIGSTOP)
			} else {
				victim.kill()
			}
			fleet = append(fleet, start())
		}
		until(t, "the end of all tasks", func() bool {
			var list api.Tasks
			p.ask("GET", "/v1/tasks?state=ready,running,scheduled,held,parked&limit=1000", nil, &list)
			return len(list.Tasks) == 0
		})
		for _, id := range ids {
			if got := p.task(id); got.State != "done" || len(got.Result) == 0 || got.Attempts != 0 {
				t.Errorf("task %s is %s after %d attempts, %d crashes, with %s: %+v", id, got.State, got.Attempts, got.Crashes, got.Result, got.Error)
			}
		}
	})
}

// FT-08: a worker that was stopped for too long, and comes back, is refused with 409; the outcome of who took over stands.
func TestALateCompletionIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place, start func() *process, kind string) {
		id := p.submit(kind, 1, 2)[0]
		first := start()
		until(t, "the task runs", func() bool { return p.task(id).State == "running" })
		first.signal(syscall.SIGSTOP)
		second := start()
		until(t, "the task is done by another", func() bool { return p.task(id).State == "done" })
		before := p.task(id)
		if before.Crashes != 1 {
			t.Errorf("crashes = %d, want 1", before.Crashes)
		}
		second.find(regexp.MustCompile(id + " done 200"))
		first.signal(syscall.SIGCONT)
		first.find(regexp.MustCompile(id + " refused 409"))
		if after := p.task(id); after.Version != before.Version || string(after.Result) != string(before.Result) {
			t.Errorf("the late completion changed version %d to %d", before.Version, after.Version)
		}
		// It goes on as another worker.
		second.kill()
		next := p.submit(kind, 1, 0)[0]
		first.find(regexp.MustCompile(next + " done 200"))
	})
}

// A daemon that dies takes no worker along: it is asked again until it is back, and the worker lives on through another one.
func TestWorkersOutliveTheirDaemon(t *testing.T) {
	for name, w := range workers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t, engines["sqlite"](t))
			worker := p.start(p.env(), w.program, w.script)
			id := p.submit(w.kind, 1, 1)[0]
			until(t, "the task runs", func() bool { return p.task(id).State == "running" })
			p.daemon.kill()
			p.serve(strings.TrimPrefix(p.url, "http://"))
			worker.find(regexp.MustCompile(id + " done 200"))
			if got := p.task(id); got.State != "done" || got.Crashes != 0 {
				t.Errorf("the task is %s after %d crashes, want it done by the one worker", got.State, got.Crashes)
			}
		})
	}
}

// Deliveries: an endpoint that is killed in the middle is asked again, and a daemon that is killed in the middle asks again.
func TestPushedTasksAreNotLost(t *testing.T) {
	for engine, store := range engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			target := fmt.Sprintf("shout=http://127.0.0.1:%d/", port)
			flags := []string{"--push", target, "--allow-net", "127.0.0.0/8", "--allow-port", fmt.Sprint(port), "--slots", "default=3"}
			p := begin(t, store(t), flags...)
			receiver := p.start(nil, "python3", "../../examples/worker.py", fmt.Sprint(port))
			ids := p.submit("shout", 20, 0.2)
			running := func() bool {
				var list api.Tasks
				p.ask("GET", "/v1/tasks?state=running", nil, &list)
				return len(list.Tasks) > 0
			}
			until(t, "a delivery", running)
			receiver.kill()
			p.start(nil, "python3", "../../examples/worker.py", fmt.Sprint(port))
			until(t, "a delivery", running)
			p.daemon.kill()
			p.serve(strings.TrimPrefix(p.url, "http://"), flags...)
			for _, id := range ids {
				until(t, "the end of "+id, func() bool { s := p.task(id).State; return s == "done" || s == "failed" })
				if got := p.task(id); got.State != "done" || !strings.Contains(string(got.Result), "T") {
					t.Errorf("task %s is %s with %s: %+v", id, got.State, got.Result, got.Error)
				}
			}
		})
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
}

// SIGTERM drains: the daemon ends by itself, and leaves the fleet; a worker elsewhere gives back what it holds.
func TestADaemonDrainsOnSIGTERM(t *testing.T) {
	t.Parallel()
	p := begin(t, engines["sqlite"](t))
	p.daemon.signal(syscall.SIGTSTP)
	p.daemon.find(regexp.MustCompile("daemon quiet"))
	p.daemon.signal(syscall.SIGTERM)
	select {
	case <-p.daemon.done:
	case <-time.After(30 * time.Second):
		t.Fatal("the daemon did not end")
	}
	if code := p.daemon.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(p.daemon.String(), "worker left") {
		t.Errorf("exit code %d, want 0 after it has left:\n%s", code, p.daemon)
	}
}
