package crash

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// process is one worker process and what its journal told.
type process struct {
	name string
	cmd  *exec.Cmd
	tail tail
	done chan struct{} // closed when it has ended

	mu       sync.Mutex
	lines    []line
	diedAt   time.Time // killed by us, or by itself
	asked    bool      // we asked it to end
	stopped  []span
	inFlight map[string]int64 // tasks it has begun and not settled, with their epochs
	settled  int
}

// span is a time in which a process was stopped; an open one has no end yet.
type span struct{ from, to time.Time }

// fleet is all processes that were ever started.
type fleet struct {
	cfg   Config
	group sync.WaitGroup

	mu    sync.Mutex
	procs []*process
}

// start starts a worker process.
func (f *fleet) start(ctx context.Context) (*process, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := fmt.Sprintf("w%d", len(f.procs)+1)
	p := &process{name: name, done: make(chan struct{}), inFlight: map[string]int64{}}
	p.tail.path = filepath.Join(f.cfg.Dir, name+".log")
	p.cmd = f.cfg.Worker(ctx, workerArgs{journal: p.tail.path, slots: f.cfg.Slots, beat: f.cfg.Beat, dead: f.cfg.Dead}.list())
	if p.cmd.Stderr == nil {
		errs, err := os.Create(filepath.Join(f.cfg.Dir, name+".err"))
		if err != nil {
			return nil, fmt.Errorf("start a worker: %w", err)
		}
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
	})
	return p, nil
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
	if err := p.cmd.Process.Kill(); err != nil {
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
	p.stopped = append(p.stopped, span{from: time.Now()})
	p.mu.Unlock()
	return stop(p.cmd.Process)
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

// working reports whether a process can be picked on: it runs, was neither stopped nor asked to end, and holds tasks.
func (p *process) working() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.ended() && !p.asked && len(p.stopped) == 0 && len(p.inFlight) > 0
}

// read takes in what the journal has gained.
func (p *process) read() error {
	lines, err := p.tail.read()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range lines {
		switch l.kind {
		case lineStart:
			p.inFlight[l.task] = l.epoch
		case lineAccepted, lineRefused:
			delete(p.inFlight, l.task)
			p.settled++
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
