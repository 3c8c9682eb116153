//go:build unix

package batches_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// numbers is a source of so many rows, none of which is in memory.
func numbers(n int64) batch.Source[int64] {
	return batch.Seq(func(yield func(batch.Row[int64]) bool) {
		for i := int64(1); i <= n && yield(batch.Row[int64]{Line: i, Input: i}); i++ {
		}
	})
}

// submitTrial is the process that submits: it is killed and started again until it has come to its end.
func submitTrial(ctx context.Context, k *kernel.Kernel, j *journal, rows string) error {
	n, err := strconv.ParseInt(rows, 10, 64)
	if err != nil {
		return err
	}
	h, err := square(j).Submit(ctx, k, numbers(n), batch.Options{Key: "trial"})
	if err != nil {
		return err
	}
	j.note("submitted %s", h.ID())
	return nil
}

// setting reads a number that the trial was given.
func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// trial is one run of it.
type trial struct {
	t     *testing.T
	p     place
	dir   string
	rows  int64
	group sync.WaitGroup

	mu    sync.Mutex
	procs map[int]*exec.Cmd
	next  int
	over  bool
	kills int
	rss   int64 // of the process that submitted, in KiB
}

// start starts a process of this test under the next name.
func (tr *trial) start(env ...string) *exec.Cmd {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	n := tr.next
	tr.next++
	cmd := exec.CommandContext(context.WithoutCancel(tr.t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), envStore+"="+tr.p.url, envJournal+"="+filepath.Join(tr.dir, fmt.Sprintf("%03d.log", n)))
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tr.t.Errorf("start a process: %v", err)
		return nil
	}
	tr.procs[n] = cmd
	return cmd
}

// worker starts a worker, and another one whenever it was killed.
func (tr *trial) worker() {
	tr.group.Go(func() {
		for {
			cmd := tr.start()
			if cmd == nil {
				return
			}
			_ = cmd.Wait() // killed, or told to end
			tr.mu.Lock()
			for n, c := range tr.procs {
				if c == cmd {
					delete(tr.procs, n)
				}
			}
			over := tr.over
			tr.mu.Unlock()
			if over {
				return
			}
		}
	})
}

// kill kills one of the processes without a word.
func (tr *trial) kill() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	pick := rand.IntN(max(len(tr.procs), 1)) //nolint:gosec // any will do
	for _, cmd := range tr.procs {
		if pick == 0 {
			if cmd.Process.Kill() == nil {
				tr.kills++
			}
			return
		}
		pick--
	}
}

// end tells all processes to end.
func (tr *trial) end() {
	tr.mu.Lock()
	tr.over = true
	for _, cmd := range tr.procs {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	}
	tr.mu.Unlock()
	tr.group.Wait()
}

// submit has the rows submitted by a process that is killed on its way, and by further ones.
func (tr *trial) submit(kills int) {
	for n := 0; ; n++ {
		cmd := tr.start(envSubmit + "=" + fmt.Sprint(tr.rows))
		if cmd == nil {
			tr.t.FailNow()
		}
		if n < kills {
			timer := time.AfterFunc(time.Duration(100+200*n)*time.Millisecond, func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			if timer.Stop(); err == nil {
				return // it was quicker
			}
			continue
		}
		if err := cmd.Wait(); err != nil {
			tr.t.Fatalf("the process that submits: %v", err)
		}
		tr.rss = tr.peak()
		return
	}
}

// peak is how large the process was that came last; 0 where that cannot be told.
func (tr *trial) peak() int64 {
	text, err := os.ReadFile(filepath.Join(tr.dir, fmt.Sprintf("%03d.log", tr.next-1)) + peakSuffix)
	if err != nil {
		tr.t.Fatal(err)
	}
	if len(text) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		tr.t.Fatal(err)
	}
	return n
}

// Three processes work on a batch, and one after the other is killed, the one that submits as well: every row ends once, the counts are
// those of the rows, and Done comes once. `make batches` runs it with more rows and kills. AL-016, AL-112, AL-113
func TestKilledProcessesEndEveryRowOnce(t *testing.T) {
	t.Parallel()
	list := []string{"sqlite", "postgres", "redis"}
	if only := os.Getenv("BATCH_ENGINE"); only != "" {
		list = []string{only}
	}
	for _, name := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := &trial{t: t, p: newPlace(t, name), dir: t.TempDir(), rows: int64(setting("BATCH_ROWS", 6000)), procs: map[int]*exec.Cmd{}}
			tr.run(setting("BATCH_KILLS", 5))
		})
	}
}

