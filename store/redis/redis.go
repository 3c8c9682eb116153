package redis

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
)

// Config is what a URL does not say. The zero value works.
type Config struct {
	// Namespace is used where the URL names none. Default: "default".
	Namespace string
	// Timing of the protocol; it must be the same in all processes of a namespace. Default: that of store.Timing.
	Timing store.Timing
	// Log is told once what the server does not promise, and of a session that was lost or found. Default: slog.Default.
	Log *slog.Logger
}

// Store is a handle of one process on a namespace. It is made by Open.
type Store struct {
	cfg       Config
	namespace string
	prefix    string
	id        string // of the namespace, made by chance
	times     string // the times of the protocol, as scripts read them
	client    rueidis.Client
	server    server
	user      string // by which it is known to the server
	evidence  store.EvidenceKind
	log       *slog.Logger
	found     int              // the schema before Open
	clock     func() time.Time // tests set it; nil: the server's
	session   *session
	closing   chan struct{}
	close     func() error
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Stager = (*Store)(nil)
)

// Open opens a namespace on the server that a URL names, and makes it if need be:
//
//	redis://user:password@host:6379/0?namespace=shop
//	rediss://host:6380?ca=/etc/redis/ca.pem
//	redis+sentinel://host1:26379,host2:26379/mymaster?sentinel_password=…
//
// It refuses what it cannot keep its promises on: a server older than 7.0, a replica, one that may evict, one that writes no
// append-only file (unless the URL says lossy=1), records of a newer program. The error says what to do.
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	return open(ctx, a, cfg, nil)
}

func open(ctx context.Context, a address, cfg Config, clock func() time.Time) (*Store, error) {
	cfg.Timing = cfg.Timing.WithDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	s := &Store{cfg: cfg, namespace: a.namespace, user: a.options.Username, log: cfg.Log, clock: clock, times: packTimes(cfg.Timing), closing: make(chan struct{})}
	if s.namespace == "" {
		s.namespace = cfg.Namespace
	}
	if s.namespace == "" {
		s.namespace = "default"
	}
	if err := store.CheckName("namespace", s.namespace); err != nil {
		return nil, err
	}
	s.prefix = prefixOf(s.namespace)
	if err := s.connect(ctx, a); err != nil {
		return nil, err
	}
	s.session = newSession(s)
	s.close = sync.OnceValue(func() error {
		close(s.closing)
		s.session.stop()
		s.client.Close()
		return nil
	})
	return s, nil
}

// Close lets go of what the handle holds. Workers that joined on it and did not leave are then as good as dead.
func (s *Store) Close() error { return s.close() }

// Info tells what this store is.
func (s *Store) Info() store.Info {
	return store.Info{
		Engine: "redis", Namespace: s.namespace, ID: s.id, Version: s.server.version, Schema: schemaVersion, Evidence: s.evidence,
		Survives: s.server.survives(), Timing: s.cfg.Timing,
	}
}

// Now reads the store's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	if err := s.usable(ctx); err != nil {
		return time.Time{}, err
	}
	if s.clock != nil {
		return s.clock().UTC().Round(time.Microsecond), nil
	}
	parts, err := s.client.Do(ctx, s.client.B().Time().Build()).AsIntSlice()
	if err != nil || len(parts) != 2 {
		return time.Time{}, s.explain("now", err)
	}
	return time.UnixMicro(parts[0]*1_000_000 + parts[1]).UTC(), nil
}
