//go:build unix

package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// onQuiet calls fn for each SIGTSTP. What it returns ends that.
func onQuiet(fn func()) (stop func()) {
	signals, end := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGTSTP)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-signals:
				fn()
			case <-end:
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(end)
		group.Wait()
	}
}
