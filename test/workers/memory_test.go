package workers_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMemoryStaysFlat loads a daemon over 16 connections, with tasks that run in it, and looks at its resident memory: after the warm-up, which is the first third, it
// may not double. OUTLAST_MEMORY=10m makes it a trial of ten minutes with a line every 30 s, in which it may grow by a quarter and 16 MiB at most: caches are full by then.
// OUTLAST_MEMORY_STORE=postgres or redis chooses the store.
func TestMemoryStaysFlat(t *testing.T) {
	length, every, factor, more := 20*time.Second, time.Second, 2.0, 32.0
	if text := os.Getenv("OUTLAST_MEMORY"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		length, every, factor, more = d, 30*time.Second, 1.25, 16
	}
	engine := os.Getenv("OUTLAST_MEMORY_STORE")
	if engine == "" {
		engine = "sqlite"
	}
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	defer target.Close()
	p := begin(t, engines[engine](t), "--push", "k="+target.URL, "--no-guard", "--log-level", "error")
	var stop atomic.Bool
	var done atomic.Int64
	var group sync.WaitGroup
	for _, l := range p.linesFor(16, `{"kind":"k","args":{"n":1},"retention":"1s"}`) {
		group.Go(func() {
			for !stop.Load() {
				if err := l.submit(); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	var seen []float64 // MiB
	for begun := time.Now(); time.Since(begun) < length; {
		<-time.After(min(every, length-time.Since(begun)+time.Millisecond))
		seen = append(seen, p.daemon.resident())
		if every > time.Second {
			t.Logf("%5.0f s: %6.1f MiB resident, %d tasks", time.Since(begun).Seconds(), seen[len(seen)-1], done.Load())
		}
	}
	stop.Store(true)
	group.Wait()
	rest := seen[len(seen)/3:]
	first, last := highest(rest[:max(len(rest)/4, 1)]), highest(rest[len(rest)-max(len(rest)/4, 1):])
	t.Logf("%s: %d tasks in %v, resident %.1f MiB after the warm-up and %.1f MiB at the end", engine, done.Load(), length, first, last)
	if last > factor*first+more {
		t.Errorf("memory grew from %.1f to %.1f MiB", first, last)
	}
	if done.Load() == 0 {
		t.Error("nothing was submitted")
	}
}

func highest(list []float64) (most float64) {
	for _, v := range list {
		most = max(most, v)
	}
	return most
}

// resident is the memory of the process that is really there, in MiB.
func (c *process) resident() float64 {
	c.t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/status")
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				c.t.Fatal(err)
			}
			return n / 1024
		}
	}
	c.t.Fatal("the process has no memory")
	return 0
}
