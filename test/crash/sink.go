package crash

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// sink stands for the world outside: handlers tell it what they do, as (task, epoch, event). It keeps what it is told on disk before it
// answers, and refuses who comes with an older epoch than it has seen of a task.
type sink struct {
	path   string
	listen net.Listener
	file   *os.File
	queue  chan *told
	run    sync.WaitGroup
	write  sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	seen    map[string]*seen
	refused int
}

// seen is what the sink knows of a task.
type seen struct {
	epoch   int64 // the highest
	effect  int64 // the epoch of the last effect; 0: none
	effects int
}

// told is one thing that the sink was told.
type told struct {
	task, event string
	epoch       int64
	answer      chan bool
}

func newSink(ctx context.Context, dir string) (*sink, error) {
	s := &sink{path: filepath.Join(dir, "sink.sock"), queue: make(chan *told, 1000), conns: map[net.Conn]struct{}{}, seen: map[string]*seen{}}
	var err error
	if s.file, err = os.Create(filepath.Join(dir, "sink.log")); err != nil {
		return nil, fmt.Errorf("open the sink: %w", err)
	}
	_ = os.Remove(s.path) // of an earlier trial in the same folder
	if s.listen, err = (&net.ListenConfig{}).Listen(ctx, "unix", s.path); err != nil {
		return nil, fmt.Errorf("open the sink: %w", err)
	}
	s.run.Go(s.accept)
	s.write.Go(s.record)
	return s, nil
}

// close ends the sink, once all who tell it something have ended.
func (s *sink) close() error {
	err := s.listen.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close() // nobody is left at its other end
	}
	s.mu.Unlock()
	s.run.Wait()
	close(s.queue)
	s.write.Wait()
	return errors.Join(err, s.file.Close())
}

func (s *sink) accept() {
	for {
		c, err := s.listen.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[c] = struct{}{}
		s.mu.Unlock()
		s.run.Go(func() {
			s.hear(c)
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// hear takes what one connection says, line by line.
func (s *sink) hear(c net.Conn) {
	defer func() { _ = c.Close() }() // every answer was sent
	in := bufio.NewScanner(c)
	for in.Scan() {
		t := &told{answer: make(chan bool, 1)}
		if _, err := fmt.Sscan(in.Text(), &t.task, &t.epoch, &t.event); err != nil {
			return
		}
		s.queue <- t
		answer := "old\n"
		if <-t.answer {
			answer = "ok\n"
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// record writes down all that waits, syncs it once, and answers.
func (s *sink) record() {
	for first := range s.queue {
		batch := []*told{first}
		for len(s.queue) > 0 {
			batch = append(batch, <-s.queue)
		}
		var text strings.Builder
		answers := make([]bool, len(batch))
		for i, t := range batch {
			answers[i] = s.take(t)
			fmt.Fprintf(&text, "%s %d %s %v\n", t.task, t.epoch, t.event, answers[i])
		}
		_, err := s.file.WriteString(text.String())
		if err = errors.Join(err, s.file.Sync()); err != nil {
			panic(fmt.Errorf("write the log of the sink: %w", err)) // without it nothing is proved
		}
		for i, t := range batch {
			t.answer <- answers[i]
		}
	}
}

// take judges one event by its epoch.
func (s *sink) take(t *told) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.seen[t.task]
	if k == nil {
		k = &seen{}
		s.seen[t.task] = k
	}
	if t.epoch < k.epoch {
		s.refused++
		return false
	}
	k.epoch = t.epoch
	if t.event == lineEffect {
		k.effect = t.epoch
		k.effects++
	}
	return true
}

// errOld says that the sink knows of a later claim.
var errOld = errors.New("the sink has heard of a later epoch")

// outside is a worker's way to the sink; nil: there is none.
type outside struct {
	path string

	mu   sync.Mutex
	free []net.Conn
}

// tell tells the sink what a run does, and returns once it is on disk there.
func (o *outside) tell(ctx context.Context, l line) error {
	if o == nil {
		return nil
	}
	c, err := o.dial(ctx)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(c, "%s %d %s\n", l.task, l.epoch, l.kind); err != nil {
		return fmt.Errorf("tell the sink: %w", err)
	}
	answer, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return fmt.Errorf("tell the sink: %w", err)
	}
	o.mu.Lock()
	o.free = append(o.free, c)
	o.mu.Unlock()
	if answer != "ok\n" {
		return errOld
	}
	return nil
}

func (o *outside) dial(ctx context.Context) (net.Conn, error) {
	o.mu.Lock()
	if n := len(o.free); n > 0 {
		c := o.free[n-1]
		o.free = o.free[:n-1]
		o.mu.Unlock()
		return c, nil
	}
	o.mu.Unlock()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", o.path)
	if err != nil {
		return nil, fmt.Errorf("reach the sink: %w", err)
	}
	return c, nil
}
