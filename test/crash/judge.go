package crash

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// Report is what a run came to. Its fields are the same for every engine.
type Report struct {
	Engine          string   `json:"engine"`
	Seed            uint64   `json:"seed"`
	Seconds         float64  `json:"seconds"`
	Tasks           int      `json:"tasks"` // whose submit was answered
	Done            int      `json:"done"`  // ended as they should
	Kills           int      `json:"kills"`
	Stops           int      `json:"stops"`
	StoreKills      int      `json:"store_kills"`
	Cuts            int      `json:"cuts"`
	Lost            int      `json:"lost"`            // accepted, and did not end as it should, or nobody did its work
	CompletedTwice  int      `json:"completed_twice"` // two endings of one task were accepted, or one of a claim that had been succeeded
	FencedRefused   int      `json:"fenced_refused"`  // late outcomes that were refused
	RobbedLive      int      `json:"robbed_live"`     // workers declared dead while they ran unstopped
	Recovery        Recovery `json:"recovery_ms"`
	Recovered       int      `json:"recovered"`        // tasks that were put back
	Crashed         int      `json:"crashed"`          // tasks that took three workers or more along, and were given up as crashed
	DuplicateStarts int      `json:"duplicate_starts"` // runs of plain tasks beyond the first of each
	Violations      int      `json:"violations"`
	Findings        []string `json:"findings,omitempty"` // each violation, each lost task, in words
}

// Recovery is the time from a kill to the tasks of the killed running elsewhere, in milliseconds.
type Recovery struct {
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	Count int     `json:"count"`
}

// Good reports whether every promise was kept.
func (r *Report) Good() bool {
	return r.Lost == 0 && r.CompletedTwice == 0 && r.RobbedLive == 0 && r.Violations == 0 && r.Done == r.Tasks
}

// judge compares what submitters were told with what workers wrote down and with what the store says at the end.
func (r *run) judge(ctx context.Context, st store.Store) (Report, error) {
	rep := Report{
		Engine: st.Info().Engine, Seed: r.cfg.Seed, Seconds: time.Since(r.begin).Seconds(),
		Tasks: len(r.acked), Kills: r.kills, Stops: r.stops, StoreKills: r.storeKills, Cuts: r.cuts,
	}
	h := r.history()
	for id, kind := range r.acked {
		if problem := r.fate(ctx, id, kind, h); problem != "" {
			rep.Lost++
			rep.tell("task %s of kind %s: %s", id, kind, problem)
			continue
		}
		rep.Done++
	}
	rep.Crashed = h.crashed
	for id, endings := range h.accepted {
		last := h.starts[id][len(h.starts[id])-1].epoch
		switch {
		case len(endings) > 1:
			rep.CompletedTwice++
			rep.tell("task %s was completed under epochs %v", id, endings)
		case endings[0] < last:
			rep.CompletedTwice++
			rep.tell("task %s was completed under epoch %d, and begun again under %d", id, endings[0], last)
		}
	}
	rep.FencedRefused, rep.Recovered = h.refused, h.recovered
	rep.RobbedLive = r.robbed(&rep)
	rep.Recovery = recoveryTimes(h.waits)
	for _, starts := range h.starts {
		if r.plain(starts[0].text) {
			rep.DuplicateStarts += len(starts) - 1
		}
	}
	findings, err := r.check(ctx, st)
	if err != nil {
		return rep, err
	}
	rep.Violations = len(findings)
	for _, f := range findings {
		rep.tell("%s", f)
	}
	return rep, nil
}

// tell adds a finding, up to as many as somebody will read.
func (r *Report) tell(format string, args ...any) {
	if len(r.Findings) < 50 {
		r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
	}
}

func (r *run) plain(kind string) bool {
	return kind == kindPlain || kind == kindInstant || kind == kindLong
}

// fate says what is wrong with how a task ended; empty: nothing.
func (r *run) fate(ctx context.Context, text, kind string, h *history) string {
	id, err := store.ParseID(text)
	if err != nil {
		return err.Error()
	}
	t, err := r.k.Get(ctx, id)
	if err != nil {
		return err.Error()
	}
	return h.verdict(&t, kind)
}

