package report

import (
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/outlast-go/outlast/bench/contest"
)

// bar is one line of a plot.
type bar struct {
	label string
	value float64
	kind  string // ours, peer, bare
	text  string
}

// group is what is drawn on one scale: a bench on one engine.
type group struct {
	engine string
	bars   []bar
}

// plots writes a picture for each bench.
func plots(dir string, r contest.Results) error {
	for _, bench := range names(r) {
		if err := os.WriteFile(filepath.Join(dir, file(bench)), []byte(plot(bench, r)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// names are those of the benches, in their order.
func names(r contest.Results) []string {
	var list []string
	for _, row := range r.Rows {
		if !slices.Contains(list, row.Bench) {
			list = append(list, row.Bench)
		}
	}
	return list
}

// file is the name of a bench's plot.
func file(bench string) string {
	return "plot-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(bench)) + ".svg"
}

func groups(bench string, r contest.Results) (list []group, unit string) {
	for _, row := range r.Rows {
		if row.Bench != bench {
			continue
		}
		unit = row.Unit
		if row.Less {
			unit += ", less is better"
		}
		if len(list) == 0 || list[len(list)-1].engine != row.Engine {
			list = append(list, group{row.Engine, []bar{{"outlast", row.Ours, "ours", contest.Figure(row.Ours)}}})
		}
		kind := "peer"
		if row.Bare {
			kind = "bare"
		}
		g := &list[len(list)-1]
		g.bars = append(g.bars, bar{row.PeerName, row.Peer, kind, other(row)})
	}
	return list, unit
}

// Sizes of a plot, in pixels.
const (
	letter     = 7 // of a label, about
	barWidth   = 420
	lineHeight = 22
)

// plot draws horizontal bars, each engine on a scale of its own.
func plot(bench string, r contest.Results) string {
	list, unit := groups(bench, r)
	labelWidth := 0
	for _, g := range list {
		for _, bar := range g.bars {
			labelWidth = max(labelWidth, 20+letter*utf8.RuneCountInString(bar.label))
		}
	}
	plotWidth := labelWidth + barWidth + 100
	var b strings.Builder
	y := 30
	fmt.Fprintf(&b, `<text x="10" y="20" class="title">%s (%s)</text>`+"\n", escape(bench), escape(unit))
	for _, g := range list {
		y += lineHeight
		fmt.Fprintf(&b, `<text x="10" y="%d" class="engine">%s</text>`+"\n", y-6, escape(g.engine))
		most := 0.0
		for _, bar := range g.bars {
			most = max(most, bar.value)
		}
		for _, bar := range g.bars {
			width := 0.0
			if most > 0 {
				width = max(1, bar.value/most*barWidth)
			}
			fmt.Fprintf(&b, `<text x="%d" y="%d" class="label">%s</text>`+"\n", labelWidth-8, y+15, escape(bar.label))
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="%d" class="%s"/>`+"\n", labelWidth, y+2, width, lineHeight-5, bar.kind)
			fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`+"\n", float64(labelWidth)+width+6, y+15, escape(bar.text))
			y += lineHeight
		}
	}
	y += 10
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">`, plotWidth, y, plotWidth, y)
	return head + "\n" + style + b.String() + "</svg>\n"
}

const style = `<style>
text { font: 13px sans-serif; fill: #333 } .title { font-size: 15px; font-weight: bold } .engine { font-weight: bold } .label { text-anchor: end }
.ours { fill: #2a7f62 } .peer { fill: #a9b4c2 } .bare { fill: #e3d9c6 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .peer { fill: #6b7684 } .bare { fill: #7d7460 } }
</style>
`

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
