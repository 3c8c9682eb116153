package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/store"
)

// The verdicts of a check.
const (
	good  = "ok"
	worth = "note" // worth knowing
	bad   = "bad"
)

// diagnosis is one thing that was looked at.
type diagnosis struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Text    string `json:"text"`
	Fix     string `json:"fix,omitempty"`
}

// chart gathers what a doctor finds.
type chart struct{ list []diagnosis }

func (c *chart) add(check, verdict, text, fix string) {
	c.list = append(c.list, diagnosis{check, verdict, cli.Mask(cli.OneLine(text)), fix})
}

func doctor(ctx context.Context, l *cli.Line) error {
	c := &chart{}
	c.limits()
	if url, err := storeURL(l); err == nil && ofDaemon(url) {
		c.daemon(ctx, l, url)
		return c.tell(l)
	}
	d, err := open(ctx, l, want{})
	switch {
	case errors.Is(err, engine.ErrNothing):
		c.add("store", bad, err.Error(), "")
	case err != nil:
		c.add("store", bad, err.Error(), "see the message; docs/stores.md has the URLs and their options")
	default:
		c.store(ctx, l, d)
		err = d.Close()
	}
	if err != nil && len(c.list) == 0 {
		return err
	}
	return c.tell(l)
}

// tell prints the chart.
func (c *chart) tell(l *cli.Line) error {
	wrong := 0
	for _, g := range c.list {
		if g.Verdict == bad {
			wrong++
		}
		if l.AsJSON() {
			if err := l.JSON(g); err != nil {
				return err
			}
			continue
		}
		style := map[string]cli.Style{good: cli.Green, worth: cli.Yellow, bad: cli.Red}[g.Verdict]
		l.Say("%s %s %s", l.Paint(style, fmt.Sprintf("%-4s", g.Verdict)), l.Paint(cli.Bold, fmt.Sprintf("%-9s", g.Check)), g.Text)
		if g.Fix != "" {
			l.Say("%15s%s %s", "", l.Paint(cli.Dim, "→"), g.Fix)
		}
	}
	switch {
	case wrong > 0 && l.AsJSON():
		return cli.Told
	case wrong == 1:
		return errors.New("one thing is wrong: see above")
	case wrong > 1:
		return fmt.Errorf("%d things are wrong: see above", wrong)
	}
	return nil
}

// store looks at an open store.
func (c *chart) store(ctx context.Context, l *cli.Line, d *ops.Direct) {
	before := l.Now()
	now, err := d.Now(ctx)
	took := l.Now().Sub(before)
	if err != nil {
		c.add("store", bad, err.Error(), "is the server there, and may this machine reach it?")
		return
	}
	info := d.Info()
	c.add("store", good, fmt.Sprintf("%s %s, namespace %s, schema %d, answers in %s", info.Engine, info.Version, info.Namespace, info.Schema, cli.Coarse(took)), "")
	c.add("survives", good, info.Survives, "")
	if info.Evidence == store.EvidenceNone {
		c.add("evidence", worth, "nothing but silence shows that a worker is dead: its tasks go on after dead-after (15 s)",
			"connect without a transaction pooler, or let the user list its connections (docs/stores.md)")
	}
	if off := now.Sub(before.Add(took / 2)).Abs(); off > 2*time.Second+took {
		c.add("clock", worth, fmt.Sprintf("the clock of this machine and the store's differ by %s; the store's decides what is due", cli.Coarse(off)),
			"let both be set by NTP; times that programs compute by themselves are off by as much")
	} else {
		c.add("clock", good, "this machine's and the store's agree", "")
	}
	if i, ok := d.Store().(inspector); ok {
		settings, err := i.Settings(ctx)
		if err != nil {
			c.add("settings", worth, "they cannot be read: "+err.Error(), "")
		}
		c.settings(info.Engine, settings)
	}
	if err := c.fleet(ctx, d, now); err != nil {
		c.add("workers", bad, err.Error(), "")
	}
}

// fleet looks at workers, and at what waits for them.
func (c *chart) fleet(ctx context.Context, d ops.Operator, now time.Time) error {
	list, err := d.Workers(ctx)
	if err != nil {
		return err
	}
	queues, err := d.Queues(ctx)
	if err != nil {
		return err
	}
	slots, alive, late := map[string]int{}, 0, 0
	for _, w := range list {
		switch workerState(w, now) {
		case "dead", "left":
			if now.Sub(w.DeadAt) > time.Minute {
				p, err := d.List(ctx, store.Filter{Worker: w.ID, States: []store.State{store.Running}}, store.PageRequest{Limit: 1})
				if err != nil {
					return err
				}
				if len(p.Items) > 0 {
					c.add("workers", bad, fmt.Sprintf("%s is dead since %s, and tasks still run under it", w.ID, cli.Coarse(now.Sub(w.DeadAt))), "start a process that works on this store: it takes them over")
				}
			}
			continue
		case "late":
			c.add("workers", worth, fmt.Sprintf("%s has not beaten for %s", w.ID, cli.Coarse(now.Sub(w.BeatAt))),
				"is it stopped, overloaded or cut off? If it is gone, any process that works on this store takes over from it")
			late++
		default:
			alive++
		}
		if w.Load.Stuck > 0 {
			c.add("workers", bad, fmt.Sprintf("%s has %d handlers that do not return", w.ID, w.Load.Stuck), "they ignore their context; restart the process, and mend the handlers")
		}
		for q, n := range w.Info.Slots {
			slots[q] += n
		}
	}
	c.add("workers", good, fmt.Sprintf("%d alive, %d late, %d dead or gone", alive, late, len(list)-alive-late), "")
	for _, q := range queues {
		c.queue(q, slots[q.Queue], now)
	}
	return nil
}

