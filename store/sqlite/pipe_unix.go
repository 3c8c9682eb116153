//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// relistAfter is how long the list of peers is trusted though the folder looks unchanged: its time has a grain.
const relistAfter = time.Second

// peers are the processes that watch the file, each with a named pipe in the folder. What is written into a pipe is a hint: a
// pipe that is full, or whose reader died, loses it.
type peers struct {
	dir string

	mu     sync.Mutex
	own    map[string]bool // pipes of this handle, which hears of its own changes directly
	pipes  map[string]int  // file descriptors of the others
	seen   time.Time       // when the folder was last changed, as of
	listed time.Time       // when it was last listed
}

const pipeSuffix = ".pipe"

// pipe is where a Watch hears of other processes.
type pipe struct {
	peers *peers
	f     *os.File
	path  string
}

// listen makes a pipe. It has its name only once it can be written into.
func (p *peers) listen() (*pipe, error) {
	name := randomName() + pipeSuffix
	path, hidden := filepath.Join(p.dir, name), filepath.Join(p.dir, "."+name)
	if err := syscall.Mkfifo(hidden, 0o666); err != nil {
		return nil, fmt.Errorf("make the pipe %s: %w", hidden, err)
	}
	f, err := os.OpenFile(hidden, os.O_RDWR|syscall.O_NONBLOCK, 0) // also as a writer, so that it never ends
	if err != nil {
		return nil, errors.Join(err, os.Remove(hidden))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own == nil {
		p.own = map[string]bool{}
	}
	p.own[name] = true
	if err := os.Rename(hidden, path); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(hidden))
	}
	return &pipe{peers: p, f: f, path: path}, nil
}

// read calls fn with what comes through the pipe until it is closed. What fn returns comes again, with more behind it.
func (p *pipe) read(fn func([]byte) []byte) {
	buf := make([]byte, 16<<10)
	kept := 0
	for {
		n, err := p.f.Read(buf[kept:])
		if err != nil {
			return
		}
		rest := fn(buf[:kept+n])
		kept = copy(buf, rest)
	}
}

func (p *pipe) close() error {
	p.peers.mu.Lock()
	delete(p.peers.own, filepath.Base(p.path))
	p.peers.mu.Unlock()
	return errors.Join(os.Remove(p.path), p.f.Close())
}

// send writes hints into the pipes of all others.
func (p *peers) send(h *hints) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list()
	if len(p.pipes) == 0 {
		return
	}
	pieces := h.pieces()
	for name, fd := range p.pipes {
		for _, piece := range pieces {
			if _, err := syscall.Write(fd, piece); err != nil && !errors.Is(err, syscall.EAGAIN) {
				p.forget(name, fd)
				break
			}
		}
	}
}

// any reports whether other processes watch the file.
func (p *peers) any() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pipes) > 0
}

// list looks for pipes that have come. A pipe without a reader is that of a process that died.
func (p *peers) list() {
	info, err := os.Stat(p.dir)
	if err != nil || info.ModTime().Equal(p.seen) && time.Since(p.listed) < relistAfter {
		return
	}
	p.seen, p.listed = info.ModTime(), time.Now()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	if p.pipes == nil {
		p.pipes = map[string]int{}
	}
	for _, e := range entries {
		name := e.Name()
		_, known := p.pipes[name]
		if known || p.own[name] || !strings.HasSuffix(name, pipeSuffix) || strings.HasPrefix(name, ".") || e.Type() != fs.ModeNamedPipe {
			continue
		}
		fd, err := syscall.Open(filepath.Join(p.dir, name), syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if errors.Is(err, syscall.ENXIO) {
			_ = os.Remove(filepath.Join(p.dir, name)) // if it stays, the next one who looks removes it
		}
		if err == nil {
			p.pipes[name] = fd
		}
	}
}

// forget lets go of a pipe that nobody reads any more.
func (p *peers) forget(name string, fd int) {
	delete(p.pipes, name)
	_ = syscall.Close(fd)
	_ = os.Remove(filepath.Join(p.dir, name))
}

func (p *peers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for name, fd := range p.pipes {
		delete(p.pipes, name)
		errs = append(errs, syscall.Close(fd))
	}
	return errors.Join(errs...)
}
