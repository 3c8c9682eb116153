package calls_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

// places are all at which a process can die between the claim of a request and the end of its callback.
var places = []string{
	"call.claimed", "call.marked", "call.sending", "call.answered", "call.read", "call.ending", "call.settled",
	"callback.claimed", "callback.calling", "callback.logged", "callback.called", "callback.settled",
}

// world is a store, a server that counts, and processes that send.
type world struct {
	t      *testing.T
	url    string
	dir    string
	st     store.Store
	k      *kernel.Kernel
	call   *call.Call
	server *httptest.Server
	logs   int

	mu       sync.Mutex
	arrivals map[string]int
	acked    map[string]bool // ids of requests whose start was answered; true: must not be sent twice
	kills    int
}

func newWorld(t *testing.T, at home, h func(w *world) http.HandlerFunc) *world {
	t.Helper()
	w := &world{t: t, url: at.url, dir: t.TempDir(), arrivals: map[string]int{}, acked: map[string]bool{}}
	st, err := engine.Open(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	w.st, w.k = st, kerneltest.New(t, st, kernel.Config{})
	if w.call, err = newCall(nil); err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(h(w))
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) arrived(r *http.Request) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arrivals[r.Header.Get("X-Request-Id")]++
	return w.arrivals[r.Header.Get("X-Request-Id")]
}

func (w *world) arrivedInAll() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.arrivals)
}

// start starts requests: some with a key, some that must not be sent twice.
func (w *world) start(n int, path string) {
	w.t.Helper()
	var group sync.WaitGroup
	errs := make(chan error, n)
	for i := range n {
		group.Go(func() {
			once := i%4 == 3
			h, err := w.call.Start(w.t.Context(), w.k, call.Request{
				Method: "POST", URL: w.server.URL + path + strconv.Itoa(i), Body: []byte("body"), NoIdempotencyKey: once,
			}, call.Options{Args: i})
			if err != nil {
				errs <- err
				return
			}
			w.mu.Lock()
			w.acked[h.ID().String()] = once
			w.mu.Unlock()
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		w.t.Fatal(err)
	}
}

// process is a worker process; ended is closed when it has, and err tells how.
type process struct {
	*os.Process
	ended chan struct{}
	err   error
}

func (w *world) process(a arguments) *process {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	w.logs++
	a.store, a.log = w.url, filepath.Join(w.dir, fmt.Sprintf("callbacks-%d.log", w.logs))
	cmd := exec.CommandContext(w.t.Context(), self, a.list()...)
	cmd.Stderr = w.t.Output()
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	p := &process{Process: cmd.Process, ended: make(chan struct{})}
	kernel.Real().Go(func() {
		p.err = cmd.Wait()
		close(p.ended)
	})
	w.t.Cleanup(func() {
		_ = p.Kill() // it may have ended
		<-p.ended
	})
	return p
}

// left counts what has not ended.
func (w *world) left() int {
	w.t.Helper()
	page, err := w.k.List(w.t.Context(), store.Filter{States: []store.State{store.Ready, store.Running, store.Scheduled}}, store.PageRequest{Limit: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(page.Items)
}

// patience is how long a machine may take that is busy with other things.
const patience = 10 * time.Minute

// until waits for something to become true, or for a process to end.
func (w *world) until(what string, p *process, is func() bool) {
	w.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for !is() {
		select {
		case <-tick.C:
		case <-p.ended:
			return
		case <-ctx.Done():
			w.t.Fatalf("waited %v in vain until %s", patience, what)
		}
	}
}

// outcomes reads what the callbacks of all processes have written: the lines per request.
func (w *world) outcomes() map[string][]string {
	w.t.Helper()
	all := map[string][]string{}
	for i := range w.logs {
		f, err := os.Open(filepath.Join(w.dir, fmt.Sprintf("callbacks-%d.log", i+1)))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			w.t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			id, outcome, ok := strings.Cut(lines.Text(), "\t")
			if !ok {
				w.t.Errorf("a line of the log is odd: %q", lines.Text())
			}
			all[id] = append(all[id], outcome)
		}
		f.Close()
	}
	return all
}

// judge holds what the store, the server and the callbacks say of each request against each other.
func (w *world) judge() {
	w.t.Helper()
	outcomes := w.outcomes()
	lost, split, again := 0, 0, 0
	kinds := map[string]int{}
	for id, once := range w.acked {
		lines := outcomes[id]
		if len(lines) == 0 {
			lost++
			continue
		}
		kinds[lines[0]]++
		again += len(lines) - 1
		for _, l := range lines[1:] {
			if l != lines[0] {
				split++
			}
		}
		w.judgeOne(id, once, lines[0])
	}
	if lost != 0 || split != 0 || len(outcomes) != len(w.acked) {
		w.t.Errorf("%d of %d requests have no outcome, %d have two, %d outcomes are of nobody; want none", lost, len(w.acked), split, len(outcomes)-len(w.acked)+lost)
	}
	w.t.Logf("%d requests, %d kills, outcomes %v, %d callbacks repeated after a kill inside them", len(w.acked), w.kills, kinds, again)
	findings, err := fsck.Check(w.t.Context(), w.st)
	for range 4 {
		if err == nil {
			break
		}
		findings, err = fsck.Check(w.t.Context(), w.st) // a busy machine did not answer in time
	}
	if err != nil || len(findings) > 0 {
		w.t.Errorf("fsck: %v, %v", findings, err)
	}
}

func (w *world) judgeOne(text string, once bool, outcome string) {
	w.t.Helper()
	id, err := store.ParseID(text)
	if err != nil {
		w.t.Fatal(err)
	}
	task, err := w.k.Get(w.t.Context(), id)
	if err != nil {
		w.t.Fatalf("request %s: %v", text, err)
	}
	back, err := w.k.Get(w.t.Context(), kernel.OnEndID(task))
	if err != nil || !task.State.Terminal() || back.State != store.Done && back.Reason != store.ReasonCrashed {
		w.t.Errorf("request %s is %s, its callback %s (%s), %v; want both ended", text, task.State, back.State, back.Reason, err)
	}
	arrivals := w.arrivals[text]
	switch {
	case once && arrivals > 1:
		w.t.Errorf("request %s must not be sent twice, and arrived %d times", text, arrivals)
	case arrivals > 1+task.Attempts+task.Crashes+released(task):
		w.t.Errorf("request %s arrived %d times with %d attempts and %d crashes", text, arrivals, task.Attempts, task.Crashes)
	case outcome == "status 200" && arrivals == 0:
		w.t.Errorf("request %s was answered, and never arrived", text)
	case outcome == "status 200" != (task.State == store.Done):
		w.t.Errorf("request %s is %s, and its callback was told %q", text, task.State, outcome)
	}
}

// released counts how often a request was given back by a process that stopped.
func released(t kernel.Task) int {
	n := 0
	for _, e := range t.History {
		if e.Kind == store.EventReleased || e.Kind == store.EventRecovered {
			n++
		}
	}
	return n
}

// FT-01, FT-02, FT-03, FT-04, PH-154, PH-161, R000-9: killed at every place, no request is lost and each has one outcome.
func TestKilledAtEveryPlaceEachRequestHasOneOutcome(t *testing.T) {
	each(t, func(t *testing.T, h home) { killEverywhere(t, h, size(t, 300)) })
}

func killEverywhere(t *testing.T, at home, n int) {
	w := newWorld(t, at, func(w *world) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			nth := w.arrived(r)
			timer := time.NewTimer(10 * time.Millisecond)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
				return
			}
			if nth == 1 && r.Header.Get("Idempotency-Key") != "" && strings.HasSuffix(r.URL.Path, "0") {
				rw.WriteHeader(http.StatusServiceUnavailable) // a failed attempt on the way
			}
		}
	})
	w.start(n, "/")
	slots := max(20, n/50)
	for _, place := range places {
		visits := max(n/(2*len(places)), 3)
		if place == "call.marked" {
			visits /= 4 // only the fourth request comes there
		}
		p := w.process(arguments{slots: slots, grace: time.Second, place: place, visits: int64(visits)})
		w.until("the process has killed itself at "+place, p, func() bool { return false })
		if !killed(p.err) {
			t.Errorf("at %s the process ended by %v, want kill -9", place, p.err)
		}
		w.kills++
	}
	last := w.process(arguments{slots: slots, grace: time.Second})
	w.until("all have ended", last, func() bool { return w.left() == 0 })
	if err := last.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-last.ended; last.err != nil {
		t.Errorf("the last process ended by %v", last.err)
	}
	w.judge()
}

