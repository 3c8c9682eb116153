package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// minVersion of the server: what the functions are written in.
const minVersion = 140000

// idleLimit is how long a transaction of ours may wait for its client. Ours are single statements; it is for what a user's transaction
// or an Export holds when its process is stopped.
const idleLimit = 60 * time.Second

// ourParams are the settings that a handle asks for at the start of a connection.
var ourParams = []string{"application_name", "idle_in_transaction_session_timeout", "synchronous_commit", "jit"}

// dial is how connections of a handle are made.
func dial(p place) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(p.driver)
	if err != nil {
		// The driver's text repeats the URL; ParseConfigError hides the password, but only where it finds it.
		return nil, errors.New("the URL has an option that the driver does not know, or a value that it cannot read")
	}
	cfg.MaxConns = int32(p.cfg.Conns)
	cfg.MinConns = 0
	c := cfg.ConnConfig
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.RuntimeParams["application_name"] == "" && !p.cfg.Pooler {
		c.RuntimeParams["application_name"] = "outlast"
	}
	if p.cfg.Pooler {
		// A pooler hands each transaction to another server's connection, so nothing may be kept on one; nor may it be asked
		// for settings that it does not know.
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
		c.StatementCacheCapacity, c.DescriptionCacheCapacity = 0, 0
		return cfg, nil
	}
	c.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(idleLimit.Milliseconds())
	c.RuntimeParams["synchronous_commit"] = "on"
	c.RuntimeParams["jit"] = "off" // no statement of ours is worth compiling
	return cfg, nil
}

// examine says why a server cannot be used, and what kind it is.
func examine(ctx context.Context, conn *pgx.Conn, p place, q *queries) (version string, err error) {
	var number int
	var standby, readOnly bool
	var fsync string
	err = conn.QueryRow(ctx, q.get("examine")).Scan(&version, &number, &standby, &readOnly, &fsync)
	switch {
	case err != nil:
		return "", err
	case number < minVersion:
		return "", fmt.Errorf("the server is PostgreSQL %s; at least %d is needed", version, minVersion/10000)
	case standby:
		return "", errors.New("the server is a read-only replica (pg_is_in_recovery); name the primary, or several hosts with target_session_attrs=primary")
	case readOnly:
		return "", errors.New("the database is read-only (default_transaction_read_only); name one that can be written")
	case fsync != "on" && !p.cfg.FsyncOff:
		return "", errors.New("the server runs with fsync=off: what is accepted may be lost with the power; set fsync=on, or, if that is meant, say fsync=off-ok in the URL")
	}
	return version, nil
}

// pooled reports whether there is a pooler between us and the server that hands each transaction to whichever connection is free: what is
// set on a session is then not there in the next one, or the session is another.
func pooled(ctx context.Context, conn *pgx.Conn, q *queries) (bool, error) {
	var before int64
	for range 3 {
		var pid int64
		if err := conn.QueryRow(ctx, q.get("session_pid")).Scan(&pid); err != nil {
			return false, err
		}
		// A server's own process has told its number at the start; a pooler tells one that it made up, and may change it.
		if int64(conn.PgConn().PID()) != pid || before != 0 && before != pid {
			return true, nil
		}
		before = pid
	}
	return false, nil
}

// explain says in plain words what keeps a server from being used, and what to do.
func explain(err error, p place) error {
	var pg *pgconn.PgError
	var network *net.OpError
	user, database := p.user, p.database
	switch {
	case errors.As(err, &pg):
		switch pg.Code {
		case "28P01", "28000":
			return fmt.Errorf("the server refuses user %q: wrong password, or it may not come from here (pg_hba.conf): %w", user, err)
		case "3D000":
			return fmt.Errorf("there is no database %q; make it with `createdb %s`: %w", database, database, err)
		case "42501":
			return fmt.Errorf("user %q may not do that in database %q; let its owner say `grant create on database %s to %s`, or name a schema that it owns: %w", user, database, database, user, err)
		case "53300":
			return fmt.Errorf("the server has no connection left; raise max_connections, or lower conns in the URL: %w", err)
		case "57P03":
			return fmt.Errorf("the server is starting or stopping: %w", err)
		case "25006":
			return fmt.Errorf("the server is a read-only replica; name the primary: %w", err)
		}
	case errors.As(err, &network):
		return fmt.Errorf("the server is not there, or not to be reached: %w", network) // the driver tells it once for each way it tried
	}
	return err
}
