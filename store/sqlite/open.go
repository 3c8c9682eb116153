package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// schemaVersion is the number of the last migration.
const schemaVersion = 5

// applicationID marks a file as ours: "OUTL".
const applicationID = 0x4f55544c

// minVersion of SQLite: before it two connections that write and checkpoint at once could spoil a file.
var minVersion = [3]int{3, 51, 3}

// openWriter opens the connection of the writer, and sees to it that the file is what it should be.
func openWriter(ctx context.Context, cfg Config) (_ *conn, version string, err error) {
	if err := checkPlace(cfg.Path); err != nil {
		return nil, "", err
	}
	if err := create(cfg.Path); err != nil {
		return nil, "", err
	}
	raw, err := sqlite.OpenConn(cfg.Path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, "", err
	}
	raw.SetBusyTimeout(0)
	c := newConn(raw)
	defer func() {
		if err != nil {
			err = errors.Join(err, raw.Close())
		}
	}()
	for _, check := range []func() error{
		func() (err error) { version, err = checkVersion(raw); return err },
		func() error { return checkFile(raw) },
		func() error { return setModes(raw) },
		func() error { return migrate(c, cfg.Namespace) },
	} {
		if err := patiently(ctx, check); err != nil {
			return nil, "", err
		}
	}
	return c, version, nil
}

// create makes a new file its owner's alone: it holds what tasks carry. The files beside it get its mode. One that is there is left as it is.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// checkPlace says what is wrong with the place of a file.
func checkPlace(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s does not exist; make it first: %w", dir, err)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	}
	if name := networkFS(dir); name != "" {
		return fmt.Errorf("%s is a network file system (%s), on which locks cannot be trusted; put the file on a local disk, or use PostgreSQL", dir, name)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return writable(dir)
	case err != nil:
		return fmt.Errorf("the file must be readable and writable: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	return writable(dir)
}

// writable says whether files can be made in a folder: the log of the database, and the locks of the workers.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".outlast-*")
	if err != nil {
		return fmt.Errorf("the folder %s must be writable: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// patiently repeats what other processes on the file keep from working, until ctx ends.
func patiently(ctx context.Context, fn func() error) error {
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		err := fn()
		if !busy(err) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), err)
		case <-timer.C:
		}
	}
}

func checkVersion(raw *sqlite.Conn) (string, error) {
	version, err := oneText(raw, "select sqlite_version()")
	if err != nil {
		return "", err
	}
	parts := strings.Split(version, ".")
	for i, least := range minVersion {
		have := 0
		if i < len(parts) {
			have, _ = strconv.Atoi(parts[i])
		}
		if have != least {
			if have > least {
				break
			}
			return "", fmt.Errorf("SQLite %s can spoil a file that two connections write; at least %v is needed: update modernc.org/sqlite", version, minVersion)
		}
	}
	return version, nil
}

// checkFile says whether a file is ours, or empty.
func checkFile(raw *sqlite.Conn) error {
	id, err := oneInt(raw, "pragma application_id")
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultNotADB {
		return fmt.Errorf("the file is not a database of SQLite; choose another path: %w", err)
	}
	if err != nil {
		return err
	}
	tables, err := oneInt(raw, "select count(*) from sqlite_schema")
	if err != nil {
		return err
	}
	version, err := oneInt(raw, "pragma user_version")
	if err != nil {
		return err
	}
	switch {
	case id == 0 && tables == 0:
		return nil
	case id != applicationID:
		return errors.New("the file is a database of another program; choose another path")
	}
	return known(version)
}

// known refuses a schema that came after this program.
func known(version int) error {
	if version > schemaVersion {
		return fmt.Errorf("the file has schema %d, and this version knows up to %d; update this program", version, schemaVersion)
	}
	return nil
}

// setModes makes commits durable, and checks that it worked.
func setModes(raw *sqlite.Conn) error {
	mode, err := oneText(raw, "pragma journal_mode = wal")
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system does not allow journal_mode=WAL (it is %s); put the file on a local disk", mode)
	}
	if _, err := oneText(raw, "pragma synchronous = full"); err != nil {
		return err
	}
	// The pages that a claim needs lie apart once many tasks have ended: they should stay in memory.
	if _, err := oneText(raw, "pragma cache_size = -24576"); err != nil {
		return err
	}
	level, err := oneInt(raw, "pragma synchronous")
	if err != nil {
		return err
	}
	if level < 2 {
		return fmt.Errorf("synchronous is %d, and cannot be set to FULL", level)
	}
	return nil
}

func oneText(raw *sqlite.Conn, query string) (text string, err error) {
	err = sqlitex.ExecuteTransient(raw, query, &sqlitex.ExecOptions{ResultFunc: func(r *sqlite.Stmt) error {
		text = r.ColumnText(0)
		return nil
	}})
	return text, err
}

func oneInt(raw *sqlite.Conn, query string) (int, error) {
	text, err := oneText(raw, query)
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.Atoi(text)
}
