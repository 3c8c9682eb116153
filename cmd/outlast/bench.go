package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

func benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Short: "measure a store of yours: submits, drain, end to end, latency",
		Long: "It works in a namespace of its own (of SQLite: in a file beside yours), which it removes at the end; no other is touched. All goes through the\n" +
			"kernel, as it would in a program, with tasks that do nothing. What else the store and this machine do meanwhile shows in the figures, and if workers live\n" +
			"on the store, they are slowed. The figures hold for the durability that is printed with them.",
		Flags: storeFlags(
			cli.Flag{Name: "tasks", Kind: cli.Number, Default: "20000", Min: 100, Help: "how many tasks a part handles at most"},
			cli.Flag{Name: "seconds", Kind: cli.Number, Default: "10", Min: 1, Help: "how long all parts together take, about"},
		),
		Example: "outlast bench --store postgres://user@host/database\noutlast bench --tasks 100000 --seconds 60 --json", Run: bench,
	}
}

// dropper is what stores offer that can remove a namespace.
type dropper interface {
	Drop(ctx context.Context, namespace string) error
}

// benchReport is what was measured, as it is printed for programs.
type benchReport struct {
	Engine    string            `json:"engine"`
	Version   string            `json:"version"`
	Namespace string            `json:"namespace"`
	Survives  string            `json:"survives"`
	Settings  map[string]string `json:"settings"`
	Busy      int               `json:"living_workers"`
	Parts     []benchPart       `json:"parts"`
}

func bench(ctx context.Context, l *cli.Line) error {
	url, err := storeURL(l)
	if err != nil {
		return err
	}
	if ofDaemon(url) {
		return cli.Misused("this works on the store itself, not through a daemon: say --store with the URL of the daemon's store")
	}
	busy, err := livingWorkers(ctx, l, url)
	if err != nil {
		return err
	}
	if busy > 0 {
		fmt.Fprintf(l.Err, "%d workers live on this store: they are slowed, and the figures are of what they leave over\n", busy)
	}
	st, remove, err := benchStore(ctx, l, url)
	if err != nil {
		return err
	}
	r, err := measure(ctx, l, st)
	r.Busy = busy
	err = errors.Join(err, remove(context.WithoutCancel(ctx)))
	if err != nil {
		return err
	}
	if l.AsJSON() {
		return l.JSON(r)
	}
	return printBench(l, r)
}

// livingWorkers counts those of the namespace that is meant. A store that is not there yet has none.
func livingWorkers(ctx context.Context, l *cli.Line, url string) (n int, err error) {
	if strings.HasPrefix(url, "memory:") {
		return 0, nil
	}
	err = withStore(ctx, l, want{}, func(d *ops.Direct) error {
		list, err := d.Workers(ctx)
		for _, w := range list {
			if w.DeadAt.IsZero() {
				n++
			}
		}
		return err
	})
	if errors.Is(err, engine.ErrNothing) {
		return 0, nil
	}
	return n, err
}

// benchStore opens a namespace that nobody has, and tells how to be rid of it.
func benchStore(ctx context.Context, l *cli.Line, url string) (st store.Store, remove func(context.Context) error, err error) {
	random := make([]byte, 4)
	_, _ = rand.Read(random) // it never fails
	name := "bench_" + hex.EncodeToString(random)
	dir := ""
	if strings.HasPrefix(url, "sqlite:") {
		if err := makeFolder(l, url); err != nil {
			return nil, nil, err
		}
		if dir, err = os.MkdirTemp(filepath.Dir(engine.Path(url)), "."+name+"-"); err != nil {
			return nil, nil, err
		}
		url = "sqlite:" + filepath.Join(dir, "bench.db")
	}
	st, err = engine.Open(ctx, url, engine.Options{Namespace: name, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, nil, errors.Join(err, removeFolder(dir))
	}
	return st, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		var err error
		if d, ok := st.(dropper); ok {
			if err = d.Drop(ctx, name); err != nil {
				err = fmt.Errorf("the namespace %s is left behind: %w", name, err)
			}
		}
		return errors.Join(err, st.Close(), removeFolder(dir))
	}, nil
}

func removeFolder(dir string) error {
	if dir == "" {
		return nil
	}
	return os.RemoveAll(dir)
}

func printBench(l *cli.Line, r benchReport) error {
	l.Say("%s %s: %s", l.Paint(cli.Bold, r.Engine), r.Version, r.Survives)
	for _, name := range []string{"synchronous", "journal_mode", "fsync", "synchronous_commit", "aof_enabled", "appendfsync"} {
		if value := r.Settings[name]; value != "" {
			l.Say("  %s %s", l.Paint(cli.Dim, name), value)
		}
	}
	l.Say("")
	var rows [][]cli.Cell
	for _, p := range r.Parts {
		rows = append(rows, []cli.Cell{cli.C(p.Name), p.figure(), cli.In(cli.Dim, p.What)})
	}
	l.Table([]string{"PART", "FIGURE", ""}, rows)
	return nil
}
