package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Config says what is run. All but Open has a default.
type Config struct {
	// Open returns a handle on the store, as another process would have it. All handles are of one empty namespace.
	Open func(ctx context.Context) (store.Store, error)
	// Engine is how the report calls the store.
	Engine string
	// Seed decides what the clients do and what befalls them. How their calls meet is up to the machine.
	Seed uint64
	// Seconds is how long rounds are begun. Default 0: as few as have something to tell.
	Seconds float64
	// Rounds ends it after so many rounds, if that is sooner. Default 0: no bound but Seconds.
	Rounds int
	// Clients at the same time. Default: 5.
	Clients int
	// Calls that each client makes in a round. Default: 60.
	Calls int
	// Faults says that one call in so many meets a fault. Default: 8. Negative: none does.
	Faults int
	// Loose allows what calls of PostgreSQL do that run side by side. A claim on an ordered lane may pass over an older task whose submit
	// or Retry was under way when the claim began: it looks at the head of the lane under a lock that neither of these takes, and the
	// older one is next. A call may not see an abort that was under way when it began: the task is asked by the next Promote. A
	// worker that leaves may have been declared dead, though one of its tasks was left to a call that had it locked: it then counts as crashed.
	Loose bool
	// Patience is how long the judgement of one partition may take. Default: 20 s.
	Patience time.Duration
	// Pictures is where a history that cannot be is drawn. Default: the folder for temporary files.
	Pictures string
}

// Timing is how a store for histories is set up: deaths are told soon.
func Timing() store.Timing {
	return store.Timing{GoneAfter: 2 * beat, RecoverEvery: beat}
}