func (c *chart) queue(q store.QueueStatus, slots int, now time.Time) {
	waits := fmt.Sprintf("%s has %s ready tasks", q.Queue, cli.Thousands(q.Ready))
	switch {
	case q.Ready == 0:
	case q.Paused:
		c.add("queues", worth, waits+", and is paused", fmt.Sprintf("outlast resume %s", q.Queue))
	case slots == 0:
		c.add("queues", bad, waits+", and no living worker serves it", fmt.Sprintf("start a process with Slots for %q", q.Queue))
	case now.Sub(q.OldestAt) > 10*time.Minute:
		c.add("queues", worth, fmt.Sprintf("%s, the oldest for %s", waits, cli.Coarse(now.Sub(q.OldestAt))),
			fmt.Sprintf("\"outlast lanes %s\" shows what blocks it: a limit, an order, a pause, a kind that nobody serves", q.Queue))
	}
}

// rule is what a setting should be.
type rule struct {
	name    string
	fine    func(value string) bool
	verdict string
	why     string
	fix     string
}

func is(values ...string) func(string) bool {
	return func(v string) bool { return strings.Contains(","+strings.Join(values, ",")+",", ","+v+",") }
}

// settingRules are those of the engines.
var settingRules = map[string][]rule{
	"sqlite": {
		{"journal_mode", is("wal"), bad, "readers and writers stand in each other's way", "put the file on a local disk that allows WAL"},
	},
	"postgres": {
		{"fsync", is("on"), bad, "a loss of power loses accepted work, or the database", "set fsync=on"},
		{"full_page_writes", is("on"), bad, "a loss of power may spoil pages", "set full_page_writes=on"},
		{"synchronous_commit", is("on", "remote_write", "remote_apply"), worth, "other programs' commits may be lost; ours ask for on", ""},
		{"idle_session_timeout", is("0"), worth, "sessions that are quiet for so many ms are cut, and with them the proof that a worker lives", "set idle_session_timeout=0 for this user"},
		{"autovacuum", is("on"), bad, "tables that are never cleaned grow and slow down", "set autovacuum=on"},
		{"statement_timeout", is("0"), worth, "statements are cut after so many ms; an export or a large list may take longer", ""},
	},
	"redis": {
		{"aof_enabled", is("1"), bad, "what the server has not saved is lost with it", "set appendonly yes"},
		{"appendfsync", is("always"), worth, "a machine that loses its power may take the last seconds of accepted work along", "set appendfsync always, if that must not be"},
		{"aof_last_write_status", is("ok"), bad, "the append-only file cannot be written", "is the disk of the server full?"},
		{"aof_last_bgrewrite_status", is("ok"), worth, "the append-only file could not be made shorter", "is the disk or the memory of the server full?"},
		{"maxmemory_policy", is("noeviction"), bad, "the server may throw work away when it is full", "set maxmemory-policy noeviction"},
		{"timeout", is("0"), worth, "connections that are quiet for so many seconds are cut; they are made anew", ""},
	},
}

func (c *chart) settings(engine string, m map[string]string) {
	var fine []string
	for _, r := range settingRules[engine] {
		value, ok := m[r.name]
		switch {
		case !ok:
			c.add("settings", worth, r.name+" cannot be read", "")
		case r.fine(value):
			fine = append(fine, r.name+"="+value)
		default:
			c.add("settings", r.verdict, fmt.Sprintf("%s is %s: %s", r.name, value, r.why), r.fix)
		}
	}
	if len(fine) > 0 {
		c.add("settings", good, strings.Join(fine, ", "), "")
	}
	c.room(engine, m)
}

// room looks at what may run out.
func (c *chart) room(engine string, m map[string]string) {
	share := func(used, all string) (float64, bool) {
		var u, a float64
		_, err1 := fmt.Sscan(m[used], &u)
		_, err2 := fmt.Sscan(m[all], &a)
		return u / max(a, 1), err1 == nil && err2 == nil && a > 0
	}
	switch engine {
	case "postgres":
		if s, ok := share("connections", "max_connections"); ok && s > 0.8 {
			c.add("room", worth, fmt.Sprintf("%s of %s connections are taken", m["connections"], m["max_connections"]), "raise max_connections, or lower conns in the URLs")
		}
	case "redis":
		if s, ok := share("used_memory", "maxmemory"); ok && s > 0.8 {
			c.add("room", worth, fmt.Sprintf("%.0f %% of maxmemory are used", 100*s), "raise maxmemory; when it is full no new work is accepted")
		}
	case "sqlite":
		if free, ok := freeDisk(m["path"]); ok && free < 1<<30 {
			c.add("room", worth, fmt.Sprintf("%d MiB are left on the disk of the store", free>>20), "make room; when it is full no new work is accepted")
		}
	}
}
