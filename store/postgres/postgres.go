// Package postgres keeps tasks in PostgreSQL (14 or newer), for processes on many machines. What was accepted survives the end of every
// process, and whatever the commits of the server survive: its restart, kill -9 of it, the loss of its power. A URL names the server:
// postgres://user:password@host:port/database?namespace=outlast, with further options of the driver (sslmode …) and of ours (see Config).
//
// # Layout
//
// A namespace is a schema of its own. A task lives in the table task until it ends, and in ended from then on; body holds what does not
// change or is large, from Submit to Prune, and is what makes an id known. So the table that claims look at stays small, whatever has
// ended, and partial indexes keep out of their way what waits for a time, a group or a worker. Lanes are not stored: they are the
// steps of the index of ready tasks, found by jumping from one to the next; no row is hot. The price: a claim costs as much as there are
// lanes with ready tasks of the queues and kinds that it names (some 10 µs each), never as much as there are tasks. A handle that has
// moved many tasks vacuums the table of live ones itself: the server's own vacuum comes once a minute, whatever the load.
//
// # Steps
//
// Every operation is one call of a function of the schema (function/*.sql), that is one statement and one transaction: a process that is
// stopped in the middle holds no lock. The semantics are those of store/memory, written in PL/pgSQL; plain tasks take a road on which a
// gathered call is a few statements, all others go one by one. Saves that come while others are under way go together. The isolation is READ COMMITTED: each statement of a function sees
// what others have committed before it, so a step locks first and looks then. The clock is the server's.
//
// Locks go worker, ordered lanes and limits, tasks by id, groups, parents. The worker's incarnation is held by an advisory lock of the
// transaction, shared by claims and beats, alone by the mark of death: a lock on its row would be a write for each of them. An ordered
// lane is held by such a lock, too. Claim, Promote, Recover and Prune pass over rows that others have locked, and come back. A
// deadlock is repeated, of a gathered call item by item, and never told to the caller. What the server says can never be stored is
// ErrInvalid, of that item alone.
//
// # Evidence
//
// A handle has one connection of its own, its session, on which it listens for notices and holds an advisory lock for each of its
// workers. Who can take that lock has shown that the session is gone; Recover does so inside its step, and keeps it to the end of it. It runs
// on the session of the worker that asks, and says since when that stands: the contract lets it declare only those that have beaten
// since. So a restart of the server, a failover or a proxy that cuts everybody proves nothing about anybody; the evidence of another
// run of the server (its start time) is void besides. A session that is lost is made anew at once, under new keys, and looked after
// every second. A machine that loses its power leaves a session that the server holds to be alive: then silence decides.
//
// # Behind a pooler
//
// A pooler in transaction mode (pgbouncer) is found out at Open, or named by pooler=1. Sessions mean nothing then: there is no
// evidence (Info says so), silence alone shows that a worker is dead, Watch looks four times a second, and nothing is prepared. One in session mode is
// taken for one in transaction mode.
//
// # Notices
//
// Notices are sent after the step, in a statement of their own, by the process that made it: at once after a quiet time, otherwise
// together every 10 ms; a commit that notifies would wait for all others that do. Changes of tasks are told only while some handle follows
// any. Inside a user's transaction they go with its commit.
//
// # What it leaves to others
//
// Replication: what is lost with a primary that is not replicated synchronously is lost. Statistics of minutes are kept for ever. The user of the URL must own the schema, or be allowed to make it.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/outlast-go/outlast/store"
)

// Config says how a handle behaves. The zero value works. What a Config leaves open the URL may say.
type Config struct {
	// Namespace is the schema that holds the records. In the URL: namespace=. Default: "outlast".
	Namespace string
	// Timing of the protocol. Default: that of store.Timing.
	Timing store.Timing
	// Conns is how many connections the handle may have besides the one for evidence and notices. In the URL: conns=. Default: 8.
	Conns int
	// Pooler says that a pooler in transaction mode stands between. It is found out at Open where it can be. In the URL: pooler=1.
	Pooler bool
	// FsyncOff accepts a server with fsync=off. In the URL: fsync=off-ok.
	FsyncOff bool
}

// Store is a handle of one process on one namespace. It is made by Open.
type Store struct {
	cfg     Config
	version string // of the server
	id      string // of the namespace
	q       *queries
	pool    *pgxpool.Pool
	shared  bool // the pool is another's
	session *session
	notify  *notifier
	watch   *watch
	saves   *saves

	churn   atomic.Int64 // tasks moved since the last cleaning
	closing chan struct{}
	closed  atomic.Bool
	crew    sync.WaitGroup
	close   func() error
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Stager   = (*Store)(nil)
	_ store.Resealer = (*Store)(nil)
	_ store.Blobs    = (*Store)(nil)
)

