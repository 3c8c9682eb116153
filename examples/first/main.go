// Command first is the first program of the README.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/sqlite"
)

// User is what the job is given.
type User struct{ Name string }

// Welcome greets a user.
var Welcome = job.Define("welcome", func(ctx context.Context, u User) (string, error) {
	return "hello, " + u.Name, nil // an error is tried again; after a crash another process goes on
}, job.Config{})

func main() {
	if err := run(context.Background(), "app.db"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string) error {
	db, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	k, err := kernel.New(db, kernel.Config{})
	if err != nil {
		return err
	}
	defer k.Close()
	Welcome.Serve(k) // this process runs it

	h, err := Welcome.Start(ctx, k, User{Name: "Ann"}, job.Options{Key: "welcome-ann"})
	if err != nil {
		return err
	} // from here on it will be done, whatever dies

	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { err = k.Run(ctx) }) // usually the last line of main, with a context that a signal ends
	text, waited := h.Wait(ctx)
	fmt.Fprintln(os.Stdout, text, waited) // hello, Ann <nil>
	stop()
	running.Wait()
	return err
}
