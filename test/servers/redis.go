package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"
)

// Redis is a private redis-server.
type Redis struct {
	// Addr is host and port, for clients that speak TLS if it was asked for.
	Addr string
	// Password of the default user; empty if it has none.
	Password string
	// CA is the path of the certificate to trust, if it speaks TLS.
	CA string

	t       T
	name    string // of the program
	dir     string
	args    []string
	plain   string // host and port without TLS, for this package and for replicas
	process *process
}

// RedisConfig says what kind of server it is to be. The zero value is a primary with an append-only file that is synced once a
// second.
type RedisConfig struct {
	Fsync     string   // appendfsync: always, everysec, no; "off": no append-only file at all. Empty: everysec
	Password  string   // of the default user
	TLS       bool     // with a certificate of its own making; CA names it
	ReplicaOf *Redis   // a replica of that one
	Args      []string // more options of redis-server, such as "--timeout", "1"
}

// NewRedis starts a server. It ends with the test.
func NewRedis(t T, cfg RedisConfig) *Redis {
	t.Helper()
	s := &Redis{t: t, name: find(t, "redis-server"), dir: folder(t, ""), Password: cfg.Password}
	s.plain = fmt.Sprintf("127.0.0.1:%d", port(t))
	s.Addr = s.plain
	_, plain, _ := net.SplitHostPort(s.plain)
	s.args = []string{
		"--port", plain, "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--daemonize", "no", "--enable-debug-command", "yes",
	}
	switch cfg.Fsync {
	case "off":
		s.args = append(s.args, "--appendonly", "no")
	case "":
		s.args = append(s.args, "--appendonly", "yes", "--appendfsync", "everysec")
	default:
		s.args = append(s.args, "--appendonly", "yes", "--appendfsync", cfg.Fsync)
	}
	if cfg.Password != "" {
		s.args = append(s.args, "--requirepass", cfg.Password, "--masterauth", cfg.Password)
	}
	if cfg.TLS {
		s.speakTLS()
	}
	if cfg.ReplicaOf != nil {
		host, master, _ := net.SplitHostPort(cfg.ReplicaOf.plain)
		s.args = append(s.args, "--replicaof", host+" "+master)
	}
	s.args = append(s.args, cfg.Args...)
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// Dir has all files of the server.
func (s *Redis) Dir() string { return s.dir }

// Log is what the server has logged since it was started.
func (s *Redis) Log() string { return s.process.out.String() }

// speakTLS gives the server a second port that speaks TLS.
func (s *Redis) speakTLS() {
	cert, key := makeCertificate(s.t, s.dir)
	s.CA = cert
	s.Addr = fmt.Sprintf("127.0.0.1:%d", port(s.t))
	_, secure, _ := net.SplitHostPort(s.Addr)
	s.args = append(s.args, "--tls-port", secure, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
}

// Start starts the server on its folder and its port, after Kill or Stop.
func (s *Redis) Start() {
	s.t.Helper()
	s.process = launch(s.t, "", s.dir, s.name, s.args...)
	s.process.ready(s.t, "redis-server", func(ctx context.Context) error {
		c, err := s.client()
		if err != nil {
			return err
		}
		defer c.Close()
		return c.Do(ctx, c.B().Ping().Build()).Error()
	})
}

// Kill ends the server as kill -9 does.
func (s *Redis) Kill() { s.process.signal(os.Kill) }

// Stop ends the server in order.
func (s *Redis) Stop() { s.process.signal(os.Interrupt) }

// Revive starts a server again that has ended by itself, for want of room say.
func (s *Redis) Revive() {
	select {
	case <-s.process.exited:
		s.Start()
	default:
	}
}

// Pid is the id of its process, while it runs: for those who measure it.
func (s *Redis) Pid() int { return s.process.cmd.Process.Pid }

// Mark is how much of the append-only file there is now, with all that was answered: while a sync is under way on a busy disk the server keeps what it
// is to write.
func (s *Redis) Mark() int64 {
	s.t.Helper()
	for range 1000 {
		if strings.Contains(s.Do("INFO", "persistence"), "aof_buffer_length:0\r\n") {
			return s.size()
		}
		<-time.After(10 * time.Millisecond)
	}
	s.t.Fatalf("the server does not write its append-only file")
	return 0
}

func (s *Redis) size() int64 {
	s.t.Helper()
	info, err := os.Stat(s.aof())
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	return info.Size()
}

// KillTo ends the server as a machine that dies does: what it wrote after the mark never reached the disk.
func (s *Redis) KillTo(mark int64) {
	s.t.Helper()
	s.Kill()
	if s.size() <= mark {
		return // a start after an earlier cut has taken the rest of a broken step away
	}
	if err := os.Truncate(s.aof(), mark); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// aof is the part of the append-only file that grows.
func (s *Redis) aof() string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(found) == 0 {
		s.t.Fatalf("there is no append-only file in %s: %v", s.dir, err)
	}
	return found[len(found)-1]
}

// Freeze stops the process where it stands, and Thaw lets it go on: the connections stay, and nobody answers.
func (s *Redis) Freeze() { _ = s.process.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Redis) Thaw() { _ = s.process.cmd.Process.Signal(syscall.SIGCONT) }

// URL is where the server is, with the given options.
func (s *Redis) URL(options ...string) string {
	scheme, user := "redis", ""
	if s.CA != "" {
		scheme = "rediss"
		options = append(options, "ca="+s.CA)
	}
	if s.Password != "" {
		user = ":" + s.Password + "@"
	}
	return scheme + "://" + user + s.Addr + "?" + strings.Join(options, "&")
}

func (s *Redis) client() (rueidis.Client, error) {
	return rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.plain}, Password: s.Password, DisableCache: true, ForceSingleClient: true, DisableRetry: true,
		Dialer: net.Dialer{Timeout: time.Second},
	})
}

