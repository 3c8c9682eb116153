package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/memory"
)

type User struct {
	Name    string
	Address string
}

type Receipt struct {
	Message string
}

var errNoAddress = errors.New("no address")

// Welcome is defined once, where all processes that serve or start it see it.
var Welcome = job.Define("welcome", func(ctx context.Context, in User) (Receipt, error) {
	if in.Address == "" {
		return Receipt{}, job.Permanent(errNoAddress) // no further attempt can mend that
	}
	// A mail service that knows the key sends one mail, however often it is asked.
	return Receipt{Message: fmt.Sprintf("hello %s, key has %d letters", in.Name, len(job.From(ctx).Key()))}, nil
}, job.Config{})

func ExampleDefine() {
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	Welcome.Serve(k) // this process runs it
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })

	h, err := Welcome.Start(ctx, k, User{"Ann", "ann@example.org"}, job.Options{Key: "welcome-ann"})
	if err != nil {
		fmt.Println(err)
		return
	}
	receipt, err := h.Wait(ctx)
	fmt.Println(receipt.Message, err)

	h, err = Welcome.Start(ctx, k, User{Name: "Bob"}, job.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = h.Wait(ctx)
	var failed *job.Error
	if errors.As(err, &failed) {
		fmt.Println(failed.State, failed.Reason, failed.Message)
	}

	stop() // Run drains and returns
	running.Wait()
	// Output:
	// hello Ann, key has 36 letters <nil>
	// failed permanent no address
}
