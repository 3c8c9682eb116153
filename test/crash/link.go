package crash

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// Link is the way of one process to the server: a proxy whose connections can be cut, delayed and held up, and whose answers can be
// lost after the server has done what was asked.
type Link struct {
	Addr string // where the process connects to

	server string
	listen net.Listener
	ctx    context.Context //nolint:containedctx // ends with the link
	end    context.CancelFunc
	run    sync.WaitGroup

	mu    sync.Mutex
	pipes map[*pipe]struct{}
	until time.Time     // nothing passes before
	delay time.Duration // of each piece, until slow
	slow  time.Time
}

// pipe is one connection through a link.
type pipe struct {
	client, server *net.TCPConn
	once           sync.Once
	done           chan struct{}

	mu   sync.Mutex
	lose int // bytes of answers that still pass; negative: all
}

// NewLink opens a link to a server. It stands until Close, also when ctx has ended.
func NewLink(ctx context.Context, server string) (*Link, error) {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	listen, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		end()
		return nil, fmt.Errorf("open a link: %w", err)
	}
	l := &Link{Addr: listen.Addr().String(), server: server, listen: listen, ctx: ctx, end: end, pipes: map[*pipe]struct{}{}}
	l.run.Go(l.accept)
	return l, nil
}

// Close ends the link and waits for all that it carried.
func (l *Link) Close() {
	l.end()
	_ = l.listen.Close() // nobody comes any more
	l.Cut(false)
	l.run.Wait()
}

func (l *Link) accept() {
	for {
		c, err := l.listen.Accept()
		if err != nil {
			return
		}
		client, ok := c.(*net.TCPConn)
		if ok {
			l.run.Go(func() { l.carry(client) })
		}
	}
}

// carry connects a client with the server until one of them ends.
func (l *Link) carry(client *net.TCPConn) {
	p := &pipe{client: client, done: make(chan struct{}), lose: -1}
	l.pass(p)
	dialled, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(l.ctx, "tcp", l.server)
	server, ok := dialled.(*net.TCPConn)
	if err != nil || !ok {
		_ = client.Close() // as a server that is not there would
		return
	}
	p.server = server
	l.mu.Lock()
	l.pipes[p] = struct{}{}
	l.mu.Unlock()
	defer func() {
		p.close(false)
		l.mu.Lock()
		delete(l.pipes, p)
		l.mu.Unlock()
	}()
	if l.ctx.Err() != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() { l.pump(p, server, client, func(n int) int { return n }) })
	l.pump(p, client, server, p.spare)
	up.Wait()
}

// pump moves bytes one way. What spare does not let through ends the pipe.
func (l *Link) pump(p *pipe, to, from *net.TCPConn, spare func(int) int) {
	defer p.close(false)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if !l.pass(p) {
			return
		}
		kept := spare(n)
		if kept > 0 {
			if _, err := to.Write(buf[:kept]); err != nil {
				return
			}
		}
		if err != nil || kept < n {
			return
		}
	}
}

// pass waits as long as nothing passes. It reports whether the pipe still stands.
func (l *Link) pass(p *pipe) bool {
	for {
		l.mu.Lock()
		now := time.Now()
		wait := l.until.Sub(now)
		held := wait > 0
		if !held && now.Before(l.slow) {
			wait = l.delay
		}
		l.mu.Unlock()
		if wait <= 0 {
			return true
		}
		timer := time.NewTimer(min(wait, 100*time.Millisecond))
		select {
		case <-timer.C:
		case <-p.done:
			timer.Stop()
			return false
		case <-l.ctx.Done():
			timer.Stop()
			return false
		}
		if !held {
			return true
		}
	}
}

// spare says how many of n bytes of an answer pass.
func (p *pipe) spare(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lose < 0 {
		return n
	}
	n = min(n, p.lose)
	p.lose -= n
	return n
}

// close ends both sides, with a reset if it is rude.
func (p *pipe) close(rude bool) {
	p.once.Do(func() {
		close(p.done)
		for _, c := range []*net.TCPConn{p.client, p.server} {
			if rude {
				_ = c.SetLinger(0) // a reset instead of an end
			}
			_ = c.Close()
		}
	})
}

func (l *Link) open() []*pipe {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*pipe, 0, len(l.pipes))
	for p := range l.pipes {
		all = append(all, p)
	}
	return all
}

// Cut ends every connection.
func (l *Link) Cut(rude bool) {
	for _, p := range l.open() {
		p.close(rude)
	}
}

// Lose lets n bytes of the next answers of each connection pass, and ends it then: what was asked is done, and who asked does not know.
func (l *Link) Lose(n int) {
	for _, p := range l.open() {
		p.mu.Lock()
		p.lose = n
		p.mu.Unlock()
	}
}

// Delay holds up each piece by d, for a while.
func (l *Link) Delay(d, lasting time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay, l.slow = d, time.Now().Add(lasting)
}

// Hold lets nothing pass for a while: connections stay, and nobody answers.
func (l *Link) Hold(lasting time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Now().Add(lasting)
}
