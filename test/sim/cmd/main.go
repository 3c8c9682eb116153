// Command sim runs the seeded simulation of the kernel over the memory store, one simulation per core at a time; or, with -exhaust,
// small pieces of work under every schedule of one fault, or of two.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/test/sim"
)

type options struct {
	seeds   uint64
	first   uint64
	workers int
	minutes float64
	abroad  bool
	json    bool
	verbose bool
}

func main() {
	var o options
	one := flag.Int64("seed", -1, "run this seed alone, and print its trace")
	flag.Uint64Var(&o.seeds, "seeds", 2000, "how many seeds to run")
	flag.Uint64Var(&o.first, "first", 0, "the first seed")
	flag.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many simulations run side by side")
	flag.Float64Var(&o.minutes, "minutes", 0, "run for so long instead, whatever the number of seeds; with -exhaust: no longer than that")
	flag.BoolVar(&o.json, "json", false, "print the totals as JSON too")
	flag.BoolVar(&o.verbose, "v", false, "tell which cells were not reached")
	faults := flag.Int("exhaust", 0, "run all schedules of so many faults: 1 or 2")
	like := flag.String("scenario", "", "with -exhaust: only the cases whose name matches, as in ^group.*/proof")
	piece := flag.String("part", "", "with -exhaust: only this part of it, as in 1/13; a number that 8 does not divide, as there are 8 faults")
	flag.BoolVar(&o.abroad, "abroad", false, "with -exhaust 2: all pairs in each of the three worlds, and not only in the one that is the scenario's own; three times the work")
	name := flag.String("replay", "", "run this case, as in retry/proof, and print its trace")
	list := flag.String("faults", "", "with -replay: its faults, as in die-after@3,stop-before@9")
	flag.Parse()
	debug.SetGCPercent(500) // what a run leaves behind is little and all of it garbage: at the default it would cost a quarter of the time to collect
	debug.SetMemoryLimit(1 << 30)
	part, err := parseSlice(*piece)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case *name != "":
		os.Exit(rehearse(*name, *list))
	case *faults != 0:
		os.Exit(exhaust(*faults > 1, *like, part, o))
	}
	if *one >= 0 {
		os.Exit(replay(uint64(*one)))
	}
	os.Exit(many(o))
}

// replay runs one seed with its whole trace.
func replay(seed uint64) int {
	totals := sim.NewTotals()
	res := sim.Run(seed, totals, func(line string) { fmt.Println(line) })
	fmt.Printf("hash %016x, %d steps\n", res.Hash, res.Steps)
	if res.Violation != nil {
		fmt.Println(res.Violation)
		return 1
	}
	return 0
}

// fleet is the simulations that run side by side.
type fleet struct {
	next     atomic.Uint64
	stop     atomic.Bool
	mu       sync.Mutex
	totals   *sim.Totals
	findings []*sim.Violation
}

func many(o options) int {
	begin := time.Now()
	f := &fleet{totals: sim.NewTotals()}
	f.next.Store(o.first)
	end := o.first + o.seeds
	if o.minutes > 0 {
		end = ^uint64(0)
		timer := time.AfterFunc(time.Duration(o.minutes*float64(time.Minute)), func() { f.stop.Store(true) })
		defer timer.Stop()
	}
	var group sync.WaitGroup
	for range max(o.workers, 1) {
		group.Go(func() { f.work(end) })
	}
	group.Wait()
	wall := time.Since(begin)
	for _, v := range f.findings {
		explain(v)
	}
	f.totals.Print(os.Stdout, wall, o.verbose)
	if o.json {
		_ = json.NewEncoder(os.Stdout).Encode(f.totals) // to the terminal: nothing to be done
	}
	fmt.Printf("sim: %d seeds, %d crashes, %d violations\n", f.totals.Seeds, f.totals.Crashes, len(f.findings))
	if len(f.findings) > 0 {
		return 1
	}
	return 0
}

// work runs seeds until there are none left, or ten were found to break something.
func (f *fleet) work(end uint64) {
	totals := sim.NewTotals()
	for !f.stop.Load() {
		seed := f.next.Add(1) - 1
		if seed >= end {
			break
		}
		res := sim.Run(seed, totals, nil)
		if res.Violation == nil {
			continue
		}
		f.mu.Lock()
		f.findings = append(f.findings, res.Violation)
		if len(f.findings) >= 10 {
			f.stop.Store(true)
		}
		f.mu.Unlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.totals.Add(totals)
}

// explain runs a seed again for the end of its trace: it costs nothing until it is wanted.
func explain(v *sim.Violation) {
	const keep = 40
	var lines []string
	sim.Run(v.Seed, sim.NewTotals(), func(line string) {
		lines = append(lines, line)
		if len(lines) > 4*keep {
			lines = lines[len(lines)-keep:]
		}
	})
	for _, line := range lines[max(0, len(lines)-keep):] {
		fmt.Println(line)
	}
	fmt.Printf("%s\nreplay: go run ./test/sim/cmd -seed %d\n\n", v, v.Seed)
}
