// Package servers starts the real servers that tests need: private, throw-away, on free ports of the loopback, each in a
// folder of its own. They end with the test, and with the test's process if that is killed. Where OUTLAST_TEST_POSTGRES or
// OUTLAST_TEST_REDIS is set, the server named there is used instead for what needs no restarts. install.sh, which `make test`
// runs first, puts the programs on the machine; a program that is missing fails the test, and never skips it.
package servers

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// T is what starting a server needs of a test; a command that starts servers brings its own.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(end func())
}

// patience is how long a server may take to start or to stop on a busy machine.
const patience = 30 * time.Second

// process is a server that runs.
type process struct {
	cmd    *exec.Cmd
	out    *output
	exited chan struct{}
	wait   sync.WaitGroup
}

// launch starts a program of the server's, as the given user if this process is root (PostgreSQL and pgbouncer refuse root; "" is
// this process's own), and returns at once.
func launch(t T, user, dir, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(context.Background(), program, args...), out: &output{}, exited: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	p.cmd.SysProcAttr = attributes(t, user)
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	p.wait.Go(func() {
		_ = p.cmd.Wait() // How it ended is read from what it printed.
		close(p.exited)
	})
	return p
}

// ready waits until a probe succeeds, and fails the test with what the server printed if it does not.
func (p *process) ready(t T, name string, probe func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := probe(ctx)
		if err == nil {
			return
		}
		select {
		case <-p.exited:
			t.Fatalf("%s ended at once:\n%s", name, p.out)
		case <-ctx.Done():
			t.Fatalf("%s does not answer: %v\n%s", name, err, p.out)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// signal sends a signal and waits for the end of the process; one that stays is killed.
func (p *process) signal(s os.Signal) {
	_ = p.cmd.Process.Signal(s) // It may be gone already.
	select {
	case <-p.exited:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
	}
	p.wait.Wait()
}

// output keeps what a server printed, for the message of a test that fails.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() > 1<<20 {
		o.text.Reset()
	}
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// port is a free port of the loopback. Another process may take it before the server does; then the server says so.
func port(t T) uint16 {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer func() { _ = l.Close() }()
	return netip.MustParseAddrPort(l.Addr().String()).Port()
}

// folder is a new folder for a server, short enough for the path of a socket, and the given user's if this process is root.
func folder(t T, user string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "outlast-")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	give(t, user, dir)
	return dir
}

// find looks for a program in PATH, in the places where Debian keeps what is not in it, and in those of the given patterns.
func find(t T, name string, patterns ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, pattern := range append(patterns, "/usr/sbin", "/usr/local/sbin") {
		found, err := filepath.Glob(filepath.Join(pattern, name))
		if err == nil && len(found) > 0 {
			return found[len(found)-1]
		}
	}
	t.Fatalf("%s is not on this machine: run `make setup`. (Tests that kill and restart a server need one of their own, whatever OUTLAST_TEST_… names.)", name)
	return ""
}
