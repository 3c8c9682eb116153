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
	Cuts            int      `json:"cuts"`            // of connections, lost answers among them
	AnswersLost     int      `json:"answers_lost"`    // cuts after the server had heard all and answered by half
	Delays          int      `json:"delays"`          // some had a longer way for a while
	Partitions      int      `json:"partitions"`      // nothing of a worker passed for a while
	DiskFills       int      `json:"disk_fills"`      // the store had no room for a while
	Terms           int      `json:"terms"`           // SIGTERM, then SIGKILL
	Misses          int      `json:"misses"`          // acts that could not be done
	Refused         int      `json:"refused"`         // submits that the store did not take
	Lost            int      `json:"lost"`            // accepted, and did not end as it should, or nobody did its work
	CompletedTwice  int      `json:"completed_twice"` // two endings of one task were accepted, or one of a claim that had been succeeded
	FencedRefused   int      `json:"fenced_refused"`  // late outcomes that were refused
	SinkRefused     int      `json:"sink_refused"`    // late effects that the world outside refused by their epoch
	RobbedLive      int      `json:"robbed_live"`     // workers declared dead while they ran unstopped and could reach the store
	Starved         int      `json:"starved"`         // workers declared dead whom the machine, as their own logs prove, had not let run
	Recovery        Recovery `json:"recovery_ms"`     // of deaths that left evidence
	RecoverySilent  Recovery `json:"recovery_silent_ms"`
	RecoveryOutage  Recovery `json:"recovery_outage_ms"` // of deaths about a time when the store was out of reach, from when it was back
	Deaths          Deaths   `json:"deaths"`
	Recovered       int      `json:"recovered"`        // tasks that were put back
	Crashed         int      `json:"crashed"`          // tasks that took several workers along, and were given up as crashed
	CrashedInnocent int      `json:"crashed_innocent"` // those of them that only had the bad luck of being there
	DuplicateStarts int      `json:"duplicate_starts"` // runs of plain tasks beyond the first of each
	Violations      int      `json:"violations"`
	Findings        []string `json:"findings,omitempty"` // each violation, each lost task, in words
}

// Recovery is the time from a death to the tasks of the dead running elsewhere, in milliseconds.
type Recovery struct {
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	Count int     `json:"count"`
}

// Deaths counts how workers were found to be dead.
type Deaths struct {
	Proof   int `json:"proof"`
	Gone    int `json:"gone"`
	Silence int `json:"silence"`
}

// Good reports whether every promise was kept.
func (r *Report) Good() bool {
	return r.Lost == 0 && r.CompletedTwice == 0 && r.RobbedLive == 0 && r.Violations == 0 && r.Done == r.Tasks
}

// judge compares what submitters were told with what workers wrote down, what the world outside was told, and what the store says at
// the end.
func (r *run) judge(ctx context.Context, st store.Store) (Report, error) {
	rep := Report{
		Engine: st.Info().Engine, Seed: r.cfg.Seed, Seconds: time.Since(r.begin).Seconds(), Tasks: len(r.acked),
		Kills: r.kills, Stops: r.stops, StoreKills: r.storeKills, Cuts: r.cuts, AnswersLost: r.losses, Delays: r.delays,
		Partitions: r.holds, DiskFills: r.fills, Terms: r.terms, Misses: r.misses, Refused: r.refused,
	}
	h := r.history()
	tasks, err := r.tasks(ctx, st)
	if err != nil {
		return rep, err
	}
	for id, kind := range r.acked {
		if problem := r.fate(id, kind, tasks, h); problem != "" {
			rep.Lost++
			rep.tell("task %s of kind %s: %s", id, kind, problem)
			continue
		}
		rep.Done++
	}
	rep.endings(h)
	rep.Crashed, rep.CrashedInnocent = h.crashed, h.innocent
	rep.FencedRefused, rep.Recovered = h.refused, h.recovered
	r.robbed(&rep)
	r.recoveries(&rep, h, st.Info())
	if r.sink != nil {
		rep.SinkRefused = r.sink.refused
	}
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

// endings looks for tasks that ended more than once.
func (r *Report) endings(h *history) {
	for id, endings := range h.accepted {
		last := h.starts[id][len(h.starts[id])-1].epoch
		switch {
		case len(endings) > 1:
			r.CompletedTwice++
			r.tell("task %s was completed under epochs %v", id, endings)
		case endings[0] < last:
			r.CompletedTwice++
			r.tell("task %s was completed under epoch %d, and begun again under %d", id, endings[0], last)
		}
	}
}

// tasks reads what the store says of all tasks that were accepted.
func (r *run) tasks(ctx context.Context, st store.Store) (map[string]kernel.Task, error) {
	all := make(map[string]kernel.Task, len(r.acked))
	end := time.Now().Add(30 * time.Second) // the store may still be coming back, and a connection that was cut while nobody used it shows only now
	for {
		err := st.Export(ctx, func(e store.Entry) error {
			if e.Task != nil && r.acked[e.Task.ID.String()] != "" {
				all[e.Task.ID.String()] = *e.Task
			}
			return nil
		})
		if err == nil {
			return all, nil
		}
		if store.Answered(err) || time.Now().After(end) {
			return nil, fmt.Errorf("read what became of the tasks: %w", err)
		}
		if err := r.rest(ctx, 100*time.Millisecond, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
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
func (r *run) fate(id, kind string, tasks map[string]kernel.Task, h *history) string {
	t, found := tasks[id]
	if !found {
		return "the store does not know it"
	}
	if problem := h.verdict(&t, kind); problem != "" {
		return problem
	}
	if r.sink == nil || t.State != store.Done {
		return ""
	}
	k := r.sink.seen[id]
	switch {
	case k == nil || k.effect == 0:
		return "is done, and the world outside never heard of it"
	case k.effect != t.Epoch || k.epoch != t.Epoch:
		return fmt.Sprintf("ended under epoch %d; the world outside saw its last effect under %d, and epoch %d", t.Epoch, k.effect, k.epoch)
	}
	return ""
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
		if kind != kindPoison {
			h.innocent++
		}
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
	outcomes  map[string]int // that were accepted
	crashed   int
	innocent  int
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
	return h
}
