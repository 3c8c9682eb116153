package main

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
)

func careCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "migrate", Short: "make a store, or bring it to the schema of this version", Flags: storeFlags(),
			Long:    "Every process does so when it opens the store; this is for doing it beforehand, with a user who may. It may be repeated.",
			Example: "outlast migrate --store postgres://owner@host/database", Run: migrate,
		},
		{
			Name: "fsck", Short: "read all of a store and tell what in it cannot be; mend what can be mended",
			Flags: storeFlags(
				cli.Flag{Name: "repair", Kind: cli.Switch, Help: "derive anew what was found wrong and is derived: slots of limits, unique keys, counts of groups"},
				cli.Flag{Name: "dry-run", Kind: cli.Switch, Help: "with --repair: say what would be mended, and change nothing"},
			),
			Long: "Without --repair it changes nothing. With it, what is derived of the records of tasks is derived anew; the records themselves are never made, changed\n" +
				"or removed. Each thing is mended in one step, so it may run beside everything else; a Redis server does nothing else while it counts the members of a\n" +
				"group. What is left is a bug or a damaged disk, and no change of it is provably safe. The exit code is 1 if something was found, or is left.",
			Example: "outlast fsck\noutlast fsck --repair --dry-run\noutlast fsck --repair --json", Run: check,
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
