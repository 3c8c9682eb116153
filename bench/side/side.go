// Package side has the contestants: Outlast with the defaults of its configuration, its peers at their defaults and at the
// best that we found for them, and the stores used bare, which is what nobody can be faster than by much. Each is a part.Queue.
package side

import (
	"context"
	"log/slog"

	"github.com/outlast-go/outlast/bench/part"
)

// Names of contestants that the list of benches uses.
const (
	Ours     = "outlast"
	Asynq    = "asynq"
	River    = "river"
	Backlite = "backlite"
	Bare     = "bare" // and the engine: baresqlite, …
)

// Queues are the contestants by name.
var Queues = map[string]part.Open{
	Ours:              openOurs,
	OursCall:          openCallQueue,
	Asynq:             openAsynq,
	River:             openRiver,
	Backlite:          openBacklite,
	Bare + "sqlite":   openBareSQLite,
	Bare + "postgres": openBarePostgres,
	Bare + "redis":    openBareRedis,
}

// Best is the setting of an order that asks for a peer's best.
const Best = "best"

// args is what a task carries.
type args struct {
	Number int64 `json:"n"`
}

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// Measure does what an order asks for.
func Measure(ctx context.Context, o part.Order, w *part.Wire) (part.Report, error) {
	if measure, ok := others[o.Bench]; ok {
		return measure(ctx, o, w)
	}
	return part.Queues(Queues)(ctx, o, w)
}

// others are measured by code of their own: they are no queues of tasks that do nothing.
var others = map[string]part.Measure{
	"sagas":    measureSagas,
	"hand-off": measureHandOff,
	"serve":    serve,
	"calls":    measureCalls,
	"rows":     measureRows,
	"costs":    measureCosts,
	"passed":   measurePassed,
	"idle":     measureIdle,
	"memory":   measureMemory,
}
