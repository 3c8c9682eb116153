package calls_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/outlast-go/outlast/test/servers"
)

// home is a fresh store of one test.
type home struct {
	url string
	dir string // has all of its files
	log string // of its writes: what the path to it in dir begins with
	// flush brings to the files what the server still has in memory, and returns what the server has logged.
	flush func() string
}

// engines are those that outlive a process, each on a server of its own.
var engines = []struct {
	name string
	make func(t *testing.T) home
}{
	{"sqlite", func(t *testing.T) home {
		dir := t.TempDir()
		return home{url: "sqlite:" + dir + "/calls.db", dir: dir, log: "calls.db-wal", flush: func() string { return "" }}
	}},
	{"postgres", func(t *testing.T) home {
		s := servers.StartPostgres(t)
		return home{url: s.URL(), dir: s.Dir(), log: "data/pg_wal", flush: func() string {
			s.Query(t, "CHECKPOINT")
			return s.Log()
		}}
	}},
	{"redis", func(t *testing.T) home {
		s := servers.NewRedis(t, servers.RedisConfig{})
		return home{url: s.URL(), dir: s.Dir(), log: "appendonlydir", flush: func() string {
			s.Do("SAVE") // beside the append-only file, which is there already
			return s.Log()
		}}
	}},
}

// each runs a test on all engines: side by side if they are small, and one after the other if they are not, as a machine has only so
// many files to open.
func each(t *testing.T, test func(t *testing.T, h home)) {
	t.Helper()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			if os.Getenv(sizeVar) == "" {
				t.Parallel()
			}
			test(t, e.make(t))
		})
	}
}

// sizeVar says how many requests are tried.
const sizeVar = "CALLS"

// size is how many requests are tried: CALLS, or few enough for every day.
func size(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv(sizeVar)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < few {
		t.Fatalf("%s=%s: want a number, %d at least", sizeVar, text, few)
	}
	return n
}
