package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/test/crash"
)

// asCommand makes the test's own program the command, and its workers.
const asCommand = "OUTLAST_CRASH_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// A short trial of everything on each engine: kills, stops, a server that dies, connections that are cut, answers that are lost, ways that are
// long or closed, a disk that is full, clocks that are wrong. FT-08, FT-09, FT-10, FT-12, FT-13, FT-18, FT-31
func TestAShortTrialOfEachEngine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"sqlite", "postgres", "pgbouncer", "redis"} {
		t.Run(engine, func(t *testing.T) {
			var out, errs bytes.Buffer
			cmd := exec.CommandContext(t.Context(), self, "-engine", engine, "-seconds", "9", "-seed", "3", "-dead", "3s", "-workers", "5")
			cmd.Env = append(os.Environ(), asCommand+"=1")
			cmd.Stdout, cmd.Stderr = &out, &errs
			failed := cmd.Run()
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			var r crash.Report
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
				t.Fatalf("the last line %q is no report: %v, %v\n%s", lines[len(lines)-1], err, failed, errs.String())
			}
			if failed != nil || !r.Good() {
				t.Errorf("%v: %s\n%s", failed, lines[len(lines)-1], errs.String())
			}
			hit := r.Tasks > 0 && r.Kills > 0 && r.Stops > 0 && r.StoreKills > 0 && r.Terms > 0
			if engine != "sqlite" {
				hit = hit && r.Cuts > 0 && r.AnswersLost > 0 && r.Delays > 0 && r.Partitions > 0
			}
			if !strings.Contains(errs.String(), "cannot be filled") { // where a file can be mounted
				hit = hit && r.DiskFills > 0
			}
			if !hit {
				t.Errorf("not everything was done: %s\n%s", lines[len(lines)-1], errs.String())
			}
		})
	}
}
