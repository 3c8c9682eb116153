package sim

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/outlast-go/outlast/store"
)

// fault is what may befall one call of the store.
type fault uint8

const (
	faultNone       fault = iota
	faultDieBefore        // the process dies; the store never sees the call
	faultDieAfter         // the store applies it; the process dies before it learns so
	faultRefused          // an error; not applied
	faultLostAnswer       // applied; an error is returned
	faultLatePacket       // stalls on the way there: applied after the caller gave up
	faultLateAnswer       // applied; stalls on the way back
	faultCut              // the process is cut off
	faultOutage           // the store is away for everybody
	faultRestart          // the store was restarted: all sessions are gone
	faultCount

	// What only a schedule of faults asks for; where they are drawn, the mishaps have it.
	faultStopBefore = faultCount     // stopped beyond dead-after; sent when the process goes on
	faultStopAfter  = faultCount + 1 // applied; stopped beyond dead-after before the answer is there
)

var faultNames = [...]string{
	"none", "die-before", "die-after", "refused", "lost-answer", "late-packet", "late-answer", "cut", "outage", "restart", "stop-before", "stop-after",
}

// mishap is what may befall a process, or the world.
type mishap uint8

const (
	mishapKill mishap = iota
	mishapPause
	mishapDrain
	mishapCut
	mishapSession // the session is lost, the way to the store is open
	mishapClock
	mishapRestart
	mishapOutage
	mishapCount
)

// plan is what a seed has decided before anything happens: a swarm of faults, each on or off, with rates of its own.
type plan struct {
	evidence  store.EvidenceKind
	timing    store.Timing
	beat      time.Duration
	deadAfter time.Duration
	workers   int
	clients   int
	slots     int
	shutdown  time.Duration
	skew      time.Duration // of local clocks, at most
	drift     float64

	latency time.Duration
	call    [faultCount]float64           // chance per call
	every   [mishapCount]time.Duration    // mean time between; 0: never
	notice  struct{ lost, twice float64 } // chance per notice
	chaos   time.Duration                 // how long faults go on
	crashes int                           // kills at most
	full    bool                          // scan after every applied mutating call
	mix     mix
}

func makePlan(seed uint64, r *rand.Rand) plan {
	p := plan{
		evidence:  []store.EvidenceKind{store.EvidenceProof, store.EvidenceSession, store.EvidenceNone}[r.IntN(3)],
		deadAfter: time.Duration(3+r.IntN(10)) * time.Second,
		workers:   2 + r.IntN(3),
		clients:   1 + r.IntN(2),
		slots:     1 + r.IntN(6),
		latency:   time.Duration(1+r.IntN(10)) * time.Millisecond,
		crashes:   30,
		full:      seed%8 == 0,
	}
	p.beat = p.deadAfter / time.Duration(5+r.IntN(6))
	p.shutdown = time.Duration(r.Int64N(int64(p.deadAfter)))
	p.timing = store.Timing{
		Horizon:    10 * time.Minute,
		GoneAfter:  p.beat * time.Duration(3+r.IntN(3)) / 2,
		StuckGrace: p.deadAfter/2 + time.Duration(1+r.IntN(10))*time.Second, // longer than a call may take, as the defaults have it
		Aged:       time.Duration(1+r.IntN(60)) * time.Second,
	}
	if r.IntN(4) == 0 {
		p.timing.Horizon = time.Minute
	}
	p.chaos = 20*time.Second + 4*p.deadAfter
	if on(r) {
		p.skew, p.drift = time.Hour, 0.01
	}
	for f := faultDieBefore; f <= faultLateAnswer; f++ {
		if on(r) {
			p.call[f] = between(r, 0.002, 0.06)
		}
	}
	for m := range mishapCount {
		if on(r) {
			p.every[m] = time.Duration(between(r, 0.3, 4) * float64(p.deadAfter))
		}
	}
	p.every[mishapKill] = time.Duration(between(r, 0.2, 1.5) * float64(p.deadAfter))
	if on(r) {
		p.notice.lost, p.notice.twice = r.Float64(), r.Float64()/2
	}
	p.mix = makeMix(r)
	return p
}

func on(r *rand.Rand) bool { return r.IntN(2) == 0 }

// between draws from [low, high], evenly on the logarithm, so that rare and frequent faults come equally often.
func between(r *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, r.Float64())
}
