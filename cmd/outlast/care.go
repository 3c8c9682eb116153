package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store/fsck"
)

func careCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "migrate", Short: "make a store, or bring it to the schema of this version", Flags: storeFlags(),
			Long:    "Every process does so when it opens the store; this is for doing it beforehand, with a user who may. It may be repeated.",
			Example: "outlast migrate --store postgres://owner@host/database", Run: migrate,
		},
		{
			Name: "fsck", Short: "read all of a store and tell what in it cannot be", Flags: storeFlags(),
			Long: "It changes nothing, and may run beside everything else. The exit code is 1 if something was found. There is no repair: what cannot be is a\n" +
				"bug or a damaged disk, and no change is provably safe without knowing which.",
			Example: "outlast fsck\noutlast fsck --json", Run: check,
		},
		{
			Name: "doctor", Short: "check store, settings, clocks, file limits and workers, and say what to fix", Flags: targetFlags(),
			Long:    "The exit code is 1 if something is wrong; what is only worth knowing does not count.",
			Example: "outlast doctor --store redis://host:6379", Run: doctor,
		},
	}
}

// inspector is what stores offer to those who look after them.
type inspector interface {
	Found() int
	Settings(ctx context.Context) (map[string]string, error)
}

func migrate(ctx context.Context, l *cli.Line) error {
	return withStore(ctx, l, want{create: true}, func(d *ops.Direct) error {
		info := d.Info()
		before := info.Schema
		if i, ok := d.Store().(inspector); ok {
			before = i.Found()
		}
		if l.AsJSON() {
			return l.JSON(map[string]any{"engine": info.Engine, "namespace": info.Namespace, "before": before, "after": info.Schema})
		}
		what := fmt.Sprintf("%s, namespace %s", info.Engine, info.Namespace)
		switch {
		case before == 0:
			l.Say("%s: made, with schema %d", what, info.Schema)
		case before < info.Schema:
			l.Say("%s: brought from schema %d to %d", what, before, info.Schema)
		default:
			l.Say("%s: has schema %d already", what, before)
		}
		return nil
	})
}

func check(ctx context.Context, l *cli.Line) error {
	return withStore(ctx, l, want{}, func(d *ops.Direct) error {
		begin := l.Now()
		findings, err := fsck.Check(ctx, d.Store())
		if err != nil {
			return err
		}
		for _, f := range findings {
			if l.AsJSON() {
				err = errors.Join(err, l.JSON(map[string]string{"rule": f.Rule, "id": f.ID, "text": f.Text}))
				continue
			}
			l.Say("%s %s %s", l.Paint(cli.Red, f.Rule), cli.Clean(f.ID), cli.Clean(f.Text))
		}
		switch {
		case err != nil:
			return err
		case len(findings) > 0:
			return fmt.Errorf("%s findings; please report them, with what happened before", number(len(findings)))
		case !l.AsJSON():
			l.Say("nothing was found, in %s", cli.Coarse(l.Now().Sub(begin).Round(time.Millisecond)))
		}
		return nil
	})
}
