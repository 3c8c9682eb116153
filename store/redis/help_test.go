package redis_test

import (
	"log/slog"
	"time"
)

// realUnit is the grain of time on the server's own clock.
const realUnit = 40 * time.Millisecond

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
