// Command job bills the customers of a small shop: a job per customer that survives a payment service in trouble, refuses to
// bill twice, goes on where it stood, and hands over to a second job that sends the mail.
//
//	go run ./examples/job
//
// Everything lives in memory here: another store in memory.New's place, and the work outlasts the process.
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
	"sync"
	"time"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

// Customer is what the bill is made for.
type Customer struct {
	Name  string
	Cents int
}

// Bill is what came of it.
type Bill struct {
	Payment string
	Attempt int
}

// Letter is what the customer is told.
type Letter struct {
	To, Text string
}

var errBlocked = errors.New("the account is blocked")

// Mail sends a letter. It is quick, so it may not take long.
var Mail = job.Define("mail", func(ctx context.Context, in Letter) (struct{}, error) {
	job.From(ctx).Logger().Info("mail sent")
	return struct{}{}, nil
}, job.Config{Queue: "mail", Timeout: time.Minute})

// Charge takes the money and then lets Mail tell the customer.
var Charge = job.Define("charge", charge, job.Config{Retry: kernel.Retry{Max: 5, Base: 20 * time.Millisecond}})

func charge(ctx context.Context, in Customer) (Bill, error) {
	run := job.From(ctx)
	var payment string
	paid, err := run.Load(ctx, "payment", &payment)
	if err != nil {
		return Bill{}, err
	}
	if !paid {
		// The key is the same on every attempt: the service takes the money once, however often it is asked.
		if payment, err = pay(run.Key(), in); err != nil {
			return Bill{}, err
		}
		if err := run.Save(ctx, "payment", payment); err != nil {
			return Bill{}, err
		}
	}
	if run.Attempt() < 2 {
		return Bill{}, errors.New("the printer is out of paper") // the next attempt finds the payment made
	}
	// The mail goes out if, and only if, this run ends well.
	letter := Letter{To: in.Name, Text: fmt.Sprintf("we have charged %d cents", in.Cents)}
	if err := job.Then(ctx, Mail, letter, job.Options{Key: run.Key()}); err != nil {
		return Bill{}, err
	}
	return Bill{Payment: payment, Attempt: run.Attempt()}, nil
}

// pay stands for a payment service.
func pay(key string, in Customer) (string, error) {
	if in.Name == "mallory" {
		return "", job.Permanent(errBlocked)
	}
	if key == "" {
		return "", errors.New("no key")
	}
	return fmt.Sprintf("%s/%d", in.Name, in.Cents), nil
}

// bill charges all customers for a month, waits, and writes what came of it.
func bill(ctx context.Context, k *kernel.Kernel, out io.Writer, month string, customers []Customer) error {
	options := make([]job.Options, len(customers))
	for i, c := range customers {
		options[i] = job.Options{Key: month + "/" + c.Name, KeyFor: -1, Labels: map[string]string{"month": month}}
	}
	started, err := Charge.StartMany(ctx, k, customers, options...)
	if err != nil {
		return err
	}
	for i, s := range started {
		got, err := s.Handle.Wait(ctx)
		var ended *job.Error
		switch {
		case errors.As(err, &ended):
			fmt.Fprintf(out, "%s: %s: %s\n", customers[i].Name, ended.State, ended.Message)
		case err != nil:
			return err
		default:
			fmt.Fprintf(out, "%s: paid %s, attempt %d, billed before: %v\n", customers[i].Name, got.Payment, got.Attempt, s.Handle.Existed())
		}
	}
	return nil
}

// run is the life of a process: it serves both jobs, bills a month, and stops.
func run(ctx context.Context, k *kernel.Kernel, out io.Writer) error {
	Charge.Serve(k)
	Mail.Serve(k)

	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ran error
	running.Go(func() { ran = k.Run(ctx) })

	customers := []Customer{{"ann", 1200}, {"bob", 850}, {"mallory", 999999}}
	err := bill(ctx, k, out, "2026-08", customers)
	if err == nil { // somebody presses the button again: nobody who paid is charged again
		err = bill(ctx, k, out, "2026-08", customers[:2])
	}
	stop() // no more is taken up; what runs may end
	running.Wait()
	return errors.Join(err, ran)
}

func newKernel(logger *slog.Logger) (*kernel.Kernel, error) {
	return kernel.New(memory.New(memory.Config{}), kernel.Config{Slots: map[string]int{"default": 10, "mail": 2}, Logger: logger})
}

func main() {
	k, err := newKernel(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	err = run(ctx, k, os.Stdout)
	cancel()
	k.Close()
	if err != nil {
		log.Fatal(err)
	}
}
