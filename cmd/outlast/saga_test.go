package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

type approval struct{ By string }

// stubborn is a saga that waits for an approval, then fails, and cannot undo what it did until that is mended.
func stubborn(mended *atomic.Bool) *saga.Def[string, string] {
	undo := func(context.Context, string) error {
		if mended.Load() {
			return nil
		}
		return saga.Permanent(errors.New("the bank is closed"))
	}
	approved := saga.NewSignal[approval]("approval")
	return saga.Define("order", func(b *saga.Builder[string]) *saga.Node[string] {
		same := func(_ context.Context, s string) (string, error) { return s, nil }
		charge := saga.Step1(b, "charge", same, b.In()).Undo(undo)
		ship := saga.Step1(b, "ship", same, charge).Undo(undo)
		yes := saga.Wait(b, approved).After(ship)
		return saga.Step1(b, "tell", func(_ context.Context, a approval) (string, error) {
			return "", saga.Permanent(errors.New("nobody listens to " + a.By))
		}, yes)
	})
}

// A saga waits for a signal, fails, cannot undo two steps, and is helped: all by hand, without its definition.
func TestSagasAreHelpedByHand(t *testing.T) {
	t.Parallel()
	for _, through := range []string{"store", "daemon"} {
		t.Run(through, func(t *testing.T) {
			t.Parallel()
			url := fresh(t)
			target := url
			if through == "daemon" {
				target = serving(t, url)
			}
			helpSaga(t, url, target)
		})
	}
}

func helpSaga(t *testing.T, url, target string) {
	t.Helper()
	var mended atomic.Bool
	def := stubborn(&mended)
	k, _ := planted(t, url, kernel.Config{})
	def.Serve(k)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })
	defer running.Wait()
	defer stop()
	h, err := def.Start(t.Context(), k, "book", saga.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(verb string, args ...string) []string {
		return slices.Concat([]string{"saga", verb, "--store", target, h.ID().String()}, args)
	}
	until := func(state store.State) {
		t.Helper()
		if _, err := k.WaitFor(t.Context(), h.ID(), func(task *kernel.Task) bool { return task.State == state }); err != nil {
			t.Fatal(err)
		}
	}
	until(store.Parked)
	if out := ask(t, at("show")...); !strings.Contains(out, "waiting") || !strings.Contains(out, "charge") {
		t.Errorf("saga show = %q", out)
	}
	refused(t, cli.Misuse, at("signal", "approval", "{")...)
	ask(t, at("signal", "approval", `{"By":"Ann"}`)...)
	until(store.Held)
	if text := refused(t, cli.Failed, at("signal", "approval", `{"By":"Bob"}`)...); !strings.Contains(text, "any more") {
		t.Errorf("a second signal: %q", text)
	}
	s := lines[sagaView](t, ask(t, at("show", "--json")...))[0]
	if s.State != saga.Stuck || s.Failure != "nobody listens to Ann" || len(s.Steps) < 3 {
		t.Errorf("saga show = %+v", s)
	}
	ask(t, at("resolve", "ship", "--note", "sent back by hand")...)
	until(store.Held) // charge could not be undone either
	mended.Store(true)
	ask(t, at("retry-undo")...)
	if _, err := h.Wait(t.Context()); err == nil {
		t.Error("the saga has ended well")
	}
	if out := ask(t, at("show")...); !strings.Contains(out, "failed") || !strings.Contains(out, "sent back by hand") {
		t.Errorf("saga show = %q", out)
	}
	refused(t, cli.Failed, at("retry-undo")...)
	refused(t, cli.Failed, "saga", "show", "--store", target, store.DeriveID("none").String())
}
