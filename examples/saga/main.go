// Command saga takes the orders of a small shop: stock is reserved, a card is charged by a worker, the shop approves, the parcel goes
// out. One order goes well; one has a card that is refused, and one is not approved in time: what was done for them is undone.
//
//	go run ./examples/saga
//
// Everything lives in memory here: another store in memory.New's place, and the sagas outlast the process.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store/memory"
)

// Order is what a customer wants.
type Order struct {
	ID    string
	Item  string
	Cents int
	Card  string
}

// Validate is asked before anything is stored: all that is wrong is told at once.
func (o Order) Validate() error {
	var errs []error
	if o.Item == "" {
		errs = append(errs, saga.Invalid("item", "is missing"))
	}
	if o.Cents <= 0 {
		errs = append(errs, saga.Invalid("cents", "must be more than 0"))
	}
	return errors.Join(errs...)
}

// Stock is an item that is kept for an order.
type Stock struct{ Place string }

// Payment is what was taken for it.
type Payment struct{ Number string }

// Receipt is what the customer gets.
type Receipt struct{ Text string }

// Approval is the word of the shop.
type Approval struct{ By string }

var errRefused = errors.New("the card is refused")

// Approve comes from outside, whenever somebody has looked.
var Approve = saga.NewSignal[Approval]("approve")

// shop is the world outside: it writes down what happens to it.
type shop struct {
	mu   sync.Mutex
	book []string
}

func (s *shop) write(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book = append(s.book, fmt.Sprintf(format, args...))
}

func (s *shop) reserve(_ context.Context, o Order) (Stock, error) {
	s.write("reserve %s", o.Item)
	return Stock{Place: "shelf of " + o.Item}, nil
}

func (s *shop) release(_ context.Context, st Stock) error {
	s.write("release the %s", st.Place)
	return nil
}

// charge hands its key on: a payment service that knows it charges once, however often it is asked.
func (s *shop) charge(ctx context.Context, o Order) (Payment, error) {
	if strings.HasPrefix(o.Card, "bad") {
		return Payment{}, saga.Permanent(errRefused)
	}
	s.write("charge %d (attempt %d)", o.Cents, saga.From(ctx).Attempt())
	return Payment{Number: "p-" + o.ID}, nil
}

func (s *shop) refund(_ context.Context, p Payment) error {
	s.write("refund %s", p.Number)
	return nil
}

// void is told what is known: after a timeout the charge may have gone through.
func (s *shop) void(_ context.Context, f saga.Failure) error {
	s.write("void what may have been charged (%s)", f.Outcome)
	return nil
}

func (s *shop) ship(_ context.Context, o Order, _ Payment) (string, error) {
	s.write("ship %s", o.Item)
	return "parcel " + o.ID, nil
}

func receipt(_ context.Context, o Order, p Payment, parcel string) (Receipt, error) {
	return Receipt{fmt.Sprintf("%s: %s, paid by %s", o.ID, parcel, p.Number)}, nil
}

// placeOrder wires the steps: a node that is passed on is an edge.
func (s *shop) placeOrder() *saga.Def[Order, Receipt] {
	return saga.Define("place-order", func(b *saga.Builder[Order]) *saga.Node[Receipt] {
		order := b.In()
		stock := saga.Step1(b, "reserve", s.reserve, order).Undo(s.release)
		pay := saga.Step1(b, "charge", s.charge, order).After(stock).
			Async("payments").Retry(5, saga.Exp(time.Second)).Timeout(20 * time.Second).
			Compensate(s.void).Undo(s.refund)
		ok := saga.Wait(b, Approve).After(pay).Timeout(200 * time.Millisecond)
		parcel := saga.Step2(b, "ship", s.ship, order, pay).After(ok).Pivot()
		return saga.Step3(b, "receipt", receipt, order, pay, parcel).Pure()
	})
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, slog.New(slog.DiscardHandler), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, logger *slog.Logger, out io.Writer) error {
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"default": 10, "payments": 2}, Logger: logger})
	if err != nil {
		return err
	}
	defer k.Close()
	s := &shop{}
	def := s.placeOrder()
	def.Serve(k)
	ctx, stop := context.WithCancel(ctx)
	var worker sync.WaitGroup
	worker.Go(func() { _ = k.Run(ctx) })
	defer worker.Wait()
	defer stop()

	plan, err := saga.Plan(def, "ship")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "if ship fails:", strings.Join(plan, ", "))
	for _, o := range []Order{
		{ID: "1", Item: "lamp", Cents: 1200, Card: "good"},
		{ID: "2", Item: "chair", Cents: 8500, Card: "bad"},
		{ID: "3", Item: "table", Cents: 9900, Card: "good"},
		{ID: "4"},
	} {
		s.place(ctx, k, def, o, out)
	}
	return nil
}

// place takes one order, approves it unless it is the third, and tells what came of it.
func (s *shop) place(ctx context.Context, k *kernel.Kernel, def *saga.Def[Order, Receipt], o Order, out io.Writer) {
	s.book = nil
	h, err := def.Run(ctx, k, o, saga.Options{Key: o.ID})
	if err == nil && o.ID != "3" {
		_ = Approve.Send(ctx, k, h.ID(), Approval{By: "the shop"}) // too late for one that has failed
	}
	var r Receipt
	if err == nil {
		r, err = h.Wait(ctx)
	}
	var failed *saga.Error
	switch {
	case err == nil:
		fmt.Fprintln(out, r.Text)
	case errors.As(err, &failed) && len(failed.Fields) > 0:
		fmt.Fprintf(out, "%s: refused: %v\n", o.ID, failed.Fields)
	case errors.As(err, &failed):
		fmt.Fprintf(out, "%s: %s at %s: %s\n", o.ID, failed.State, failed.Step, failed.Message)
	default:
		fmt.Fprintf(out, "%s: %v\n", o.ID, err)
	}
	for _, line := range s.book {
		fmt.Fprintln(out, "  ", line)
	}
}
