package main

import (
	"cmp"
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

// tokenVar may hold the token for a daemon itself.
const tokenVar = "OUTLAST_TOKEN"

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

// targetFlags are those of every command that works on a store, or through the daemon that serves it.
func targetFlags(more ...cli.Flag) []cli.Flag {
	list := storeFlags(more...)
	for i := range list {
		if list[i].Name == "store" {
			list[i].Help += "; or the address of a daemon, http://127.0.0.1:7070"
		}
	}
	return append(list,
		cli.Flag{
			Name: "token-file", Value: "FILE", Common: true, Env: "OUTLAST_TOKEN_FILE",
			Help: "file with the token for a daemon; without it the environment variable " + tokenVar + " may hold the token itself",
		},
		cli.Flag{Name: "ca", Value: "FILE", Common: true, Env: "OUTLAST_CA", Shown: "those that the system trusts", Help: "certificate, in PEM form, of who signed that of a daemon"},
	)
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

// ofDaemon reports whether a URL is the address of a daemon.
func ofDaemon(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// open opens the store that a command line names, with a kernel on it that is not run.
func open(ctx context.Context, l *cli.Line, w want) (*ops.Direct, error) {
	url, err := storeURL(l)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(url, "memory:"):
		return nil, cli.Misused("memory: is gone with its process, so there is nothing in it; use %s", "sqlite:path/to/file.db")
	case ofDaemon(url):
		return nil, cli.Misused("this works on the store itself, not through a daemon: say --store with the URL of the daemon's store")
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

// openDaemon makes ready to speak to a daemon.
func openDaemon(l *cli.Line, url string) (*ops.Daemon, error) {
	cfg := ops.DaemonConfig{URL: url, Token: strings.TrimSpace(l.Getenv(tokenVar)), Version: cmp.Or(buildVersion(), "unknown"), Limit: answerLimit}
	if path := l.Text("token-file"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
		if cfg.Token = strings.TrimSpace(string(text)); cfg.Token == "" {
			return nil, fmt.Errorf("token: there is none in %s", path)
		}
	}
	if strings.ContainsFunc(cfg.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, cli.Misused("the token is none: it is one word, as \"outlast token create\" prints it")
	}
	if path := l.Text("ca"); path != "" {
		var err error
		if cfg.CA, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("certificate: %w", err)
		}
	}
	return ops.NewDaemon(cfg)
}

// meet asks a daemon who it is, and whether it serves the namespace that was named.
func meet(ctx context.Context, l *cli.Line, d *ops.Daemon) error {
	info, err := d.Meet(ctx)
	if err != nil {
		return err
	}
	if name := l.Text("namespace"); name != "" && name != info.Namespace {
		return fmt.Errorf("the daemon shows the namespace %s, not %s; which one it is says the token: \"outlast token create --space\"", info.Namespace, name)
	}
	return nil
}

// with lets fn work on the store that a command line names, directly or through a daemon.
func with(ctx context.Context, l *cli.Line, w want, fn func(d ops.Operator) error) error {
	url, err := storeURL(l)
	if err != nil {
		return err
	}
	if !ofDaemon(url) {
		return withStore(ctx, l, w, func(d *ops.Direct) error { return fn(d) })
	}
	d, err := openDaemon(l, url)
	if err != nil {
		return err
	}
	if err = meet(ctx, l, d); err == nil {
		err = fn(d)
	}
	return errors.Join(err, d.Close())
}

// withStore is with for what must have the store itself.
func withStore(ctx context.Context, l *cli.Line, w want, fn func(d *ops.Direct) error) error {
	d, err := open(ctx, l, w)
	if err != nil {
		return err
	}
	err = fn(d)
	return errors.Join(err, d.Close())
}
