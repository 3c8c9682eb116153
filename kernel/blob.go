package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
)

// Ref is what a record keeps of a blob. It belongs into args, results, entries or messages, which are sealed if a sealer is set.
type Ref = blob.Ref

// spilled begins args and results that are not in the record: a Ref follows, as JSON. No text and no JSON begins like it.
var spilled = []byte("\xff\x00outlast-blob\x00")

// spillFor is how long the blob of a result is tried before the attempt counts as failed.
const spillFor = 30 * time.Second

// errBlob is what is wrong with a payload that is not in its record.
var errBlob = errors.New("payload")

// PutBlob streams what r gives to the last of Config.Blobs, sealed if a sealer is set, and returns when it is durable. It belongs to
// a task, which need not be submitted yet, and lives as long as the record of that task: a blob whose task is not there, or has
// been stripped, is removed once it is older than Config.BlobGrace. The same again makes another blob.
func (k *Kernel) PutBlob(ctx context.Context, task ID, r io.Reader) (Ref, error) {
	if err := k.open(); err != nil {
		return Ref{}, err
	}
	ref, err := k.blobs.Put(ctx, task.String(), r, k.cfg.Sealer != nil)
	if err != nil {
		return Ref{}, Typed("blob", err)
	}
	return ref, nil
}

// OpenBlob returns a reader of a blob, which the caller closes. A blob that is gone or spoilt is a permanent error, at once or when it is
// read: the end of the reader is io.EOF only if all of it was as it was put. Whoever takes a Ref from a stranger checks its
// Task.
func (k *Kernel) OpenBlob(ctx context.Context, ref Ref) (io.ReadCloser, error) {
	if err := k.open(); err != nil {
		return nil, err
	}
	r, err := k.blobs.Open(ctx, ref)
	if err != nil {
		return nil, judgeBlob(err)
	}
	return &blobReader{r}, nil
}

// DropBlob removes a blob that no record refers to, before the sweep finds it: of an attempt that failed, for one. There need not
// be one.
func (k *Kernel) DropBlob(ctx context.Context, ref Ref) error {
	if err := k.open(); err != nil {
		return err
	}
	return Typed("blob", k.blobs.Delete(ctx, ref))
}

// judgeBlob marks what no further attempt can mend.
func judgeBlob(err error) error {
	if errors.Is(err, blob.ErrNotFound) || errors.Is(err, blob.ErrCorrupt) || errors.Is(err, blob.ErrInvalid) || errors.Is(err, seal.ErrForged) {
		return Permanent(Typed("blob", err))
	}
	return Typed("blob", err)
}

type blobReader struct{ io.ReadCloser }

func (r *blobReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // the bare word is the end; wrapped, it is somebody's error
		err = judgeBlob(err)
	}
	return n, err
}

// BlobThreshold returns how large args and results may be that stay in their records; negative: there is no other place for them.
func (k *Kernel) BlobThreshold() int {
	if k.blobs.Empty() {
		return -1
	}
	return max(k.cfg.BlobThreshold, -1)
}

// spills reports whether a payload is to leave its record.
func (k *Kernel) spills(payload []byte) bool {
	return k.cfg.BlobThreshold >= 0 && len(payload) > k.cfg.BlobThreshold && !k.blobs.Empty()
}

// spill puts a payload into a blob, and returns what stands for it.
func (k *Kernel) spill(ctx context.Context, id ID, payload []byte) ([]byte, error) {
	ref, err := k.PutBlob(ctx, id, bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBlob, err)
	}
	text, err := json.Marshal(ref)
	if err != nil {
		return nil, err
	}
	return append(bytes.Clone(spilled), text...), nil
}

// spillResult does so for a result. The work is done, and must not be lost because a bucket is away for a moment.
func (k *Kernel) spillResult(r *Run, out Outcome) (Outcome, error) {
	if !k.spills(out.Result) {
		return out, nil
	}
	begin, pause, wait := k.env.Now(), k.env.NewSignal(), 50*time.Millisecond
	for {
		var result []byte
		err := k.call(k.life, spillFor, func(ctx context.Context) (err error) {
			result, err = k.spill(ctx, r.task.ID, out.Result)
			return err
		})
		if err == nil {
			out.Result = result
			return out, nil
		}
		if k.life.Err() != nil || k.env.Now().Sub(begin) > spillFor {
			return out, err
		}
		pause.Wait(k.life, k.jitter(wait))
		wait = min(2*wait, 5*time.Second)
	}
}

// fetch returns a payload that may be in a blob of its task. Nobody's args lead to a blob of another task.
func (k *Kernel) fetch(ctx context.Context, id ID, payload []byte) ([]byte, error) {
	if !bytes.HasPrefix(payload, spilled) {
		return payload, nil
	}
	return k.fetchBlob(ctx, id, payload[len(spilled):])
}

// fetchBlob returns what a reference of a task stands for.
func (k *Kernel) fetchBlob(ctx context.Context, id ID, text []byte) ([]byte, error) {
	var ref Ref
	if err := json.Unmarshal(text, &ref); err != nil || ref.Task() != id.String() {
		return nil, fmt.Errorf("%w: %w: its reference is not one of task %s", errBlob, blob.ErrInvalid, id)
	}
	r, err := k.blobs.Open(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBlob, err)
	}
	defer func() { _ = r.Close() }() // it was only read
	whole := bytes.NewBuffer(make([]byte, 0, min(max(ref.Size, 0), 64<<20)+bytes.MinRead))
	if _, err := whole.ReadFrom(r); err != nil {
		return nil, fmt.Errorf("%w: %w", errBlob, err)
	}
	return whole.Bytes(), nil
}

// fetchTask puts the args and the result of a task in the place of what stands for them.
func (k *Kernel) fetchTask(ctx context.Context, t *Task) error {
	args, err1 := k.fetch(ctx, t.ID, t.Args)
	result, err2 := k.fetch(ctx, t.ID, t.Result)
	t.Args, t.Result = args, result
	return errors.Join(err1, err2)
}

// sweepBlobs removes blobs that nobody needs any more: a page of each store, and more as long as a tenth of a page can go. So what
// nobody needs never grows beyond a share of what is needed, and a store without any costs a page.
func (k *Kernel) sweepBlobs(ctx context.Context) {
	grace, removed := max(k.cfg.BlobGrace, k.store.Info().Timing.Horizon), 0
	for range passLimit {
		var page blob.Swept
		err := k.call(ctx, time.Minute, func(ctx context.Context) (err error) {
			page, err = k.sweeper.Next(ctx, grace, k.needsBlobs)
			return err
		})
		removed += page.Removed
		if err != nil && ctx.Err() == nil {
			k.log.Warn("blobs not swept; the next pass goes on", "err", err)
		}
		if err != nil || page.Seen == 0 || page.Removed < page.Seen/10+1 {
			break
		}
	}
	if removed > 0 {
		k.log.Info("blobs removed", "blobs", removed)
	}
}

// needsBlobs reports whether a task may still be asked for its blobs: its record is there, with its payload.
func (k *Kernel) needsBlobs(ctx context.Context, task string) (bool, error) {
	id, err := store.ParseID(task)
	if err != nil {
		return true, err
	}
	t, err := k.store.Get(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return !t.Stripped, err
}
