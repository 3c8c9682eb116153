package servers

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Postgres is a private PostgreSQL. Its commits are synced, as those of a real one.
type Postgres struct {
	dir  string
	port uint16
	args []string
	p    *process
}

// The user of a private PostgreSQL, who may do everything, and its password.
const (
	PostgresUser     = "outlast"
	PostgresPassword = "s3cret word"
)

// postgresPlaces are where Debian, Red Hat and Homebrew keep the programs of the server.
var postgresPlaces = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"}

// StartPostgres makes a cluster and starts it, with settings of the server (name=value). It ends with the test.
func StartPostgres(t T, settings ...string) *Postgres {
	t.Helper()
	s := &Postgres{dir: folder(t, "postgres"), port: port(t)}
	word := filepath.Join(s.dir, "password")
	if err := os.WriteFile(word, []byte(PostgresPassword), 0o644); err != nil {
		t.Fatalf("%v", err)
	}
	s.run(t, find(t, "initdb", postgresPlaces...), "-D", s.data(), "-U", PostgresUser, "-A", "scram-sha-256", "--pwfile", word, "-E", "UTF8", "--no-locale", "--no-sync")
	s.args = []string{
		"-D", s.data(), "-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-k", s.dir,
		"-c", "max_connections=300", "-c", "shared_buffers=256MB", "-c", "max_wal_size=2GB", "-c", "log_min_messages=warning",
	}
	for _, set := range settings {
		s.args = append(s.args, "-c", set)
	}
	s.Start(t)
	t.Cleanup(func() { s.signal(syscall.SIGINT) })
	return s
}

// Dir has all files of the server, its write-ahead log among them.
func (s *Postgres) Dir() string { return s.dir }

// Log is what the server has logged since it was started.
func (s *Postgres) Log() string { return s.p.out.String() }

// Query runs statements as the user who may do everything.
func (s *Postgres) Query(t T, text string) {
	t.Helper()
	s.run(t, find(t, "psql", postgresPlaces...), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-U", PostgresUser, "-c", text, "postgres")
}

func (s *Postgres) data() string { return filepath.Join(s.dir, "data") }

// run runs a program of the server's to its end.
func (s *Postgres) run(t T, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.dir
	cmd.SysProcAttr = attributes(t, "postgres")
	cmd.Env = append(os.Environ(), "PGPASSWORD="+PostgresPassword)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// Start starts the server again after Stop or Kill, and waits until it answers.
func (s *Postgres) Start(t T) {
	t.Helper()
	for range 50 {
		s.p = launch(t, "postgres", s.dir, find(t, "postgres", postgresPlaces...), s.args...)
		if s.answers(t) {
			return
		}
		// What a server that was killed has left behind (its children, its memory) is in the way for a moment.
		s.p.wait.Wait()
		<-time.After(100 * time.Millisecond)
	}
	t.Fatalf("postgres does not start:\n%s", s.p.out)
}

// answers waits until the server answers, or has ended because something is in its way.
func (s *Postgres) answers(t T) bool {
	t.Helper()
	program := find(t, "pg_isready", postgresPlaces...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		cmd := exec.CommandContext(ctx, program, "-q", "-h", "127.0.0.1", "-p", fmt.Sprint(s.port))
		if cmd.Run() == nil {
			return true
		}
		select {
		case <-s.p.exited:
			return false
		case <-ctx.Done():
			t.Fatalf("postgres does not answer:\n%s", s.p.out)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Postgres) signal(sig syscall.Signal) {
	if s.p != nil {
		s.p.signal(sig)
		s.p = nil
	}
}

// Stop ends the server in order; its clients are cut off.
func (s *Postgres) Stop() { s.signal(syscall.SIGINT) }

// Kill ends the server as kill -9 does.
func (s *Postgres) Kill() { s.signal(syscall.SIGKILL) }

// Revive waits until a server that met an error answers again, and starts it if it has ended by itself, for want of room say.
func (s *Postgres) Revive(t T) {
	t.Helper()
	if !s.answers(t) {
		s.Start(t)
	}
}

// Restart ends the server in order and starts it again.
func (s *Postgres) Restart(t T) {
	t.Helper()
	s.Stop()
	s.Start(t)
}

// Pid is the id of its first process, while it runs: for those who measure it.
func (s *Postgres) Pid() int { return s.p.cmd.Process.Pid }

// Address is where it listens.
func (s *Postgres) Address() string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(s.port)) }

// URL is that of the database "postgres", with further options.
func (s *Postgres) URL(options ...string) string {
	return "postgres://" + PostgresUser + ":" + strings.ReplaceAll(PostgresPassword, " ", "%20") + "@" + s.Address() + "/postgres?" +
		strings.Join(append([]string{"sslmode=disable"}, options...), "&")
}

// StartBouncer starts pgbouncer in transaction mode before the server of a URL, and returns the URL of the same database through it. It
// ends with the test; one that ends by itself is started again, as a service manager would.
func StartBouncer(t T, before string) string {
	t.Helper()
	u, err := url.Parse(before)
	if err != nil {
		t.Fatalf("%v", err)
	}
	program := find(t, "pgbouncer")
	dir, at := folder(t, "postgres"), port(t)
	password, _ := u.User.Password()
	config := fmt.Sprintf("[databases]\n* = host=%s port=%s\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"+
		"auth_type = plain\nauth_file = users\npool_mode = transaction\ndefault_pool_size = 10\nmax_client_conn = 500\nserver_login_retry = 1\n", u.Hostname(), cmp.Or(u.Port(), "5432"), at)
	for name, text := range map[string]string{"config": config, "users": fmt.Sprintf("%q %q\n", u.User.Username(), password)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatalf("%v", err)
		}
	}
	p := launch(t, "postgres", dir, program, "config")
	address := net.JoinHostPort("127.0.0.1", fmt.Sprint(at))
	p.ready(t, "pgbouncer", func(ctx context.Context) error {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return c.Close()
	})
	ending := make(chan struct{})
	var kept sync.WaitGroup
	kept.Go(func() {
		for {
			select {
			case <-ending:
				p.signal(syscall.SIGINT)
				return
			case <-p.exited:
				fmt.Fprintf(os.Stderr, "pgbouncer ended by itself (%v) and is started again:\n%s\n", p.cmd.ProcessState, p.out)
			}
			select {
			case <-ending:
				return
			case <-time.After(100 * time.Millisecond):
				p = launch(t, "postgres", dir, program, "config")
			}
		}
	})
	t.Cleanup(func() { close(ending); kept.Wait() })
	u.Host = address
	return u.String()
}

// Replica starts a read-only copy that follows the server.
func (s *Postgres) Replica(t T) *Postgres {
	t.Helper()
	r := &Postgres{dir: folder(t, "postgres"), port: port(t)}
	r.run(t, find(t, "pg_basebackup", postgresPlaces...), "-D", r.data(), "-h", "127.0.0.1", "-p", fmt.Sprint(s.port), "-U", PostgresUser, "-R", "-X", "stream", "-c", "fast")
	r.args = []string{"-D", r.data(), "-h", "127.0.0.1", "-p", fmt.Sprint(r.port), "-k", r.dir, "-c", "max_connections=300"}
	r.Start(t)
	t.Cleanup(func() { r.signal(syscall.SIGINT) })
	return r
}