// verdict judges how a task ended. One that was struck three times, the last time alone, is given up as crashed, whoever struck: nobody can
// tell a poison task from an innocent one. A strike is a claim without an outcome: the worker was killed, or it was stopped and its
// session cut, so that others had to take it for dead.
func (h *history) verdict(t *kernel.Task, kind string) string {
	crashed := t.State == store.Failed && t.Reason == store.ReasonCrashed
	id := t.ID.String()
	strikes, effects := int(t.Epoch)-h.outcomes[id], h.effects[id]
	switch {
	case crashed && strikes > store.Suspicion:
		h.crashed++
		return ""
	case kind == kindPoison:
		return fmt.Sprintf("ended as %s (%s) after %d strikes, want failed (crashed)", t.State, t.Reason, strikes)
	case t.State != store.Done:
		return fmt.Sprintf("ended as %s (%s %+v) after %d strikes, want done", t.State, t.Reason, t.Error, strikes)
	case effects == 0:
		return "is done, and nobody did it"
	case t.Attempts != 0:
		return fmt.Sprintf("has spent %d attempts on crashes", t.Attempts)
	}
	return ""
}

// history is what all journals tell together.
type history struct {
	starts    map[string][]line
	effects   map[string]int
	accepted  map[string][]int64 // endings that the store has accepted, by their epochs
	refused   int
	recovered int
	waits     []time.Duration // from a death to the next start of what was under way
	outcomes  map[string]int  // that were accepted
	crashed   int
}

func (r *run) history() *history {
	h := &history{starts: map[string][]line{}, effects: map[string]int{}, accepted: map[string][]int64{}, outcomes: map[string]int{}}
	for _, p := range r.fleet.all() {
		for _, l := range p.lines {
			if l.kind == lineAccepted {
				h.outcomes[l.task]++
			}
			switch {
			case l.kind == lineStart:
				h.starts[l.task] = append(h.starts[l.task], l)
			case l.kind == lineEffect:
				h.effects[l.task]++
			case l.kind == lineAccepted && store.State(l.text).Terminal():
				h.accepted[l.task] = append(h.accepted[l.task], l.epoch)
			case l.kind == lineRefused:
				h.refused++
			case l.kind == lineBack:
				h.recovered++
			}
		}
	}
	for _, starts := range h.starts {
		slices.SortFunc(starts, func(a, b line) int { return int(a.epoch - b.epoch) })
	}
	for _, p := range r.fleet.all() {
		if p.asked {
			continue
		}
		for task, epoch := range p.inFlight {
			if len(p.stopped) == 0 {
				h.wait(task, epoch, p.diedAt)
			}
		}
	}
	return h
}

// wait notes how long a task of a dead worker lay still. One whose outcome had been written just before has no later start; one whose next
// worker died as well before it could begin was recovered twice, and how long each took is not known.
func (h *history) wait(task string, epoch int64, died time.Time) {
	for _, l := range h.starts[task] {
		if l.epoch == epoch+1 {
			h.waits = append(h.waits, l.at.Sub(died))
			return
		}
	}
}

// robbed counts workers that were declared dead while their process ran, unstopped, for longer than a gone session counts.
func (r *run) robbed(rep *Report) int {
	owner := map[string]*process{}
	for _, p := range r.fleet.all() {
		for _, l := range p.lines {
			if l.kind == lineJoined {
				owner[l.worker] = p
			}
		}
	}
	robbed := 0
	for _, p := range r.fleet.all() {
		for _, l := range p.lines {
			if l.kind != lineDead {
				continue
			}
			if v := owner[l.worker]; v != nil && v.wasWell(l.at) {
				robbed++
				rep.tell("worker %s (%s) was declared dead by %s while it ran", l.worker, v.name, p.name)
			}
		}
	}
	return robbed
}

// wasWell reports whether a process ran at a time, and had not been stopped shortly before.
func (p *process) wasWell(at time.Time) bool {
	const grace = 1500 * time.Millisecond
	if !p.diedAt.IsZero() && p.diedAt.Before(at) || p.asked {
		return false
	}
	for _, s := range p.stopped {
		if s.from.Before(at) && (s.to.IsZero() || at.Before(s.to.Add(grace))) {
			return false
		}
	}
	return true
}

func recoveryTimes(waits []time.Duration) Recovery {
	if len(waits) == 0 {
		return Recovery{}
	}
	slices.Sort(waits)
	at := func(q float64) float64 {
		return float64(waits[min(int(q*float64(len(waits))), len(waits)-1)].Microseconds()) / 1000
	}
	return Recovery{P50: at(0.5), P99: at(0.99), Max: at(1), Count: len(waits)}
}
