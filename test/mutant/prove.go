package mutant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// Suite is one layer of tests.
type Suite struct {
	Name string
	Args []string // of the go command, after -overlay
	// Where finds in the suite's output what found the bug; empty: it does not say.
	Where func(out string) string
}

// Suites are the layers, in the order in which they are asked: first what is quick, then what is thorough.
func Suites() []Suite {
	test := func(name, folder string) Suite {
		return Suite{name, []string{"test", "-overlay", "", "-failfast", "-timeout", "5m", folder}, failedCase}
	}
	sim := func(seeds string) Suite {
		return Suite{"sim", []string{"run", "-overlay", "", "./test/sim/cmd", "-seeds", seeds}, firstSeed}
	}
	return []Suite{sim("300"), test("kernel", "./kernel"), test("storetest", "./store/memory"), sim("4000")}
}

// Finding is which suite found a mutant, and where.
type Finding struct {
	Suite string
	Where string
}

// Prove plants a mutant and runs the suites, until the first has found it or, with all, every one. An error says that the mutant
// does not fit the tree or does not compile: that is a fault of the mutant, and proves nothing.
func Prove(ctx context.Context, root string, m *Mutant, all bool) ([]Finding, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder: the system removes it sooner or later
	overlay, err := m.Plant(root, dir)
	if err != nil {
		return nil, err
	}
	if out, err := run(ctx, root, []string{"vet", "-overlay", overlay, "./store/memory", "./kernel"}); err != nil {
		return nil, fmt.Errorf("mutant %s does not compile: %w\n%s", m.Name, err, out)
	}
	var found []Finding
	for _, s := range Suites() {
		args := append([]string(nil), s.Args...)
		args[2] = overlay
		out, err := run(ctx, root, args)
		var exit *exec.ExitError
		switch {
		case err == nil:
			continue
		case !errors.As(err, &exit):
			return found, fmt.Errorf("mutant %s: %s: %w", m.Name, s.Name, err)
		}
		f := Finding{Suite: s.Name, Where: "?"}
		if where := s.Where(out); where != "" {
			f.Where = where
		} else if i := strings.Index(out, "panic: "); i >= 0 {
			f.Where, _, _ = strings.Cut(out[i:], "\n")
		}
		if found = append(found, f); !all {
			break
		}
	}
	return found, nil
}

var (
	replayLine = regexp.MustCompile(`(?m)^replay: .*-(seed \d+)$`)
	failLine   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// firstSeed returns the first seed that a simulation tells to replay.
func firstSeed(out string) string {
	if m := replayLine.FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}

// failedCase returns the longest name that failed: that of the case itself, and not of what it is part of.
func failedCase(out string) string {
	longest := ""
	for _, m := range failLine.FindAllStringSubmatch(out, -1) {
		if len(m[1]) > len(longest) {
			longest = m[1]
		}
	}
	return longest
}

func run(ctx context.Context, root string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ProveAll proves every mutant whose name contains the filter, tells each on w, and returns how many were found of how many.
func ProveAll(ctx context.Context, w io.Writer, root, filter string, all bool) (found, total int, err error) {
	for _, m := range All() {
		if !strings.Contains(m.Name, filter) {
			continue
		}
		total++
		findings, err := Prove(ctx, root, &m, all)
		if err != nil {
			return found, total, err
		}
		by := "NOT FOUND"
		if len(findings) > 0 {
			found++
			var list []string
			for _, f := range findings {
				list = append(list, f.Suite+" ("+f.Where+")")
			}
			by = "found by " + strings.Join(list, ", ")
		}
		fmt.Fprintf(w, "%-24s %-90s %s\n", m.Name, m.What, by)
	}
	return found, total, nil
}
