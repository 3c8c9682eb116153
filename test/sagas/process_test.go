//go:build unix

package sagas

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	enginebyurl "github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store/storetest"
	"github.com/outlast-go/outlast/test/servers"
)

// TestMain lets this binary be a worker process as well. Most tests wait for time to pass, so many run at once.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SAGA_DIR"); dir != "" {
		if err := work(context.Background(), dir); err != nil {
			panic(err)
		}
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	code := m.Run()
	servers.EndShared()
	os.Exit(code)
}

// work is a process that serves the saga, or calls it, and kills itself at a commit.
func work(ctx context.Context, dir string) error {
	db, err := enginebyurl.Open(ctx, os.Getenv("SAGA_URL"))
	if err != nil {
		return err
	}
	id := os.Getenv("SAGA_RUN")
	l := ledgerOf(db)
	if l != nil {
		plain := l.begin
		l.begin = func(ctx context.Context) (*page, error) {
			p, err := plain(ctx)
			if err == nil {
				p.around = mortal
			}
			return p, err
		}
	}
	st := storetest.Wrap(db, func(_ context.Context, op string, do func() error) error {
		if op != "Complete" && op != "Save" && (op != "Submit" || id == "") {
			return do()
		}
		return mortal(do)
	})
	k, err := kernel.New(st, kernel.Config{Slots: map[string]int{"default": 4, "one": 4, "two": 4, "q": 4}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if os.Getenv("SAGA_POISON") != "" {
		poison(dir, os.Getenv("SAGA_ASYNC") != "").Serve(k)
		beside().Serve(k)
		return k.Run(ctx)
	}
	def := killable(dir, l, os.Getenv("SAGA_FAILS") != "")
	if id == "" {
		def.Serve(k)
		return k.Run(ctx)
	}
	var opts saga.Options
	if err := opts.ID.UnmarshalText([]byte(id)); err != nil {
		return err
	}
	_, err = def.Run(ctx, k, "", opts)
	return err
}

// mortal makes a commit, and kills the process at the one that is the last: before it, or after it and before its answer is seen.
// Commits are counted over all processes of a trial.
func mortal(commit func() error) error {
	dir := os.Getenv("SAGA_DIR")
	at, _ := strconv.ParseInt(os.Getenv("SAGA_KILL"), 10, 64)
	f, err := os.OpenFile(filepath.Join(dir, "commits"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString("."); err != nil {
		return err
	}
	n, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if n == at && os.Getenv("SAGA_LOST") != "" {
		die(dir)
	}
	err = commit()
	if n == at {
		die(dir)
	}
	return err
}

// die leaves a mark, and ends the process as kill -9 does.
func die(dir string) {
	_ = os.WriteFile(filepath.Join(dir, "died"), nil, 0o600)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // until it comes
}

// killable is a saga of five steps: a writes to a file, b does so in another queue, c is a transaction on the store where it has them,
// d is behind a barrier, and e fails if it is to.
func killable(dir string, l *ledger, fails bool) *saga.Def[string, string] {
	node := func(b *saga.Builder[string], name string, from saga.Ref[string]) *saga.Node[string] {
		return saga.Step1(b, name, func(ctx context.Context, s string) (string, error) { return s + name, effect(ctx, dir, name) }, from).
			Undo(func(ctx context.Context, _ string) error { return effect(ctx, dir, "undo-"+name) })
	}
	return saga.Define("killable", func(b *saga.Builder[string]) *saga.Node[string] {
		a := node(b, "a", b.In())
		bb := node(b, "b", a).Async("one")
		var c *saga.Node[string]
		if l == nil {
			c = node(b, "c", bb)
		} else {
			c = saga.Tx1(b, "c", l.begin, func(_ context.Context, p *page, s string) (string, error) { return s + "c", p.add("c") }, bb).
				UndoTx(func(_ context.Context, p *page, _ string) error { return p.add("undo c") }).Node
		}
		d := saga.Step1(b, "d", func(ctx context.Context, s string) (string, error) { return s + "d", behindBarrier(ctx, dir, "d") }, c).Async("two").
			Undo(func(ctx context.Context, _ string) error { return behindBarrier(ctx, dir, "undo d") })
		return saga.Step1(b, "e", func(_ context.Context, s string) (string, error) {
			if fails {
				return "", errNo
			}
			return s + "e", nil
		}, d)
	})
}

// effect writes to a file.
func effect(ctx context.Context, dir, what string) error {
	f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	_, err = fmt.Fprintln(f, what, saga.Key(ctx))
	return err
}

// openBarrier opens a database that is not the store.
func openBarrier(dir string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+filepath.Join(dir, "user.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate")
}

// behindBarrier writes a row in it, behind a barrier.
func behindBarrier(ctx context.Context, dir, what string) error {
	db, err := openBarrier(dir)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	write := func() error {
		_, err := tx.ExecContext(ctx, "insert into effect values (?)", what)
		return err
	}
	if what == "d" {
		_, err = saga.RunOnce(ctx, saga.Barrier{}, tx, func() (int, error) { return 1, write() })
	} else {
		err = saga.UndoOnce(ctx, saga.Barrier{}, tx, write)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}
