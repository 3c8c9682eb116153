package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/seal"
)

// answerLimit is how long a store may take to answer somebody who sits and waits.
const answerLimit = 15 * time.Second

// keysVar may hold the keys themselves.
const keysVar = "OUTLAST_KEYS"

// progressEvery is how often something long tells how far it is.
const progressEvery = 2 * time.Second

var keysFlag = cli.Flag{
	Name: "keys", Value: "FILE", Common: true, Env: "OUTLAST_KEYS_FILE",
	Help: "key file, for what is sealed; without it the environment variable " + keysVar + " may hold the keys themselves",
}

// storeFlags are those of every command that works on a store.
func storeFlags(more ...cli.Flag) []cli.Flag {
	return slices.Concat(more, []cli.Flag{
		{Name: "store", Value: "URL", Common: true, Env: "OUTLAST_STORE", Shown: "an SQLite file in the user's data folder", Help: "store to work on: " + engine.Lasting},
		{Name: "namespace", Value: "NAME", Common: true, Env: "OUTLAST_NAMESPACE", Shown: "the URL's", Help: "namespace in the store"},
		keysFlag,
	})
}

// storeURL is the store that a command works on.
func storeURL(l *cli.Line) (url string, err error) {
	if url = l.Text("store"); url != "" {
		return url, nil
	}
	dir := l.Getenv("XDG_DATA_HOME")
	if dir == "" && runtime.GOOS == "windows" {
		dir = l.Getenv("LocalAppData")
	}
	if dir == "" {
		home := l.Getenv("HOME")
		if home == "" {
			return "", cli.Misused("there is no home folder to keep a store in; say --store sqlite:path/to/file.db")
		}
		dir = filepath.Join(home, ".local", "share")
	}
	return "sqlite:" + filepath.Join(dir, "outlast", "outlast.db"), nil
}

// makeFolder makes the folder of the store in the user's data folder: of one that was named it must be there.
func makeFolder(l *cli.Line, url string) error {
	if l.Text("store") != "" {
		return nil
	}
	return os.MkdirAll(filepath.Dir(engine.Path(url)), 0o700)
}

// keyRing reads the keys that a command was given; nil: none.
func keyRing(l *cli.Line) (*seal.Ring, error) {
	if path := l.Text("keys"); path != "" {
		return seal.FromFile(path)
	}
	text := l.Getenv(keysVar)
	if text == "" {
		return nil, nil
	}
	ring, err := seal.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("environment variable %s: %w", keysVar, err)
	}
	return ring, nil
}

// want says how a command opens its store.
type want struct {
	create bool // the store is made if it is not there
	sealer bool // it makes no sense without keys
	config kernel.Config
}

// open opens the store that a command line names, with a kernel on it that is not run.
func open(ctx context.Context, l *cli.Line, w want) (*ops.Direct, error) {
	url, err := storeURL(l)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(url, "memory:") {
		return nil, cli.Misused("memory: is gone with its process, so there is nothing in it; use %s", "sqlite:path/to/file.db")
	}
	ring, err := keyRing(l)
	if err != nil {
		return nil, err
	}
	if w.sealer && ring == nil {
		return nil, cli.Misused("it needs the keys: say --keys FILE, or set %s", keysVar)
	}
	if w.create {
		if err := makeFolder(l, url); err != nil {
			return nil, err
		}
	}
	log := slog.New(slog.NewTextHandler(l.Err, &slog.HandlerOptions{Level: slog.LevelError}))
	st, err := engine.Open(ctx, url, engine.Options{Namespace: l.Text("namespace"), Existing: !w.create, Log: log})
	if errors.Is(err, engine.ErrNothing) {
		return nil, fmt.Errorf("%w; name the right one by --store, or make it by \"outlast migrate\"", err)
	}
	if err != nil {
		return nil, err
	}
	cfg := w.config
	if ring != nil {
		cfg.Sealer = ring
	}
	if cfg.Logger == nil {
		cfg.Logger = log
	}
	k, err := kernel.New(st, cfg)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	return ops.NewDirect(st, k, answerLimit), nil
}

// with opens the store, lets fn work on it, and closes it.
func with(ctx context.Context, l *cli.Line, w want, fn func(d *ops.Direct) error) error {
	d, err := open(ctx, l, w)
	if err != nil {
		return err
	}
	err = fn(d)
	return errors.Join(err, d.Close())
}
