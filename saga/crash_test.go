package saga_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// mixed is a saga of steps in the run and in two queues, or all in the run; the last one fails if it is to.
func mixed(w *world, fails, inline bool) *saga.Def[int, int] {
	last := w.add("e")
	if fails {
		last = w.refuse("e")
	}
	return saga.Define("mixed", func(b *saga.Builder[int]) *saga.Node[int] {
		p := saga.Step1(b, "p", w.add("p"), b.In()).Pure()
		a := saga.Step1(b, "a", w.add("a"), p).Undo(w.undo("a")).Compensate(w.compensate("a"))
		bb := saga.Step1(b, "b", w.add("b"), a).Undo(w.undo("b"))
		c := saga.Step1(b, "c", w.add("c"), bb).Undo(w.undo("c"))
		d := saga.Step1(b, "d", w.add("d"), c).Undo(w.undo("d"))
		if !inline {
			bb.Async("one")
			d.Async("two")
		}
		return saga.Step1(b, "e", last, d).Retry(2, saga.Fixed(time.Second)).Undo(w.undo("e")).Compensate(w.compensate("e"))
	})
}

// Killed at every write, forward and backward, in a worker and in the caller: the ending is right, each step is on record once, and
// no effect comes after the rollback began. FT-23, RR-033, RR-060, RR-069, RR-072, X-21, X-22
func TestKilledAtEveryWriteTheSagaEndsRight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		k       killing
		crashes int
	}{
		"forward in a worker":                {killing{}, 12},
		"backward in a worker":               {killing{fails: true}, 26},
		"forward in the run, in a worker":    {killing{inline: true}, 12},
		"backward in the run, in a worker":   {killing{inline: true, fails: true}, 24},
		"forward in the caller":              {killing{here: true}, 4},
		"backward in the caller":             {killing{here: true, fails: true}, 4},
		"forward in the run, in the caller":  {killing{here: true, inline: true}, 12},
		"backward in the run, in the caller": {killing{here: true, inline: true, fails: true}, 24},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashes := sagatest.EveryCrash(t, func(t *testing.T, crash sagatest.Crash) (crashed bool) {
				synctest.Test(t, func(t *testing.T) { crashed = c.k.kill(t, crash) })
				return crashed
			})
			if crashes < c.crashes {
				t.Errorf("%d crashes, want %d: the test tests too little", crashes, c.crashes)
			}
		})
	}
}

// killing is a trial of one saga and one crash.
type killing struct{ fails, here, inline bool }

func (c killing) kill(t *testing.T, crash sagatest.Crash) bool {
	w := &world{}
	def := mixed(w, c.fails, c.inline)
	f := sagatest.Start(t, sagatest.Config{Workers: 2, Crash: crash, InCaller: c.here}, def)
	client, err := kernel.New(f.Store.Process(), kernel.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	id := client.NewID()
	start := def.Start
	if c.here {
		start = def.Run
	}
	if _, err := start(t.Context(), f.Kernel, 0, saga.Options{ID: id}); err != nil && c.here {
		if _, again := def.Start(t.Context(), client, 0, saga.Options{ID: id}); again != nil { // a submit in doubt is repeated
			t.Fatalf("Run = %v, then Start = %v", err, again)
		}
	}
	h := def.Handle(client, id)
	want, effects := c.expect()
	if c.fails {
		sagatest.Failed(t, h, saga.Failed, "e")
	} else {
		sagatest.Completed(t, h, 6)
	}
	sagatest.Sequence(t, h, want...)
	if got := w.list(); !slices.Equal(got, effects) {
		t.Errorf("effects\n got %q\nwant %q", got, effects)
	}
	return f.Crashed()
}

// expect returns the events and the effects, whatever crashes.
func (c killing) expect() (events, effects []string) {
	events = []string{"done p", "done a", "sent b", "done b", "done c", "sent d", "done d"}
	effects = []string{"p", "a", "b", "c", "d"}
	if c.fails {
		events = append(events, "failed e", "failed e", "unwinding", "compensated e", "undo sent d", "undone d", "undone c", "undo sent b", "undone b", "undone a", "failed")
		effects = append(effects, "try e", "compensate e failed", "undo d", "undo c", "undo b", "undo a")
	} else {
		events, effects = append(events, "done e", "completed"), append(effects, "e")
	}
	if c.inline {
		events = slices.DeleteFunc(events, func(ev string) bool { return strings.Contains(ev, "sent ") })
	}
	return events, effects
}
