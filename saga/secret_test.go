package saga_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// mask is a sealer that hides nothing from those who look twice; what it seals begins with a mark.
type mask struct{}

func (mask) Seal(_ string, plain []byte) ([]byte, error) {
	sealed := bytes.Clone(plain)
	for i := range sealed {
		sealed[i] ^= 0x5a
	}
	return append([]byte("sealed:"), sealed...), nil
}

func (mask) Open(_ string, sealed []byte) ([]byte, error) {
	plain := bytes.Clone(bytes.TrimPrefix(sealed, []byte("sealed:")))
	for i := range plain {
		plain[i] ^= 0x5a
	}
	return plain, nil
}

type payment struct {
	Amount int
	Card   saga.Secret[string]
}

// A secret prints as nothing, wherever it stands. RR-014
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	p := payment{7, saga.NewSecret("4111-1111")}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("paid", "card", p.Card, "payment", fmt.Sprintf("%+v %#v", p, &p))
	for _, text := range []string{string(data), log.String(), fmt.Sprint(p), fmt.Sprintf("%q %x %v", p.Card, p.Card, errors.New(p.Card.String()))} {
		if strings.Contains(text, "4111") {
			t.Errorf("shown: %s", text)
		}
	}
	var plain payment
	if err := json.Unmarshal([]byte(`{"Amount":7,"Card":"4222"}`), &plain); err != nil || plain.Card.Reveal() != "4222" {
		t.Errorf("from plain JSON: %v, %v", plain.Card.Reveal(), err)
	}
	if err := json.Unmarshal([]byte(`{"Card":{"Number":4333}}`), &plain); err == nil || strings.Contains(err.Error(), "4333") {
		t.Errorf("a secret of another shape = %v, want an error that does not show it", err)
	}
}

// Inside a saga a secret is there for the steps, sealed at rest, and gone when the saga has ended, well or not.
func TestSecretsAreWiped(t *testing.T) {
	t.Parallel()
	const card = "visa-4111-of-a-customer" // no id has such digits by chance
	bubble(t, func(t *testing.T, here bool) {
		for i := range 4 {
			fails, async := i%2 == 1, i > 1
			goOn := saga.NewSignal[int]("go-on")
			var seen []string
			def := saga.Define("secret", func(b *saga.Builder[payment]) *saga.Node[int] {
				token := saga.Step1(b, "token", func(_ context.Context, c saga.Secret[string]) (saga.Secret[string], error) {
					seen = append(seen, c.Reveal())
					return saga.NewSecret("token-" + c.Reveal()), nil
				}, saga.Field(b.In(), func(p payment) saga.Secret[string] { return p.Card })).Undo(func(_ context.Context, s saga.Secret[string]) error {
					seen = append(seen, "undo "+s.Reveal())
					return nil
				})
				if async {
					token.Async("q")
				}
				ok := saga.Wait(b, goOn).After(token)
				charge := saga.Step2(b, "charge", func(_ context.Context, s saga.Secret[string], p payment) (int, error) {
					seen = append(seen, s.Reveal()+" "+p.Card.Reveal())
					return p.Amount, nil
				}, token, b.In()).After(ok).Async("q")
				return saga.Step1(b, "last", func(_ context.Context, n int) (int, error) {
					if fails {
						return 0, errNo
					}
					return n, nil
				}, charge)
			})
			mem := memory.New(memory.Config{})
			f := sagatest.Start(t, sagatest.Config{Store: mem, Kernel: kernel.Config{Sealer: mask{}}}, def)
			h := start(t, here, def, f.Kernel, payment{7, saga.NewSecret(card)})
			sagatest.Pass(t, time.Second)
			if text := dump(t, mem); strings.Contains(text, card) || !strings.Contains(unmask(text), card) {
				t.Errorf("async %v: before the end in the clear, or not there at all", async)
			}
			if err := goOn.Send(t.Context(), f.Kernel, h.ID(), 1); err != nil {
				t.Fatal(err)
			}
			want := []string{card, "token-" + card + " " + card}
			if fails {
				sagatest.Failed(t, h, saga.Failed, "last")
				want = append(want, "undo token-"+card)
			} else {
				sagatest.Completed(t, h, 7)
			}
			if !slices.Equal(seen, want) {
				t.Errorf("the steps saw %q, want %q", seen, want)
			}
			if text := unmask(dump(t, mem)); strings.Contains(text, card) {
				t.Errorf("async %v, fails %v: after the end it is still there", async, fails)
			}
		}
	})
}

// dump is all that a store holds, checkpoints included.
func dump(t *testing.T, mem *memory.Store) string {
	t.Helper()
	var b strings.Builder
	var ids []store.ID
	err := mem.Export(t.Context(), func(e store.Entry) error {
		if e.Task != nil {
			ids = append(ids, e.Task.ID)
			fmt.Fprintf(&b, "%s %s %s %+v\n", e.Task.Args, e.Task.Result, e.Task.Reason, e.Task.Error)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		entries, err := mem.Load(t.Context(), id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		for name, data := range entries {
			fmt.Fprintf(&b, "%s %s\n", name, data)
		}
	}
	return b.String()
}

func unmask(text string) string {
	all := []byte(text)
	for i := range all {
		all[i] ^= 0x5a
	}
	return string(all)
}

// A saga with secrets refuses a kernel that seals nothing.
func TestSecretsNeedASealer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		def := saga.Define("secret", func(b *saga.Builder[payment]) *saga.Node[int] {
			return saga.Step1(b, "x", func(_ context.Context, p payment) (int, error) { return p.Amount, nil }, b.In())
		})
		k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
		if _, err := def.Start(t.Context(), k, payment{}, saga.Options{}); !errors.Is(err, saga.ErrUnsealed) {
			t.Errorf("Start = %v, want ErrUnsealed", err)
		}
		if _, err := def.Run(t.Context(), k, payment{}, saga.Options{}); !errors.Is(err, saga.ErrUnsealed) {
			t.Errorf("Run = %v, want ErrUnsealed", err)
		}
		defer func() {
			if recover() == nil {
				t.Error("Serve does not panic")
			}
		}()
		def.Serve(k)
	})
}
