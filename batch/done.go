package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// Summary is what Done is told, and what is kept of a batch that has ended.
type Summary struct {
	ID    kernel.ID `json:"id"`
	Name  string    `json:"name"`
	State State     `json:"state"` // Success, Failed or Aborted

	Rows    int64 `json:"rows"`
	Success int64 `json:"success"`
	Failed  int64 `json:"failed"`
	Aborted int64 `json:"aborted"`

	Files      []File          `json:"files,omitempty"`
	Context    json.RawMessage `json:"context,omitempty"`
	Key        string          `json:"key,omitempty"`
	Generation int             `json:"generation"`
	CreatedAt  time.Time       `json:"created_at"`
	ClosedAt   time.Time       `json:"closed_at"`
}

// entryFiles is the entry of the closing task that keeps what is written of its files.
const entryFiles = "files"

// runDone is the handler of closing tasks: it writes the files, then calls Done.
func (b *Batch[R, In, Out]) runDone(ctx context.Context, kr *kernel.Run) (kernel.Outcome, error) {
	var args closeArgs
	if err := json.Unmarshal(kr.Task().Args, &args); err != nil {
		return kernel.Outcome{}, kernel.Permanent(kernel.Typed("decode", fmt.Errorf("closing task: %w", err)))
	}
	k := kr.Kernel()
	g, err := k.Group(ctx, args.Batch)
	if err != nil {
		return kernel.Outcome{}, err
	}
	if kernel.CloseID(g) != kr.ID() {
		return kernel.Done([]byte(`{"superseded":true}`)), nil // rows were retried before this could begin: another closing comes
	}
	files, err := b.files(ctx, kr, g, args.Files)
	if err != nil {
		return kernel.Outcome{}, err
	}
	sum := summaryOf(g, args)
	for _, f := range files {
		sum.Files = append(sum.Files, f.File)
	}
	if b.p.Done != nil {
		res, leave, err := b.p.Init.acquire(ctx, k)
		if err != nil {
			return kernel.Outcome{}, err
		}
		defer leave()
		r := &Run{run: kr, batch: g.ID, context: args.Context}
		if err := b.p.Done(context.WithValue(ctx, runKey{}, r), res, sum); err != nil {
			return kernel.Outcome{}, err
		}
	}
	data, err := encode.JSON(sum)
	if err != nil {
		return kernel.Outcome{}, kernel.Permanent(err)
	}
	return kernel.Done(data), nil
}

func summaryOf(g kernel.Group, args closeArgs) Summary {
	s := summarise(g)
	return Summary{
		ID: g.ID, Name: s.Name, State: s.State, Rows: s.Rows, Success: s.Success, Failed: s.Failed, Aborted: s.Aborted,
		Context: args.Context, Key: args.Key, Generation: g.Generation, CreatedAt: g.CreatedAt, ClosedAt: g.ClosedAt,
	}
}

// files writes the output files of a batch, unless an earlier attempt has.
func (b *Batch[R, In, Out]) files(ctx context.Context, kr *kernel.Run, g kernel.Group, wanted bool) ([]storedFile, error) {
	if !wanted {
		return nil, nil
	}
	entries, err := kr.Load(ctx, entryFiles)
	if err != nil {
		return nil, err
	}
	if data, ok := entries[entryFiles]; ok {
		var files []storedFile
		err := json.Unmarshal(data, &files)
		return files, err
	}
	files, err := writeFiles(ctx, kr.Kernel(), g, kr.ID())
	if err != nil {
		return nil, err
	}
	data, err := encode.JSON(files)
	if err == nil {
		err = kr.Save(ctx, map[string][]byte{entryFiles: data})
	}
	return files, err
}