// Do runs a command as the default user, and returns the answer as text.
func (s *Redis) Do(command ...string) string {
	s.t.Helper()
	c, err := s.client()
	if err != nil {
		s.t.Fatalf("redis-server: %v", err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	answer := c.Do(ctx, c.B().Arbitrary(command...).Build())
	if err := answer.Error(); err != nil && !rueidis.IsRedisNil(err) {
		s.t.Fatalf("redis-server: %s: %v", strings.Join(command, " "), err)
	}
	if text, err := answer.ToString(); err == nil {
		return text
	}
	return answer.String()
}

// Sentinels are private redis-sentinels that watch over one primary.
type Sentinels struct {
	Addrs  []string
	Master string
}

// NewSentinels starts n sentinels over a primary and its replicas, quick to fail over.
func NewSentinels(t T, n int, primary *Redis) *Sentinels {
	t.Helper()
	list := &Sentinels{Master: "main"}
	host, master, _ := net.SplitHostPort(primary.plain)
	for range n {
		dir := folder(t, "")
		at := port(t)
		conf := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor main %s %s %d\nsentinel down-after-milliseconds main 500\n"+
			"sentinel failover-timeout main 3000\n", at, dir, host, master, n/2+1)
		if primary.Password != "" {
			conf += "sentinel auth-pass main " + primary.Password + "\n"
		}
		path := filepath.Join(dir, "sentinel.conf")
		if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
		p := launch(t, "", dir, find(t, "redis-sentinel"), path)
		t.Cleanup(func() { p.signal(os.Kill) })
		addr := fmt.Sprintf("127.0.0.1:%d", at)
		p.ready(t, "redis-sentinel", func(ctx context.Context) error {
			c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return err
			}
			return c.Close()
		})
		list.Addrs = append(list.Addrs, addr)
	}
	return list
}

// URL is where the sentinels are, with the given options.
func (s *Sentinels) URL(password string, options ...string) string {
	user := ""
	if password != "" {
		user = ":" + password + "@"
	}
	return "redis+sentinel://" + user + strings.Join(s.Addrs, ",") + "/" + s.Master + "?" + strings.Join(options, "&")
}
