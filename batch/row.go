package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

type runKey struct{}

// Run is one attempt at a row, or at Done, as its function sees it. Outside of one it is nil, and its methods return zero values.
type Run struct {
	run     *kernel.Run
	batch   kernel.ID
	context json.RawMessage
}

// From returns the run that ctx belongs to, or nil.
func From(ctx context.Context) *Run {
	r, _ := ctx.Value(runKey{}).(*Run)
	return r
}

// Batch returns the id of the batch.
func (r *Run) Batch() kernel.ID {
	if r == nil {
		return kernel.ID{}
	}
	return r.batch
}

// Context reads what was given as Options.Context. Without any, into stays as it is.
func (r *Run) Context(into any) error {
	if r == nil || len(r.context) == 0 {
		return nil
	}
	return json.Unmarshal(r.context, into)
}

// Key is the same on every attempt at this row, and no other row has it: for receivers that tell repeats by a key.
func (r *Run) Key() string {
	if r == nil {
		return ""
	}
	return r.run.Key()
}

// Attempt returns 1 for the first attempt. A crash is no attempt.
func (r *Run) Attempt() int {
	if r == nil {
		return 1
	}
	return r.run.Attempt()
}

// Logger returns the kernel's log with the name of the run in it.
func (r *Run) Logger() *slog.Logger {
	if r == nil {
		return slog.Default()
	}
	return r.run.Logger().With("batch", r.batch.String())
}

// runRow is the handler of rows.
func (b *Batch[R, In, Out]) runRow(ctx context.Context, kr *kernel.Run) (kernel.Outcome, error) {
	task := kr.Task()
	var args rowArgs
	var in In
	err := json.Unmarshal(task.Args, &args)
	if err == nil {
		err = json.Unmarshal(args.In, &in)
	}
	if err != nil {
		// What it says may repeat the input, which may be sealed.
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("decode", fmt.Errorf("the input does not decode as %T", in)))
	}
	res, leave, err := b.p.Init.acquire(ctx, kr.Kernel())
	if err != nil {
		return kernel.Outcome{}, err
	}
	defer leave()
	r := &Run{run: kr, batch: task.Group, context: args.Context}
	result, err := b.p.Row(context.WithValue(ctx, runKey{}, r), res, Row[In]{Line: task.Line, Input: in})
	if err != nil {
		return kernel.Outcome{}, err
	}
	if why := kr.Asked(); why != "" {
		return kernel.Cancelled(why), nil // it was aborted, and knows: what comes now is late
	}
	return b.outcome(result)
}

// outcome makes of a result what is stored.
func (b *Batch[R, In, Out]) outcome(result Result[Out]) (kernel.Outcome, error) {
	for name, line := range result.Files {
		if err := b.checkFile(name, line); err != nil {
			return kernel.Outcome{}, kernel.Permanent(kernel.Typed("file", err))
		}
	}
	out, err := encode.JSON(result.Out)
	if err != nil {
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("encode", fmt.Errorf("the result %w", err)))
	}
	data, err := encode.JSON(rowResult{Out: out, Messages: result.Messages, Files: result.Files})
	if err != nil {
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("encode", fmt.Errorf("the result %w", err)))
	}
	if result.Failed {
		return kernel.Failed("row", kernel.Typed("row", errors.New(describe(result.Messages))), data), nil
	}
	return kernel.Done(data), nil
}

func describe(messages []Message) string {
	if len(messages) == 0 {
		return "the row is not good"
	}
	m := messages[0]
	return strings.TrimSpace(cmp.Or(m.Code, fmt.Sprintf("message %d", m.ID)) + " " + m.Field)
}

// Bounds of output files.
const (
	fileNameLimit = 200
	filesLimit    = 64 // per batch: each is written as a stream of its own
)

func (b *Batch[R, In, Out]) checkFile(name, line string) error {
	switch {
	case !b.cfg.Files:
		return fmt.Errorf("a line for output file %.60q, and this operation writes none: set Config.Files", name)
	case name == "" || len(name) > fileNameLimit || strings.ContainsAny(name, "\x00\n\r"):
		return fmt.Errorf("%.60q is no name for an output file; use 1 to %d bytes without line breaks", name, fileNameLimit)
	case strings.ContainsAny(line, "\n\r"):
		return fmt.Errorf("the line for output file %.60q has a line break in it; a row gives one line", name)
	}
	return nil
}
