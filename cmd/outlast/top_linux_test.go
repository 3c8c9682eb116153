package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pair of a real terminal and who sits at it.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	size := &unix.Winsize{Row: 20, Col: 60}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// screen reads what is drawn.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) read(f *os.File) {
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		s.mu.Lock()
		s.text.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) shows(t *testing.T, want string) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 30*time.Second; <-time.After(10 * time.Millisecond) {
		s.mu.Lock()
		found := strings.Contains(s.text.String(), want)
		s.mu.Unlock()
		if found {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	t.Fatalf("the terminal does not show %q, but at last %q", want, text[max(0, len(text)-500):])
}

// On a terminal top draws on a screen of its own, follows a change of its size, and leaves the terminal as it was: when somebody types q,
// and when it is told to stop.
func TestTopLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	world(t, url)
	for name, end := range map[string]func(master *os.File, p *os.Process) error{
		"q":       func(master *os.File, _ *os.Process) error { _, err := master.WriteString("q"); return err },
		"SIGTERM": func(_ *os.File, p *os.Process) error { return p.Signal(unix.SIGTERM) },
		"SIGINT":  func(_ *os.File, p *os.Process) error { return p.Signal(unix.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			master, slave := terminal(t)
			before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			cmd := program(t, "top", "--store", url, "--every", "100ms")
			cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s := &screen{}
			var reading sync.WaitGroup
			reading.Go(func() { s.read(master) })
			s.shows(t, "\x1b[?1049h")
			s.shows(t, "nobody")
			if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 5, Col: 20}); err != nil {
				t.Fatal(err)
			}
			s.shows(t, "this minute (the one\x1b[0m\x1b[0m\x1b[K") // cut after 20 letters
			if err := end(master, cmd.Process); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("top = %v", err)
			}
			s.shows(t, "\x1b[?25h\x1b[?1049l")
			after, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("the modes of the terminal are %+v, %v, and were %+v", after, err, before)
			}
			_ = slave.Close()
			_ = master.Close()
			reading.Wait()
		})
	}
}