// Open connects to the server that a URL names, postgres://user:password@host:port/database, and makes or migrates the schema if need
// be. It refuses what it cannot keep its promises on: a replica, a schema that a newer version has made, a server without fsync; the
// error says what to do, and never the password.
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	p, err := parseURL(url, cfg)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	if p.cfg.Conns <= 0 {
		p.cfg.Conns = 8
	}
	p.cfg.Timing = p.cfg.Timing.WithDefaults()
	s, err := open(ctx, p, nil)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", p.masked, err)
	}
	return s, nil
}

func open(ctx context.Context, p place, pool *pgxpool.Pool) (*Store, error) {
	q, err := readQueries(p.cfg.Namespace)
	if err != nil {
		return nil, err
	}
	dialled, err := dial(p)
	if err != nil {
		return nil, err
	}
	p.user, p.database = dialled.ConnConfig.User, dialled.ConnConfig.Database
	s := &Store{q: q, shared: pool != nil, closing: make(chan struct{})}
	if pool == nil {
		version, err := s.first(ctx, &p, dialled)
		if err != nil {
			return nil, explain(err, p)
		}
		s.version = version
		if p.cfg.Pooler {
			if dialled, err = dial(p); err != nil {
				return nil, err
			}
		}
		if pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), dialled); err != nil {
			return nil, err
		}
	}
	s.cfg, s.pool = p.cfg, pool
	if err := pool.QueryRow(ctx, q.get("namespace_id")).Scan(&s.id); err != nil {
		if !s.shared {
			pool.Close()
		}
		return nil, explain(err, p)
	}
	s.watch = newWatch(s)
	s.notify = newNotifier(s)
	s.saves = newSaves(ctx, s)
	if !p.cfg.Pooler {
		s.session = newSession(s, dialled.ConnConfig)
	}
	s.close = sync.OnceValue(s.end)
	return s, nil
}

// first makes a first connection, looks at the server and sees to the schema.
func (s *Store) first(ctx context.Context, p *place, cfg *pgxpool.Config) (version string, err error) {
	plain := cfg.ConnConfig.Copy() // there may be a pooler: nothing is asked of it but statements
	plain.DefaultQueryExecMode = pgx.QueryExecModeExec
	for _, name := range ourParams {
		delete(plain.RuntimeParams, name)
	}
	conn, err := pgx.ConnectConfig(ctx, plain)
	if err != nil {
		return "", err
	}
	defer func() {
		_ = conn.Close(context.WithoutCancel(ctx)) // it has done its work, or the error before says more
	}()
	if version, err = examine(ctx, conn, *p, s.q); err != nil {
		return "", err
	}
	if !p.cfg.Pooler {
		if p.cfg.Pooler, err = pooled(ctx, conn, s.q); err != nil {
			return "", err
		}
	}
	return version, migrate(ctx, conn, s.q)
}

// Close lets go of what the handle holds. Workers that joined on it and did not leave are then as good as dead.
func (s *Store) Close() error { return s.close() }

func (s *Store) end() error {
	s.closed.Store(true)
	close(s.closing)
	if s.session != nil {
		s.session.stop()
	}
	s.saves.stop()
	s.notify.mu.Lock()   // whoever is about to send has begun, or will not
	s.notify.mu.Unlock() //nolint:staticcheck // see above
	s.crew.Wait()
	if !s.shared {
		s.pool.Close()
	}
	return nil
}

// spawn begins what Close waits for; false: the handle is being closed, and nothing is begun any more.
func (s *Store) spawn(fn func()) bool {
	s.notify.mu.Lock()
	defer s.notify.mu.Unlock()
	if s.closed.Load() {
		return false
	}
	s.crew.Go(fn)
	return true
}

// Info tells what this store is.
func (s *Store) Info() store.Info {
	evidence := store.EvidenceSession
	if s.session == nil {
		evidence = store.EvidenceNone
	}
	return store.Info{
		Engine: "postgres", Namespace: s.cfg.Namespace, ID: s.id, Version: s.version, Schema: schemaVersion, Evidence: evidence,
		Survives: "accepted work survives the end of every process, and whatever the server's commits survive: its restart and the loss of its power; with synchronous replicas the loss of its machine",
		Timing:   s.cfg.Timing,
	}
}

// Now reads the store's clock.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now int64
	err := s.read(ctx, func(ctx context.Context, c querier) error { return c.QueryRow(ctx, s.q.get("now")).Scan(&now) })
	if err != nil {
		return time.Time{}, err
	}
	return instant(&now), nil
}

var errNoEvidence = errors.New("the session that vouches for the worker is not there")
