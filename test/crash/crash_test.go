package crash_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/crash"
)

// TestMain lets the test's own program be a worker process.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "worker" {
		os.Exit(worker(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

func worker(path string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	st, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err == nil {
		err = crash.Work(ctx, st, args)
		_ = st.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// world is a store in a folder, and worker processes on it.
type world struct {
	t    *testing.T
	path string
	k    *kernel.Kernel
	n    int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "test.db")}
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: w.path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	w.k = kerneltest.New(t, st, kernel.Config{})
	return w
}

// process is a worker process; ended is closed when it has, and err tells how.
type process struct {
	*os.Process
	ended chan struct{}
	err   error
}

// start starts a worker process.
func (w *world) start() *process {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	w.n++
	log := filepath.Join(filepath.Dir(w.path), fmt.Sprintf("w%d.log", w.n))
	cmd := exec.CommandContext(w.t.Context(), self, "worker", w.path, "-journal", log, "-grace", "1s")
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

func (w *world) submit(kind string, n int) []kernel.ID {
	w.t.Helper()
	specs := make([]kernel.Spec, n)
	for i := range specs {
		specs[i].Kind = kind
	}
	all, err := w.k.SubmitMany(w.t.Context(), specs)
	if err != nil {
		w.t.Fatal(err)
	}
	ids := make([]kernel.ID, n)
	for i, s := range all {
		ids[i] = s.ID
	}
	return ids
}

// running waits until a task runs, or runs again, under a given epoch.
func (w *world) running(id kernel.ID, epoch int64) kernel.Task {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for range 10_000 {
		task, err := w.k.Get(w.t.Context(), id)
		if err != nil {
			w.t.Fatal(err)
		}
		if task.Epoch >= epoch {
			return task
		}
		<-tick.C
	}
	w.t.Fatalf("task %s does not run under epoch %d", id, epoch)
	return kernel.Task{}
}

// FT-17: a worker that is asked to end lets short runs end and gives long ones back, at no cost.
func TestSIGTERMGivesLongRunsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start()
	long := w.submit("crash.endless", 2)
	w.running(long[1], 1)
	short := w.submit("crash.plain", 3)
	w.running(short[2], 1)
	if err := first.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-first.ended; first.err != nil {
		t.Errorf("the worker ended with %v, want nil", first.err)
	}
	for _, id := range short {
		kerneltest.Wait(t, w.k, id, store.Done)
	}
	w.start()
	for _, id := range long {
		if task := w.running(id, 2); task.Attempts != 0 || task.Crashes != 0 {
			t.Errorf("a long run was charged %d attempts and %d crashes, want none", task.Attempts, task.Crashes)
		}
	}
}

// FT-02: the only worker is killed; the next one finds its tasks at once.
func TestTheNextProcessFindsTheWorkOfTheOneBefore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start()
	ids := w.submit("crash.endless", 5)
	w.running(ids[4], 1)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.ended
	w.start()
	for _, id := range ids {
		if task := w.running(id, 2); task.Crashes != 1 || task.Attempts != 0 {
			t.Errorf("%d crashes, %d attempts; want 1, 0", task.Crashes, task.Attempts)
		}
	}
}

// FT-15: a job that kills its process is given up after three workers, four at most; those beside it are done.
func TestPoisonBesideAThousandInnocents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	poison := w.submit("crash.poison", 1)[0]
	fine := w.submit("crash.plain", 1000)
	deaths := 0
	for {
		p := w.start()
		waiting, cancel := context.WithCancel(t.Context())
		kernel.Real().Go(func() {
			<-p.ended
			cancel()
		})
		task, err := w.k.Wait(waiting, poison)
		died := waiting.Err() != nil
		cancel()
		if err == nil && task.State.Terminal() {
			if task.State != store.Failed || task.Reason != store.ReasonCrashed {
				t.Errorf("the poison ended as %s (%s), want failed (crashed)", task.State, task.Reason)
			}
			break
		}
		if !died || deaths > 4 {
			t.Fatalf("Wait = %v after %d deaths", err, deaths)
		}
		deaths++
	}
	for _, id := range fine {
		kerneltest.Wait(t, w.k, id, store.Done)
	}
	if deaths < 3 || deaths > 4 {
		t.Errorf("%d workers died, want 3 or 4", deaths)
	}
}
