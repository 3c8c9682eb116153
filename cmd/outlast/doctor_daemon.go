package main

import (
	"context"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
)

// daemon looks at a daemon, and through it at what waits and works.
func (c *chart) daemon(ctx context.Context, l *cli.Line, url string) {
	d, err := openDaemon(l, url)
	if err != nil {
		c.add("daemon", bad, err.Error(), "")
		return
	}
	defer func() { _ = d.Close() }() // it has nothing to lose
	before := l.Now()
	info, err := d.Meet(ctx)
	took := l.Now().Sub(before)
	if err != nil {
		c.add("daemon", bad, err.Error(), "")
		return
	}
	c.add("daemon", good, fmt.Sprintf("version %s, %s, answers in %s", info.Version, info.State, cli.Coarse(took)), "")
	if own := buildVersion(); own != info.Version {
		c.add("daemon", worth, fmt.Sprintf("outlast here is of version %s", own), "use the same: one may not know all that the other does")
	}
	if info.Problem != "" {
		c.add("daemon", bad, info.Problem, "its log tells more")
	}
	if info.Now.IsZero() {
		c.add("store", bad, "the store does not answer the daemon", "is the server there, and may the daemon's machine reach it?")
		return
	}
	c.add("store", good, fmt.Sprintf("%s, namespace %s", info.Engine, info.Namespace), "")
	c.add("survives", good, info.Survives, "")
	if off := info.Now.Sub(before.Add(took / 2)).Abs(); off > 2*time.Second+took {
		c.add("clock", worth, fmt.Sprintf("the clock of this machine and the store's differ by %s; the store's decides what is due", cli.Coarse(off)),
			"let both be set by NTP; times that programs compute by themselves are off by as much")
	}
	c.add("settings", worth, "those of the store are not looked at through a daemon", "run it with the URL of the store")
	if err := c.fleet(ctx, d, info.Now); err != nil {
		c.add("workers", bad, err.Error(), "")
	}
}
