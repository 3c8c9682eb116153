// Package report shows what a contest gave: as a table, as JSON, as plots, and as BENCHMARKS.md. No figure is typed by hand.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/outlast-go/outlast/bench/contest"
)

// Table prints the comparisons.
func Table(w io.Writer, r contest.Results) {
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(t, "engine\tbench\tours\tother\tunit\tbetter by\tspread\trounds\tcpu µs ours\tother\tbeside")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t±%.0f %%\t%d\t%s\t%s\t%s\n", row.Engine, row.Bench, contest.Figure(row.Ours), other(row), row.Unit,
			better(row), row.Spread*50, row.Rounds, cpu(row.OursCPU, row.OursServerCPU), cpu(row.PeerCPU, row.PeerServerCPU), name(row))
	}
	_ = t.Flush() // a terminal that is gone is not told
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\n%s, %s, %s: %s\n", n.Bench, n.Engine, n.Side, strings.Join(n.Lines, "; "))
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(w, "\nleft out:\n")
	}
	for _, what := range r.LeftOut {
		fmt.Fprintf(w, "- %s\n", what)
	}
}

// better is by what factor ours is better; below 1 it is worse. Beside a bare store it is the share of it, and beside itself the ratio.
func better(r contest.Row) string {
	switch {
	case r.Error != "" && r.Better == 0:
		return "–"
	case r.Self:
		return contest.Figure(r.Ratio) + "x as much"
	case r.Bare:
		return fmt.Sprintf("%.0f %%", r.Better*100)
	case r.Never:
		return "–"
	case r.AtLeast:
		return fmt.Sprintf("> %sx", contest.Figure(r.Better))
	}
	return contest.Figure(r.Better) + "x"
}

func other(r contest.Row) string {
	switch {
	case r.Never:
		return "never"
	case r.AtLeast:
		return "> " + contest.Figure(r.Peer)
	}
	return contest.Figure(r.Peer)
}

func name(r contest.Row) string {
	if r.Error != "" {
		first, _, _ := strings.Cut(r.Error, "\n")
		return r.PeerName + ": " + first[:min(len(first), 200)]
	}
	return r.PeerName
}

// cpu writes the microseconds of the program and of the server.
func cpu(program, server float64) string {
	switch {
	case program < 0:
		return "–"
	case server < 0:
		return contest.Figure(program)
	}
	return contest.Figure(program) + "+" + contest.Figure(server)
}

// The files of a folder of results.
const (
	rowsFile = "latest.json" // the comparisons
	runsFile = "runs.json"   // when and on what they were made, and what was said beside them
)

// Save writes the results and a plot for each bench into a folder, in the place of what is there.
func Save(dir string, r contest.Results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "plot-*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	for name, value := range map[string]any{rowsFile: r.Rows, runsFile: r} {
		text, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return fmt.Errorf("write the results: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return plots(dir, r)
}

// load reads what Save has written; without it there are no results.
func load(dir string) (r contest.Results, err error) {
	for name, value := range map[string]any{rowsFile: &r.Rows, runsFile: &r} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return contest.Results{}, nil
		}
		if err == nil {
			err = json.Unmarshal(text, value)
		}
		if err != nil {
			return r, fmt.Errorf("read earlier results: %w", err)
		}
	}
	return r, nil
}
