package postgres

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/outlast-go/outlast/store"
)

// Bounds of how saves go together.
const (
	saveFlights = 2   // calls under way at once
	saveLimit   = 256 // of one call
)

// saves gathers the saves of runs. A lone one goes at once; what comes while saveFlights calls are under way makes up the next. Each is
// answered by itself: what is wrong with one of them, or holds it up, spoils no other.
type saves struct {
	s     *Store
	flush func(batch []*saving)
	stop  context.CancelFunc

	mu    sync.Mutex
	busy  int
	queue []*saving
}

// saving is one Save under way.
type saving struct {
	ctx  context.Context //nolint:containedctx // of the caller that waits for it
	wire saveRequest
	done chan struct{}
	got  saveAnswer
	err  error
}

type saveManyRequest struct {
	Horizon int64         `json:"horizon"`
	Items   []saveRequest `json:"items"`
}

type saveManyAnswer struct {
	answer
	Saved map[string]string `json:"saved"`
}

func newSaves(ctx context.Context, s *Store) *saves {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	return &saves{s: s, stop: stop, flush: func(batch []*saving) { s.saveMany(life, batch) }}
}

// add hands one over. Its done is closed when its answer is known.
func (g *saves) add(t *saving) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy < saveFlights {
		if !g.s.spawn(g.run) {
			return store.ErrClosed
		}
		g.busy++
	}
	g.queue = append(g.queue, t)
	return nil
}

// run makes call after call until nothing waits.
func (g *saves) run() {
	for {
		batch := g.next()
		if batch == nil {
			return
		}
		g.flush(batch)
	}
}

// next takes what goes together: no task twice, as the saves of one go one after the other.
func (g *saves) next() (batch []*saving) {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[wireID]bool{}
	var rest []*saving
	for _, t := range g.queue {
		switch {
		case t.ctx.Err() != nil: // nobody waits for it any more, and it was not begun
		case seen[t.wire.ID] || len(batch) == saveLimit:
			rest = append(rest, t)
		default:
			seen[t.wire.ID] = true
			batch = append(batch, t)
		}
	}
	if g.queue = rest; batch == nil {
		g.busy--
	}
	return batch
}

// saveMany makes one call of all of them, which is given up when nobody waits for it any more, or life ends. What it leaves out goes by itself.
func (s *Store) saveMany(life context.Context, batch []*saving) {
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	var waiting atomic.Int64
	waiting.Store(int64(len(batch)))
	req := saveManyRequest{Horizon: int64(s.cfg.Timing.Horizon)}
	for _, t := range batch {
		stop := context.AfterFunc(t.ctx, func() { //nolint:contextcheck // of one of those who wait
			if waiting.Add(-1) == 0 {
				cancel()
			}
		})
		defer stop()
		req.Items = append(req.Items, t.wire)
	}
	var all saveManyAnswer
	err := ask(ctx, s.pool, s.q.get("save_many"), req, &all)
	if err == nil {
		s.publishWire(all.Hints)
	}
	for _, t := range batch {
		asked, saved := all.Saved[store.ID(t.wire.ID).String()]
		switch {
		case err != nil && !collided(err) && !unfit(err):
			t.answer(s.tell("save", err))
		case saved:
			t.got.Asked = asked
			t.answer(nil)
		case !s.spawn(func() { s.saveOne(life, t) }):
			t.answer(store.ErrClosed)
		}
	}
}

// saveOne makes a call of one of them.
func (s *Store) saveOne(life context.Context, t *saving) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	t.answer(s.call(ctx, "save", t.wire, &t.got)) //nolint:contextcheck // of the one who waits
}

// answer lets the caller go.
func (t *saving) answer(err error) {
	t.err = err
	close(t.done)
}