func (cfg Config) withDefaults() Config {
	for _, f := range []struct {
		field *int
		value int
	}{{&cfg.Clients, 5}, {&cfg.Calls, 60}, {&cfg.Faults, 8}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	cfg.Faults = max(cfg.Faults, 0)
	if cfg.Patience == 0 {
		cfg.Patience = 20 * time.Second
	}
	return cfg
}

// Report is what a run has found.
type Report struct {
	Engine     string   `json:"engine"`
	Seed       uint64   `json:"seed"`
	Seconds    float64  `json:"seconds"`
	Rounds     int      `json:"rounds"`
	Operations int      `json:"operations"` // calls that were made
	Lost       int      `json:"lost"`       // records of calls whose answer nobody got
	Deaths     int      `json:"deaths"`     // workers that were declared dead
	Late       int      `json:"late"`       // writes that were refused because their fence was lost
	Partitions int      `json:"partitions"` // histories that were judged
	Largest    int      `json:"largest"`    // records in the largest of them
	Unknown    int      `json:"unknown"`    // of which were not decided in time
	Violations int      `json:"violations"` // of which cannot be
	Pictures   []string `json:"pictures,omitempty"`
}

// Good reports whether every history was judged and can be.
func (r *Report) Good() bool { return r.Unknown == 0 && r.Violations == 0 && r.Partitions > 0 }

// Telling reports whether the histories have something to tell: workers died, answers were lost, late writes refused.
func (r *Report) Telling() bool { return r.Deaths > 0 && r.Late > 0 && r.Lost > 0 }

// run is a run under way.
type run struct {
	cfg     Config
	rand    *rand.Rand
	clients []*client
	heart   *client // beats, recovers, and has no faults
	report  Report
}

// Run makes rounds until the time is up, and judges each. It stops at the first round that cannot be.
func Run(ctx context.Context, cfg Config) (Report, error) {
	cfg = cfg.withDefaults()
	r := &run{cfg: cfg, rand: chance(cfg.Seed, 0), report: Report{Engine: cfg.Engine, Seed: cfg.Seed}}
	start := time.Now()
	defer r.close()
	for i := range cfg.Clients + 1 {
		own := chance(cfg.Seed, uint64(i)+1)
		c := &client{log: &log{}, rand: own, faults: &faults{rand: own}, open: cfg.Open}
		raw, err := cfg.Open(ctx)
		if err != nil {
			return r.report, fmt.Errorf("open a handle: %w", err)
		}
		c.use(raw)
		r.clients = append(r.clients, c)
	}
	r.heart, r.clients = r.clients[cfg.Clients], r.clients[:cfg.Clients]
	peers := make([]*atomic.Value, cfg.Clients)
	for i, c := range r.clients {
		peers[i], c.peers = &atomic.Value{}, peers
	}
	for {
		if err := r.round(ctx); err != nil {
			return r.report, err
		}
		r.report.Seconds = time.Since(start).Seconds()
		if !r.report.Good() || r.enough() {
			return r.report, nil
		}
	}
}

// enough reports whether no further round is needed. The last one may be late, if so far nobody died and nothing was lost.
func (r *run) enough() bool {
	if r.cfg.Rounds > 0 && r.report.Rounds >= r.cfg.Rounds {
		return true
	}
	telling := r.report.Telling() || r.cfg.Faults == 0 || r.report.Rounds >= 20
	return r.report.Seconds >= r.cfg.Seconds && telling
}

func chance(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // a seed must repeat the same calls
}

func (r *run) close() {
	for _, c := range append(r.clients, r.heart) {
		if c != nil {
			_ = c.raw.Close() // nothing waits to be written
		}
	}
}

// size is how many tasks a cell has.
type size struct {
	kind  kind
	tasks int
}

var (
	wide = []size{{plain, 3}, {plain, 3}, {plain, 2}, {group, 4}, {unique, 6}, {unique, 4}, {skip, 5}, {block, 4}}
	// narrow are cells in which all clients meet at the same few tasks.
	narrow = []size{{plain, 1}, {group, 1}, {unique, 2}, {skip, 2}, {block, 2}}
)

// cells makes the tasks of a round: of every second one few.
func (r *run) cells() []*cell {
	sizes := wide
	if r.report.Rounds%2 == 0 {
		sizes = narrow
	}
	var cells []*cell
	base := time.Now()
	for i, of := range sizes {
		c := &cell{kind: of.kind, tasks: of.tasks, queue: fmt.Sprintf("%s-%d-%d", of.kind, r.report.Rounds, i)}
		for n := 1; n <= of.tasks; n++ {
			var random [16]byte
			for j := range random {
				random[j] = byte(r.rand.Uint32())
			}
			c.ids[n] = store.MakeID(base.Add(time.Duration(n)*time.Millisecond), random)
		}
		if of.kind == group {
			c.group = store.DeriveID("group", c.ids[1].String())
		}
		cells = append(cells, c)
	}
	return cells
}

// round lets the clients loose on new tasks, lets the store come to rest, looks, and judges.
func (r *run) round(ctx context.Context) error {
	r.report.Rounds++
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cells, since := r.cells(), time.Now()
	everybody := append(append([]*client{}, r.clients...), r.heart)
	for i, c := range everybody {
		*c.log = log{client: i, loose: r.cfg.Loose, since: since}
		c.name = fmt.Sprintf("c%d.%d", i, r.report.Rounds)
		c.cells, c.held, c.lost, c.lives = cells, nil, nil, 0
		c.join(ctx)
	}
	for _, c := range cells {
		if c.kind == group {
			r.heart.fill(ctx, c)
		}
	}
	if err := r.storm(ctx); err != nil {
		return err
	}
	end := r.heart.now()
	pause(4 * delay)
	for _, c := range r.clients {
		c.leave(ctx, c.worker)
	}
	if err := r.heart.settle(ctx); err != nil {
		return err
	}
	r.heart.look(ctx)
	r.heart.leave(ctx, r.heart.worker)
	var logs []*log
	for _, c := range everybody {
		logs = append(logs, c.log)
		r.count(c.log)
	}
	return r.judge(partitions(logs, end))
}

// storm is the time in which all clients call at once.
func (r *run) storm(ctx context.Context) error {
	var wait, beats sync.WaitGroup
	errs := make([]error, len(r.clients))
	done := make(chan struct{})
	beats.Go(func() { r.heart.keep(ctx, done) })
	for i, c := range r.clients {
		wait.Go(func() {
			c.faults.every = r.cfg.Faults
			errs[i] = c.run(ctx, r.cfg.Calls)
			c.faults.every = 0
		})
	}
	wait.Wait()
	close(done)
	beats.Wait()
	return errors.Join(errs...)
}

func (r *run) count(l *log) {
	r.report.Operations += l.calls
	for _, rec := range append(l.tasks, l.workers...) {
		switch {
		case rec.out.Unknown:
			r.report.Lost++
		case rec.out.Answer.Err == fenced:
			r.report.Late++
		case rec.in.Op == opRecover && rec.cell == nil:
			r.report.Deaths++
		}
	}
}
