package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/bench/contest"
	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/bench/report"
	"github.com/outlast-go/outlast/bench/side"
	"github.com/outlast-go/outlast/internal/arch"
)

// TestMain is also the program of the contestants: they are processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "part" {
		os.Exit(part.Main(side.Measure))
	}
	os.Exit(m.Run())
}

// The program measures, and what it writes can be read by others. That a figure is good is not for a test to say.
func TestTheProgramMeasures(t *testing.T) {
	r, err := contest.Run(t.Context(), contest.Config{
		Quick: true, Tiny: true, Rounds: 2, Source: ".", Log: io.Discard,
		Only: regexp.MustCompile(`^sqlite/(submit 16|drain|idle latency|batch rows|batch of 5000|sagas of 3|hand-off|2 processes|full store)$`),
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := report.Save(dir, r); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "latest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	if err := json.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) < 12 {
		t.Errorf("latest.json has %d rows, want 12 at least:\n%s", len(rows), text)
	}
	for _, row := range rows {
		for _, name := range []string{"bench", "engine", "ours", "peer", "peer_name", "ratio", "unit", "rounds", "spread"} {
			if row[name] == nil {
				t.Errorf("a row has no %s: %v", name, row)
			}
		}
		if ratio, ok := row["ratio"].(float64); !ok || ratio <= 0 || row["error"] != nil {
			t.Errorf("a comparison has no figures: %v", row)
		}
	}
	if found, err := filepath.Glob(filepath.Join(dir, "plot-*.svg")); err != nil || len(found) < 9 {
		t.Errorf("plots = %v, %v; want one for each bench", found, err)
	}
	if page := report.Markdown(r, "x"); !strings.Contains(page, "## Drain") || !strings.Contains(page, "synchronous=FULL") {
		t.Errorf("the page lacks a bench or its durability:\n%s", page)
	}
}

// A full run may be made in parts: what is measured anew takes the place of what was there, and all else stays.
func TestPartsOfARunComeTogether(t *testing.T) {
	t.Parallel()
	root, first, second := t.TempDir(), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
	add := func(at time.Time, rows ...contest.Row) {
		for i := range rows {
			rows[i].Date, rows[i].PeerName, rows[i].Better = at, "another", 2
		}
		r := contest.Results{Runs: []contest.Span{{Date: at, Command: "go run . -add"}}, Rows: rows, Notes: []contest.Note{{Bench: rows[0].Bench, Engine: rows[0].Engine, Lines: []string{"said at " + at.String()}}}}
		if err := report.Add(root, r); err != nil {
			t.Fatal(err)
		}
	}
	add(first, contest.Row{Bench: "crash", Engine: "sqlite", Ours: 11}, contest.Row{Bench: "drain", Engine: "redis", Ours: 12})
	add(second, contest.Row{Bench: "drain", Engine: "sqlite", Ours: 21}, contest.Row{Bench: "crash", Engine: "sqlite", Ours: 22})
	text, err := os.ReadFile(filepath.Join(root, "BENCHMARKS.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, want := range []string{"| 12.0 |", "| 21.0 |", "| 22.0 |", "run of 2000-01-01", "run of 2000-01-02", "said at 2000-01-02"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "| 11.0 |") || strings.Contains(page, "said at 2000-01-01") || strings.Index(page, "## Drain") > strings.Index(page, "## Crash") {
		t.Errorf("the page has what was measured anew, or another order than the benches:\n%s", page)
	}
}

// A median and a spread are made of all rounds, and a comparison is lost where it is lost.
func TestFiguresAreThoseOfTheRounds(t *testing.T) {
	t.Parallel()
	page := report.Markdown(contest.Results{Rows: []contest.Row{
		{Bench: "drain", Engine: "redis", Ours: 100, Peer: 200, Ratio: 0.5, Better: 0.5, Unit: "tasks/s", PeerName: "another"},
		{Bench: "drain", Engine: "redis", Ours: 100, Peer: 300, Ratio: 0.3, Better: 0.3, Unit: "tasks/s", PeerName: "bare redis", Bare: true},
	}}, "x")
	_, targets, _ := strings.Cut(page, "## Targets")
	if !strings.Contains(targets, "0 of 1 are met") || !strings.Contains(targets, "| drain, redis | 3x the best peer; 0.50x (another) | **no** |") {
		t.Errorf("the targets are %q; want one that is not met", targets)
	}
	_, lost, _ := strings.Cut(page, "## Lost")
	lost, _, _ = strings.Cut(lost, "## Drain")
	if !strings.Contains(lost, "another has 200") || strings.Contains(lost, "bare redis") {
		t.Errorf("the list of lost comparisons is %q; want that with the peer, and not that with the bare store", lost)
	}
}

// The module keeps the rules of the tree, save that its folders are no rooms of the main module.
func TestTheModuleKeepsItsShape(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "part", "riversqlite", "temporal"} {
		tree, err := arch.Load(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range tree.Check() {
			if f.Rule != "arrow" {
				t.Errorf("%s/%v", dir, f)
			}
		}
	}
}