func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// PH-107, PH-108, PH-109, PH-145, FT-17: SIGTERM with many in flight: what ends in time is delivered, the rest ends elsewhere.
func TestSIGTERMWithManyInFlight(t *testing.T) {
	each(t, func(t *testing.T, h home) { stopInFlight(t, h, size(t, 400)) })
}

func stopInFlight(t *testing.T, at home, n int) {
	release, long := make(chan struct{}), make(chan struct{})
	w := newWorld(t, at, func(w *world) http.HandlerFunc {
		return func(_ http.ResponseWriter, r *http.Request) {
			w.arrived(r)
			wait := release
			if strings.HasPrefix(r.URL.Path, "/long") {
				wait = long
			}
			select {
			case <-wait:
			case <-r.Context().Done():
			}
		}
	})
	w.start(n/2, "/short/")
	w.start(n-n/2, "/long/")
	grace := 3*time.Second + time.Duration(n)*3*time.Millisecond // enough to write down what has ended, also for a busy machine
	first := w.process(arguments{slots: n, grace: grace})
	w.until("all are in flight", first, func() bool { return w.arrivedInAll() == n })
	if err := first.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	close(release) // while the process drains
	if <-first.ended; first.err != nil {
		t.Errorf("the process ended by %v, want 0", first.err)
	}
	done := 0
	for id := range w.acked {
		if task, err := w.k.Get(t.Context(), mustID(t, id)); err == nil && task.State == store.Done {
			done++
		}
	}
	if done != n/2 {
		t.Errorf("%d requests were answered in time, want the %d short ones", done, n/2)
	}
	close(long)
	second := w.process(arguments{slots: n, grace: time.Second})
	w.until("all have ended", second, func() bool { return w.left() == 0 })
	w.judge()
	for id, once := range w.acked {
		task, err := w.k.Get(t.Context(), mustID(t, id))
		if err != nil || task.Crashes != 0 || task.Attempts != 0 && !once {
			t.Errorf("request %s was charged %d attempts and %d crashes, %v; want nothing", id, task.Attempts, task.Crashes, err)
		}
	}
}

func mustID(t *testing.T, text string) kernel.ID {
	t.Helper()
	id, err := store.ParseID(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}