func (tr *trial) run(kills int) {
	t := tr.t
	begin := time.Now()
	tr.submit(2)
	submitted := time.Since(begin)
	k := tr.p.client(t)
	h := square(nil).Handle(k, kernel.DeriveID("batch", "trial/square", "trial", "0"))
	if s, err := h.Status(t.Context()); err != nil || s.Rows != tr.rows {
		t.Fatalf("Status = %+v, %v; want %d rows", s, err, tr.rows)
	}
	for range 3 {
		tr.worker()
	}
	defer tr.end()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	s := tr.murder(ctx, h, kills)
	s = tr.pardon(ctx, h, s)
	tr.end()
	took := time.Since(begin) - submitted
	t.Logf("%s: %d rows submitted in %v (%d MiB at most), processed in %v, %d kills", tr.p.engine, s.Rows, submitted.Round(time.Millisecond), tr.rss>>10, took.Round(time.Millisecond), tr.kills)
	if tr.rss>>10 > 100 {
		t.Errorf("the process that submits took %d MiB, want 100 at most", tr.rss>>10)
	}
	if s.State != batch.Success || s.Success != tr.rows || s.Failed != 0 || s.Aborted != 0 || s.DoneError != "" {
		t.Errorf("Status = %+v; want %d rows that ended well", s, tr.rows)
	}
	if tr.kills < kills {
		t.Errorf("%d kills, want %d: the rows ended too soon", tr.kills, kills)
	}
	tr.judgeRows(ctx, h)
	tr.judgeJournals(s, k)
}

// pardon retries rows that were struck three times: they were given up, as poison is, and that is right. Others must not have failed.
func (tr *trial) pardon(ctx context.Context, h *batch.Handle[int64, int64], s batch.Status) batch.Status {
	if s.Failed == 0 {
		return s
	}
	for r, err := range h.All(ctx, batch.Failed) {
		if err != nil || r.Crashes < 3 {
			tr.t.Errorf("row %d failed: %+v, %v", r.Line, r, err)
		}
	}
	n, err := h.Retry(ctx)
	if err != nil || n != s.Failed {
		tr.t.Fatalf("Retry = %d, %v; want %d", n, err, s.Failed)
	}
	tr.t.Logf("%d rows were struck three times, and retried", n)
	if s, err = h.Wait(ctx); err != nil {
		tr.t.Fatalf("Wait = %v", err)
	}
	return s
}

// murder kills processes, spread over the rows, until the batch has ended.
func (tr *trial) murder(ctx context.Context, h *batch.Handle[int64, int64], kills int) batch.Status {
	for {
		s, err := h.Status(ctx)
		if err != nil {
			tr.t.Fatalf("Status = %v", err)
		}
		if s.State.Ended() {
			return s
		}
		if ended := s.Rows - s.Left(); tr.kills < kills && ended >= int64(tr.kills)*tr.rows/int64(kills+1) && ended > 0 {
			tr.kill()
		}
		wait(ctx, 2*time.Millisecond) // thousands of rows end in a blink
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judgeRows reads every row: each is there once, has ended well, and has its result.
func (tr *trial) judgeRows(ctx context.Context, h *batch.Handle[int64, int64]) {
	line := int64(0)
	for r, err := range h.All(ctx) {
		line++
		if err != nil || r.Line != line || r.State != batch.Success || r.Out != line*line {
			tr.t.Fatalf("row %d = %+v, %v", line, r, err)
		}
	}
	if line != tr.rows {
		tr.t.Errorf("%d rows are on record, want %d", line, tr.rows)
	}
}

// judgeJournals reads what the processes wrote: no row was told twice that it has ended, every row was run, and the closing task ended once.
func (tr *trial) judgeJournals(s batch.Status, k *kernel.Kernel) {
	t := tr.t
	ran, ended, dones := map[string]int{}, map[string]int{}, 0
	files, err := filepath.Glob(filepath.Join(tr.dir, "*.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		eachLine(t, name, func(words []string) {
			switch {
			case words[0] == "run":
				ran[words[1]]++
			case words[0] == "ended" && len(words) == 3:
				ended[words[2]]++
			case words[0] == "done":
				if want := fmt.Sprintf("done %d %d 0 0", tr.rows, tr.rows); s.Generation == 1 && strings.Join(words, " ") != want {
					t.Errorf("Done was told %v, want %q", words, want)
				}
				dones++
			}
		})
	}
	repeats := 0
	for _, n := range ran {
		repeats += n - 1
	}
	for id, n := range ended {
		if n > 1 {
			t.Errorf("task %s was told %d times that it has ended", id, n)
		}
	}
	t.Logf("%d rows ran again after a kill", repeats)
	if closings := count(t, k, "batch-done.trial/square"); int64(len(ran)) != tr.rows || closings != s.Generation || dones < s.Generation || dones > s.Generation+tr.kills {
		t.Errorf("%d rows ran, %d closing tasks, Done ran %d times in %d generations", len(ran), closings, dones, s.Generation)
	}
	// A process has 200 slots; a slot is free once its outcome is on its way, and up to 256 of those go in one call while others gather.
	if bound := tr.kills * (200 + 2*256); repeats > bound {
		t.Errorf("%d rows ran again; %d kills explain %d at most", repeats, tr.kills, bound)
	}
}

// eachLine reads the whole lines of a file: a kill may have cut the last.
func eachLine(t *testing.T, name string, fn func(words []string)) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		fn(strings.Fields(line))
	}
}
