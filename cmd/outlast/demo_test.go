package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/test/crash"
	"github.com/outlast-go/outlast/test/mutant"
)

// lastReport reads the report from the last line of an output.
func lastReport(t *testing.T, out string) crash.Report {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var r crash.Report
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil {
		t.Fatalf("the last line %q is no report: %v", lines[len(lines)-1], err)
	}
	return r
}

// FT-02, FT-12: processes are killed in the middle of their work; everything that was accepted ends once.
func TestTheDemoLosesNothing(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"demo", "--tasks", "2000", "--kills", "6", "--json"}, &out, &errs)
	r := lastReport(t, out.String())
	if code != cli.OK || !r.Good() || r.Tasks != 2000 || r.Kills != 6 || r.Recovered == 0 {
		t.Errorf("demo = %d, %+v\n%s", code, r, errs.String())
	}
}

// FT-08: workers are stopped for longer than others wait; what they say when they go on is refused.
func TestTheDemoRefusesLateOutcomes(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"demo", "--tasks", "3000", "--kills", "2", "--stops", "6", "--dead-after", "2s", "--json"}, &out, &errs)
	r := lastReport(t, out.String())
	if code != cli.OK || !r.Good() || r.Stops != 6 {
		t.Errorf("demo = %d, %+v\n%s", code, r, errs.String())
	}
}

func TestTheDemoTellsItsReportInWords(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"demo", "--tasks", "300", "--kills", "1"}, &out, &errs); code != cli.OK {
		t.Errorf("demo = %d\n%s%s", code, out.String(), errs.String())
	}
	for _, want := range []string{"kill -9", "300 tasks were accepted; 300 ended as they should", "Nothing was lost"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo does not say %q:\n%s", want, out.String())
		}
	}
}

// A judge that cannot find fault proves nothing: without fences, it must.
func TestWithoutFencesTheJudgeSaysSo(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	m := mutant.Mutant{Name: "no-fences", Edits: []mutant.Edit{{
		File: "store/sqlite/complete.go",
		Old:  "	return t.State == store.Running && t.Epoch == f.Epoch && t.Nonce == f.Nonce\n",
		New:  "	return true\n",
	}}}
	dir := t.TempDir()
	overlay, err := m.Plant(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "outlast")
	if out, err := execute(t.Context(), root, "go", "build", "-overlay", overlay, "-o", program, "./cmd/outlast"); err != nil {
		t.Fatalf("build = %v\n%s", err, out)
	}
	for seed := range 5 { // a worker that is stopped in the middle of a commit keeps everybody else from taking over
		out, err := execute(t.Context(), root, program, "demo", "--tasks", "1500", "--kills", "0", "--stops", "5", "--dead-after", "2s",
			"--json", "--seed", string(rune('1'+seed)))
		if r := lastReport(t, out); err != nil && r.CompletedTwice > 0 {
			return
		}
	}
	t.Error("the judge has not noticed that there are no fences")
}

func execute(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	return string(out), err
}
