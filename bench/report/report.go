// Package report shows what a contest gave: as a table, as JSON, as plots, and as BENCHMARKS.md. No figure is typed by hand.
package report

import (
	"encoding/json"
	"fmt"
	"io"
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

// Save writes latest.json and a plot for each bench into a folder.
func Save(dir string, r contest.Results) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r.Rows, "", "  ")
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "latest.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return plots(dir, r)
}
