package contest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/bench/part"
)

// Results are those of a whole run, or of several that measured different benches.
type Results struct {
	Runs    []Span
	Machine Machine
	Quick   bool
	Rows    []Row `json:"-"` // they have a file of their own
	Notes   []Note
	LeftOut []string // what was not measured, and why
}

// Span is when a run was made, and how.
type Span struct {
	Date    time.Time
	Took    time.Duration
	Command string
}

// Add puts the results of a later run in, in the place of older ones of the same benches.
func (r *Results) Add(later Results) {
	type place struct{ bench, engine string }
	measured := map[place]bool{}
	for _, row := range later.Rows {
		measured[place{row.Bench, row.Engine}] = true
	}
	r.Rows = append(slices.DeleteFunc(r.Rows, func(row Row) bool { return measured[place{row.Bench, row.Engine}] }), later.Rows...)
	r.Notes = append(slices.DeleteFunc(r.Notes, func(n Note) bool {
		return slices.ContainsFunc(later.Rows, func(row Row) bool { return row.Engine == n.Engine && strings.HasPrefix(row.Bench, n.Bench) })
	}), later.Notes...)
	r.Runs, r.Machine, r.LeftOut = append(r.Runs, later.Runs...), later.Machine, later.LeftOut
	r.Runs = slices.DeleteFunc(r.Runs, func(run Span) bool { // nothing of it is left
		return !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Date.Equal(run.Date) })
	})
	r.sort()
}

// sort brings the rows into the order of engines and benches.
func (r *Results) sort() {
	rank := map[string]int{}
	for _, cfg := range []Config{{}, {Huge: true}, {Memory: time.Hour}} {
		for _, b := range benches(cfg) {
			for _, v := range b.Values {
				if name := b.Name + v.Suffix; rank[name] == 0 {
					rank[name] = len(rank) + 1
				}
			}
		}
	}
	slices.SortStableFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(slices.Index(engines, a.Engine)-slices.Index(engines, b.Engine), rank[a.Bench]-rank[b.Bench])
	})
}

// Note is what a contestant had to say beside its figures.
type Note struct {
	Bench, Engine, Side string
	Lines               []string
}

// Row is one comparison: a figure of ours beside that of one other.
type Row struct {
	Bench    string  `json:"bench"`
	Engine   string  `json:"engine"`
	Ours     float64 `json:"ours"`
	Peer     float64 `json:"peer"`
	PeerName string  `json:"peer_name"`
	// Ratio is ours / peer, whichever is better.
	Ratio  float64 `json:"ratio"`
	Unit   string  `json:"unit"`
	Rounds int     `json:"rounds"`
	// Spread is (most − least) / median of the rounds, the larger of both sides.
	Spread float64 `json:"spread"`

	// Better is the factor by which ours is better, and below 1 if it is worse.
	Better float64 `json:"better"`
	Less   bool    `json:"less_is_better"`
	Bare   bool    `json:"bare_limit"`
	// Microseconds of CPU per task; negative if they cannot be told.
	OursCPU       float64 `json:"ours_cpu_us"`
	OursServerCPU float64 `json:"ours_server_cpu_us"`
	PeerCPU       float64 `json:"peer_cpu_us"`
	PeerServerCPU float64 `json:"peer_server_cpu_us"`
	Durability    string  `json:"durability"`
	Title         string  `json:"title"`
	OursSpread    float64 `json:"ours_spread"`
	PeerSpread    float64 `json:"peer_spread"`
	// AtLeast says that the peer's figure is a lower bound: it was not waited for any longer.
	AtLeast bool `json:"peer_at_least,omitempty"`
	// Never says that it would have been waited for in vain.
	Never bool `json:"peer_never,omitempty"`
	// Self says that the peer is ours as well, in another state: the ratio is what counts.
	Self  bool      `json:"beside_itself,omitempty"`
	Error string    `json:"error,omitempty"`
	Date  time.Time `json:"date"` // of the run
}

// rows are the comparisons of ours with each other side, for each figure of the bench.
func (s *series) rows() []Row {
	var list []Row
	for _, v := range s.bench.Values {
		ours := sum(s.reports[0], v.Name)
		for i, side := range s.bench.Sides[1:] {
			peer := sum(s.reports[i+1], v.Name)
			r := Row{
				Bench: s.bench.Name + v.Suffix, Engine: s.bench.Engine, Unit: v.Unit, Less: v.Less, Title: s.bench.Title,
				PeerName: side.Title, Bare: side.Bare, Durability: durability[s.bench.Engine],
				Ours: ours.median, Peer: peer.median, Rounds: min(ours.n, peer.n), Spread: tidy(max(ours.spread, peer.spread)),
				OursCPU: ours.cpu, OursServerCPU: ours.server, PeerCPU: peer.cpu, PeerServerCPU: peer.server,
				Self:       side.Name == s.bench.Sides[0].Name,
				OursSpread: tidy(ours.spread), PeerSpread: tidy(peer.spread), AtLeast: side.AtLeast > 0 && peer.median >= side.AtLeast,
			}
			r.Never = side.Never && r.AtLeast
			for _, err := range []error{s.errs[0], s.errs[i+1]} {
				if err != nil {
					r.Error = err.Error()
				}
			}
			if r.Ours > 0 && r.Peer > 0 {
				r.Ratio = tidy(r.Ours / r.Peer)
				r.Better = r.Ratio
				if r.Less {
					r.Better = tidy(r.Peer / r.Ours)
				}
			}
			list = append(list, r)
		}
	}
	return list
}

// summary is what the rounds of one side gave.
type summary struct {
	n              int
	median, spread float64
	cpu, server    float64
}

func sum(reports []part.Report, name string) summary {
	var values, cpu, server []float64
	for _, r := range reports {
		values, cpu, server = append(values, r.Values[name]), append(cpu, r.CPU), append(server, r.ServerCPU)
	}
	s := summary{n: len(values), median: tidy(median(values)), cpu: tidy(median(cpu)), server: tidy(median(server))}
	if s.median > 0 {
		s.spread = (slices.Max(values) - slices.Min(values)) / s.median
	}
	return s
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	if n := len(list); n%2 == 0 {
		return (list[n/2-1] + list[n/2]) / 2
	}
	return list[len(list)/2]
}

// tidy keeps four digits: the others are noise.
func tidy(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-3)
	v = math.Round(v/unit) * unit
	f, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return v
	}
	return f
}

// Figure writes a number as people read it.
func Figure(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100_000:
		return strconv.FormatFloat(v/1000, 'f', 0, 64) + "k"
	case a >= 10_000:
		return strconv.FormatFloat(v/1000, 'f', 1, 64) + "k"
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
