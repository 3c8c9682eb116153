package postgres_test

import (
	"context"
	"sync"

	"github.com/outlast-go/outlast/store"
)

var watchers sync.WaitGroup

// goWatch watches the queue q until ctx ends; ended is closed then.
func goWatch(ctx context.Context, s store.Store, notices chan<- store.Notice, ended chan<- struct{}) {
	watchers.Go(func() {
		defer close(ended)
		_ = s.Watch(ctx, "", []string{"q"}, func(n store.Notice) { notices <- n }) // it ends with ctx
	})
}
