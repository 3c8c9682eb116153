// Command first is the first program of the README: it starts a job, and works until it is interrupted.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store/sqlite"
)

// Welcome greets somebody. An error is tried again; after a crash another process goes on.
var Welcome = job.Define("welcome", func(_ context.Context, name string) (int, error) {
	return fmt.Println("hello,", name)
}, job.Config{})

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	db, err := sqlite.Open(ctx, sqlite.Config{Path: "app.db"})
	check(err)
	k, err := kernel.New(db, kernel.Config{})
	check(err)
	Welcome.Serve(k)                                     // this process runs it
	_, err = Welcome.Start(ctx, k, "Ann", job.Options{}) // from here on it will be done, whatever dies
	check(err)
	check(k.Run(ctx)) // works until Ctrl-C, then lets what runs end
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
