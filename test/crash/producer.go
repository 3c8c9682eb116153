package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// producer submits at a steady rate through a link of its own, and logs what was accepted: each id is on disk before anybody counts it.
type producer struct {
	r      *run
	k      *kernel.Kernel
	st     store.Store
	link   *Link
	file   *os.File
	chance *rand.Rand
	signal []kernel.ID // wait for a message
}

func (r *run) newProducer(ctx context.Context, n int) (*producer, error) {
	p := &producer{r: r, chance: rand.New(rand.NewPCG(r.cfg.Seed, uint64(n)))} //nolint:gosec // a seed must repeat the same tasks
	url := r.cfg.Store
	var err error
	if r.cfg.Stage.Server != "" {
		if p.link, err = NewLink(ctx, r.cfg.Stage.Server); err != nil {
			return nil, err
		}
		url = r.cfg.Stage.Via(p.link.Addr)
	}
	if p.file, err = os.Create(filepath.Join(r.cfg.Dir, fmt.Sprintf("accepted%d.log", n))); err != nil {
		return nil, fmt.Errorf("open the log of a producer: %w", err)
	}
	if p.st, err = r.cfg.Stage.Reopen(ctx, url); err != nil {
		return nil, err
	}
	p.k, err = kernel.New(p.st, kernel.Config{})
	return p, err
}

func (p *producer) close() {
	p.k.Close()
	_ = p.st.Close() // everything that matters was answered
	if p.link != nil {
		p.link.Close()
	}
	_ = p.file.Close() // every line was synced
}

// produce submits so many tasks a second until a time, and then lets nothing wait for a message for ever.
func (p *producer) produce(ctx context.Context, rate float64, end time.Time) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begin, sent := time.Now(), 0
	for time.Now().Before(end) {
		due := int(rate*time.Since(begin).Seconds()) - sent
		for due > 0 && time.Now().Before(end) {
			n := min(due, 100)
			if err := p.submit(ctx, n); err != nil {
				return err
			}
			due, sent = due-n, sent+n
		}
		p.send(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for range 600 {
		if p.send(ctx); len(p.signal) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return fmt.Errorf("%d messages could not be sent", len(p.signal))
}

// submit hands over n tasks. What is refused, or in doubt, is nobody's promise.
func (p *producer) submit(ctx context.Context, n int) error {
	specs := make([]kernel.Spec, n)
	for i := range specs {
		specs[i] = kernel.Spec{Kind: pick(p.chance, p.r.cfg)}
	}
	all, err := p.k.SubmitMany(ctx, specs)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		p.r.count(&p.r.refused, n)
		return nil
	}
	for i, s := range all {
		if s.Err != nil {
			p.r.count(&p.r.refused, 1)
			continue
		}
		if _, err := fmt.Fprintf(p.file, "%s %s\n", s.ID, specs[i].Kind); err != nil {
			return fmt.Errorf("write the log of a producer: %w", err)
		}
	}
	if err := p.file.Sync(); err != nil {
		return fmt.Errorf("write the log of a producer: %w", err)
	}
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	for i, s := range all {
		if s.Err == nil {
			p.r.acked[s.ID.String()] = specs[i].Kind
			if specs[i].Kind == kindSignal {
				p.signal = append(p.signal, s.ID)
			}
		}
	}
	return nil
}

// send wakes the tasks that wait for a message, each twice under one id. What did not go through is sent the next time.
func (p *producer) send(ctx context.Context) {
	waiting := p.signal
	p.signal = nil
	for _, id := range waiting {
		m := kernel.Message{ID: store.DeriveID(id.String(), "go"), Task: id, Name: "go"}
		for range 2 {
			if _, err := p.k.Send(ctx, m); err != nil && !ended(err) {
				p.signal = append(p.signal, id)
				break
			}
		}
	}
}

// count adds to a number of the run.
func (r *run) count(n *int, by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n += by
}

// probe submits a task now and then, past all links, and notes when the store did not answer: then it was down, full, or held by a
// writer that was stopped.
func (r *run) probe(ctx context.Context, end time.Time) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(end) {
		begin := time.Now()
		id, err := r.k.Submit(ctx, kernel.Spec{Kind: kindInstant})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			r.mu.Lock()
			r.acked[id.ID.String()] = kindInstant
			r.mu.Unlock()
		}
		if took := time.Since(begin); took > outage || err != nil && !errors.Is(err, store.ErrInvalid) {
			r.mu.Lock()
			r.downs = append(r.downs, span{from: begin, to: time.Now()})
			r.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
