package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/bench/contest"
)

// shown is the one folder of results that is kept in the repository.
const shown = "bench/out/full"

// Add puts a part of a full run into BENCHMARKS.md, beside what is there of others.
func Add(root string, r contest.Results) error {
	all, err := load(filepath.Join(root, filepath.FromSlash(shown)))
	if err != nil {
		return err
	}
	all.Add(r)
	return Write(root, all)
}

// Write makes BENCHMARKS.md of a full run, and the plots that it shows, below the root of the repository.
func Write(root string, r contest.Results) error {
	if err := Save(filepath.Join(root, filepath.FromSlash(shown)), r); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "BENCHMARKS.md"), []byte(Markdown(r, shown)), 0o644)
}

// Markdown is the page, with its plots in a folder.
func Markdown(r contest.Results, folder string) string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "# Benchmarks\n\nMade by `make bench WRITE=1`, or in parts by `make bench ONLY=… ADD=1`; no figure is typed by hand. Ratios are what counts: all sides of a comparison ran\n"+
		"on the same machine in turn, round after round. Figures are medians; spread is half of (most − least) / median over the rounds, the larger of both sides;\n"+
		"differences below it are none. CPU is microseconds per task of the program + the store's server. Outlast runs with the defaults of its configuration,\n"+
		"save where a bench says so.\n"+
		"Which of our targets are met, and what stands in the way of the others: [docs/speed.md](docs/speed.md).\n\n")
	fmt.Fprintf(&b, "| | |\n|---|---|\n| machine | %d cores, %s, %s |\n| system | %s, %s |\n| servers | %s, private, on the loopback |\n",
		m.Cores, m.CPU, m.Memory, m.System, m.Go, strings.Join(m.Servers, ", "))
	fmt.Fprintf(&b, "| durability | the same on both sides of each comparison: it stands above each table |\n")
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "| run of %s | `%s`, took %v |\n", day(run.Date), strings.ReplaceAll(run.Command, "|", "\\|"), run.Took.Round(time.Second))
	}
	met(&b, r)
	lost(&b, r)
	for _, bench := range names(r) {
		section(&b, r, bench, folder)
	}
	return b.String()
}

// lost lists the comparisons with peers that Outlast did not win.
func lost(b *strings.Builder, r contest.Results) {
	fmt.Fprintf(b, "\n## Lost\n\n")
	n := 0
	for _, row := range r.Rows {
		if row.Bare || row.Better >= 1 || row.Better == 0 {
			continue
		}
		n++
		fmt.Fprintf(b, "- %s, %s: %s %s; %s has %s.\n", row.Bench, row.Engine, contest.Figure(row.Ours), row.Unit, row.PeerName, other(row))
	}
	if n == 0 {
		fmt.Fprintf(b, "No comparison with a peer.\n")
	}
}

func section(b *strings.Builder, r contest.Results, bench, folder string) {
	first, engine := true, ""
	for _, row := range r.Rows {
		if row.Bench != bench {
			continue
		}
		if first {
			fmt.Fprintf(b, "\n## %s\n\n%s.\n\n![%s](%s/%s)\n", title(bench), title(row.Title), bench, folder, file(bench))
			first = false
		}
		if row.Engine != engine {
			engine = row.Engine
			fmt.Fprintf(b, "\n%s (%s), %s\n\n| beside | theirs | ours | unit | ours is better by | spread | rounds | CPU theirs | CPU ours |\n|---|---|---|---|---|---|---|---|---|\n", engine, row.Durability, day(row.Date))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | ±%.0f %% | %d | %s | %s |\n", name(row), other(row), contest.Figure(row.Ours), row.Unit,
			better(row), row.Spread*50, row.Rounds, cpu(row.PeerCPU, row.PeerServerCPU), cpu(row.OursCPU, row.OursServerCPU))
	}
	notes(b, r, bench)
}

// notes are what contestants said beside the figures: they stand below the last figure of their bench.
func notes(b *strings.Builder, r contest.Results, bench string) {
	for _, n := range r.Notes {
		all := names(r)
		last := slices.IndexFunc(all, func(name string) bool { return strings.HasPrefix(name, n.Bench) })
		for last >= 0 && last+1 < len(all) && strings.HasPrefix(all[last+1], n.Bench) {
			last++
		}
		if last >= 0 && all[last] == bench {
			fmt.Fprintf(b, "\n%s, %s: %s.\n", n.Engine, n.Side, strings.Join(n.Lines, "; "))
		}
	}
}

// day is when a run began.
func day(t time.Time) string { return t.Format("2006-01-02 15:04 UTC") }

func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
