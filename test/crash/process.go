package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/outlast-go/outlast/store"
)

// process is one worker process and what its journal told.
type process struct {
	name string
	cmd  *exec.Cmd
	tail tail
	link *Link         // its way to the server; nil: it has none
	done chan struct{} // closed when it has ended

	mu        sync.Mutex
	lines     []line
	diedAt    time.Time // killed by us, or by itself
	asked     bool      // we asked it to end
	termed    bool      // asked to end, and killed before it had
	stopped   []span
	away      []span           // it could not reach the store, or not quickly
	cut       []time.Time      // its connections ended
	massacred bool             // killed together with all others
	whole     bool             // the journal of the dead was read to its end
	inFlight  map[string]int64 // tasks it has begun and not settled, with their epochs
	settled   int
	counts    counts
}

// counts are what journals tell in numbers.
type counts struct{ done, refused, back int }

// span is a time in which a process was stopped; an open one has no end yet.
type span struct{ from, to time.Time }

// fleet is all processes that were ever started.
type fleet struct {
	cfg   Config
	sink  string // where workers tell what they do; empty: nowhere
	group sync.WaitGroup

	mu     sync.Mutex
	chance *rand.Rand // of clocks
	procs  []*process
}

// start starts a worker process.
func (f *fleet) start(ctx context.Context) (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := fmt.Sprintf("w%d", len(f.procs)+1)
	p := &process{name: name, done: make(chan struct{}), inFlight: map[string]int64{}}
	p.tail.path = filepath.Join(f.cfg.Dir, name+".log")
	url := f.cfg.Store
	if f.cfg.Stage.Server != "" {
		link, err := NewLink(ctx, f.cfg.Stage.Server)
		if err != nil {
			return nil, err
		}
		p.link, url = link, f.cfg.Stage.Via(link.Addr)
	}
	p.cmd = f.cfg.Worker(ctx, url, f.args(p.tail.path).list())
	if p.cmd.Stderr == nil {
		errs, err := os.Create(filepath.Join(f.cfg.Dir, name+".err"))
		if err != nil {
			return nil, fmt.Errorf("start a worker: %w", err)
		}
		defer func() { _ = errs.Close() }() // the worker has it
		p.cmd.Stderr = errs
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	f.procs = append(f.procs, p)
	f.group.Go(func() {
		_ = p.cmd.Wait() // how it ended is told by its journal and by who killed it
		p.mu.Lock()
		if p.diedAt.IsZero() {
			p.diedAt = time.Now()
		}
		p.mu.Unlock()
		close(p.done)
		if p.link != nil {
			p.link.Close()
		}
	})
	return p, nil
}

// args are those of the next worker. In a long trial every other one has a wrong clock.
func (f *fleet) args(journal string) workerArgs {
	a := workerArgs{journal: journal, slots: f.cfg.Slots, beat: f.cfg.Beat, dead: f.cfg.Dead, sink: f.sink}
	if f.cfg.Seconds == 0 {
		return a
	}
	a.grace = 2 * time.Second
	if f.chance.IntN(2) == 0 {
		a.offset = time.Duration(f.chance.Int64N(int64(2*time.Hour))) - time.Hour
		a.drift = 0.1 * (f.chance.Float64() - 0.5)
	}
	return a
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends a process as the machine would: without a word.
func (p *process) kill() error {
	p.mu.Lock()
	p.diedAt = time.Now()
	p.mu.Unlock()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// terminate asks a process to end.
func (p *process) terminate() {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	_ = p.cmd.Process.Signal(os.Interrupt) // one that has ended needs no asking
}

func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := time.Now()
	if err := stop(p.cmd.Process); err != nil {
		return err
	}
	p.stopped = append(p.stopped, span{from: from})
	return nil
}

func (p *process) goOn() error {
	err := goOn(p.cmd.Process)
	p.mu.Lock()
	p.stopped[len(p.stopped)-1].to = time.Now()
	p.mu.Unlock()
	return err
}

func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.stopped) > 0 && p.stopped[len(p.stopped)-1].to.IsZero()
}

// working reports whether a process can be picked on: it runs, was neither stopped nor asked to end, and, if it is to, holds tasks.
func (p *process) working(busy bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ended() && !p.asked && len(p.stopped) == 0 && (len(p.inFlight) > 0 || !busy)
}

// wasCut notes that the connections of a process end now, or soon.
func (p *process) wasCut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = append(p.cut, time.Now())
}

// cutOff notes that a process cannot reach the store for a while.
func (p *process) cutOff(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.away = append(p.away, span{from: now, to: now.Add(d)})
}

// read takes in what the journal has gained.
func (p *process) read() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.whole {
		return nil
	}
	p.whole = p.ended()
	lines, err := p.tail.read()
	for _, l := range lines {
		switch l.kind {
		case lineStart:
			p.inFlight[l.task] = l.epoch
		case lineAccepted, lineRefused:
			delete(p.inFlight, l.task)
			p.settled++
		}
		switch {
		case l.kind == lineBack:
			p.counts.back++
		case l.kind == lineRefused:
			p.counts.refused++
		case l.kind == lineAccepted && store.State(l.text).Terminal():
			p.counts.done++
		}
	}
	p.lines = append(p.lines, lines...)
	return err
}

// all lists the processes that were ever started.
func (f *fleet) all() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*process(nil), f.procs...)
}

// alive counts the processes that work, or will.
func (f *fleet) alive() int {
	n := 0
	for _, p := range f.all() {
		p.mu.Lock()
		if !p.ended() && !p.asked && len(p.stopped) == 0 {
			n++
		}
		p.mu.Unlock()
	}
	return n
}

// end asks all to end, kills those that do not, and reads what they wrote last.
func (f *fleet) end() error {
	for _, p := range f.all() {
		if !p.ended() {
			if p.isStopped() {
				_ = p.goOn() // it may have ended meanwhile
			}
			p.terminate()
		}
	}
	patience := time.After(45 * time.Second)
	for _, p := range f.all() {
		select {
		case <-p.done:
		case <-patience:
			_ = p.cmd.Process.Kill() // it may have ended meanwhile
			<-p.done
		}
	}
	f.group.Wait()
	for _, p := range f.all() {
		if err := p.read(); err != nil {
			return err
		}
		p.dateDeath()
	}
	return nil
}

// dateDeath corrects when a process died that killed itself. We heard of it later, and on a busy machine much later: others may have
// declared it dead before. It writes nothing down once it is dead.
func (p *process) dateDeath() {
	p.mu.Lock()
	defer p.mu.Unlock()
	poisoned := false
	for _, l := range p.lines {
		epoch, under := p.inFlight[l.task]
		poisoned = poisoned || under && l.kind == lineStart && l.text == kindPoison && l.epoch == epoch
	}
	if poisoned {
		if last := p.lines[len(p.lines)-1].at; last.Before(p.diedAt) {
			p.diedAt = last
		}
	}
}
