package report

import (
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/bench/contest"
)

// target is what we want of a figure.
type target struct {
	bench, engine string // as in a row; no engine: each
	beside        beside
	want          float64
}

// beside says what a figure is compared with.
type beside int

const (
	bestPeer beside = iota // at least so many times as good as each peer
	limit                  // at least such a share of what the bare store gives
	emptier                // at most so many times what it is of ours in the emptiest store
	plain                  // at most so many times what it is without a store
	itself                 // at most so much, or for a rate at least
)

// targets are those that the project has set itself. A figure beside no peer of the run stands for five times what others have published.
var targets = []target{
	{"drain", "sqlite", limit, 0.5},
	{"drain", "sqlite", bestPeer, 8},
	{"submit 16", "sqlite", bestPeer, 1.5},
	{"submit bulk", "sqlite", bestPeer, 1.2},
	{"drain", "postgres", limit, 0.5},
	{"drain", "postgres", bestPeer, 1.6},
	{"submit 1", "postgres", bestPeer, 3},
	{"submit 16", "postgres", bestPeer, 5},
	{"submit bulk", "postgres", bestPeer, 2.5},
	{"drain", "redis", bestPeer, 3},
	{"end to end", "redis", bestPeer, 2.5},
	{"submit 16", "redis", bestPeer, 1.3},
	{"idle latency p50", "sqlite", itself, 0.6},
	{"idle latency p99", "sqlite", itself, 3},
	{"idle latency p50", "redis", itself, 0.6},
	{"idle latency p99", "redis", itself, 3},
	{"idle latency p50", "postgres", itself, 1.5},
	{"idle latency p99", "postgres", itself, 5},
	{"sagas of 3", "sqlite", itself, 5 * 549},
	{"sagas of 3", "postgres", itself, 5 * 920},
	{"sagas of 3", "redis", itself, 5 * 361},
	{"sagas of 3", "sqlite", bestPeer, 5},
	{"sagas of 3", "postgres", bestPeer, 5},
	{"crash", "", itself, 3},
	{"calls rate", "", limit, 0.6},
	{"calls memory", "", plain, 1.6},
	{"full store claim", "", emptier, 1.5},
	{"full store complete", "", emptier, 1.5},
	{"full store recover", "", emptier, 1.5},
	{"full store list", "", emptier, 1.5},
}

// met lists the targets, and whether they are met. What was not measured is not there.
func met(b *strings.Builder, r contest.Results) {
	reached, all := 0, 0
	var lines strings.Builder
	for _, t := range targets {
		for _, engine := range []string{"sqlite", "postgres", "redis"} {
			if t.engine != "" && t.engine != engine {
				continue
			}
			words, ok, there := t.judge(r, engine)
			if !there {
				continue
			}
			all++
			verdict := "**no**"
			if ok {
				reached++
				verdict = "yes"
			}
			fmt.Fprintf(&lines, "| %s, %s | %s | %s |\n", t.bench, engine, words, verdict)
		}
	}
	if all > 0 {
		fmt.Fprintf(b, "\n## Targets\n\n%d of %d are met.\n\n| bench | target, and what was measured | met |\n|---|---|---|\n%s", reached, all, lines.String())
	}
}

// judge compares the figures of a bench on an engine with a target.
func (t target) judge(r contest.Results, engine string) (words string, ok, there bool) {
	var row contest.Row
	for _, one := range r.Rows {
		if one.Bench == t.bench && one.Engine == engine && t.among(one) && (!there || t.beside == bestPeer && one.Better < row.Better) {
			row, there = one, true
		}
	}
	switch t.beside {
	case bestPeer:
		words, ok = fmt.Sprintf("%gx the best peer; %s (%s)", t.want, better(row), row.PeerName), row.Better >= t.want
	case limit:
		words, ok = fmt.Sprintf("%.0f %% of %s; %.0f %%", t.want*100, row.PeerName, row.Better*100), row.Better >= t.want
	case emptier, plain:
		words, ok = fmt.Sprintf("%gx of %s at most; %sx", t.want, strings.TrimPrefix(row.PeerName, "outlast, "), contest.Figure(row.Ratio)), row.Ratio <= t.want
	case itself:
		words, ok = fmt.Sprintf("%s %s at least; %s", contest.Figure(t.want), row.Unit, contest.Figure(row.Ours)), row.Ours >= t.want
		if row.Less {
			words, ok = fmt.Sprintf("%s %s at most; %s", contest.Figure(t.want), row.Unit, contest.Figure(row.Ours)), row.Ours <= t.want
		}
	}
	return words, ok && row.Ours > 0, there
}

// among reports whether a row is one that a target is about.
func (t target) among(row contest.Row) bool {
	switch t.beside {
	case bestPeer:
		return !row.Bare && row.Better > 0
	case limit, plain:
		return row.Bare && !row.Self
	case emptier:
		return row.Self && strings.HasSuffix(row.PeerName, "an empty store")
	case itself:
	}
	return true
}
