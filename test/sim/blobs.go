package sim

import (
	"context"
	"strings"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/instore"
	"github.com/outlast-go/outlast/job"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// blobs are those scenarios in which payloads do not fit into their records.
var blobs = []scenario{
	{"blob", blobIs(small)},
	{"blob, in chunks", blobIs(store.ChunkLimit + small)},
}

// small is the size of a payload that fits into one chunk, and not into a record.
const small = 2_000

// parcel is a job with a large input and a large result, that is kept, and one that is not.
type parcel struct {
	w       *workload
	large   string // the input of the one that is kept
	kept    store.ID
	dropped store.ID
	job     *job.Job[string, string]
}

// blobIs starts both, reads the result of the one that is kept, and looks long after everything has ended what is left.
func blobIs(size int) func(w *workload) {
	large := strings.Repeat("in", size/2)
	return func(w *workload) {
		b := &parcel{w: w, large: large, kept: w.id(), dropped: w.id()}
		b.job = job.Define("parcel", b.carry, job.Config{Retry: kernel.Retry{Max: 3, Base: 50 * ms}})
		w.config = append(w.config, b.set)
		w.serves = append(w.serves, func(_ *process, k *kernel.Kernel) { b.job.Serve(k) })
		for id, keep := range b.both() {
			w.then(0, func(ctx context.Context, k *kernel.Kernel) error {
				_, err := b.job.Start(ctx, k, b.input(id), job.Options{ID: id, Retention: keep})
				return err
			})
		}
		w.then(0, b.read)
		w.after = append(w.after, b.sweep)
		w.judge(b.judge)
	}
}

// both are the jobs with their retention, in their order.
func (b *parcel) both() func(yield func(id store.ID, keep time.Duration) bool) {
	return func(yield func(id store.ID, keep time.Duration) bool) {
		_ = yield(b.kept, -1) && yield(b.dropped, job.Forget)
	}
}

func (b *parcel) input(id store.ID) string {
	if id == b.dropped {
		return strings.Repeat("x", small)
	}
	return b.large
}

func (b *parcel) output() string { return strings.Repeat("out", small/3) }

// set gives a process a place for blobs. What befalls calls of the store befalls theirs as well.
func (b *parcel) set(p *process, c *kernel.Config) {
	place, err := instore.New(p.store)
	if err != nil {
		b.w.s.fail("SIM", "%v", err)
		return
	}
	c.Blobs, c.BlobThreshold = []blob.Named{{Name: "store", Store: place}}, 1_000
	if b.w.s.healing {
		c.PruneEvery = time.Second
	}
}

// carry is the job.
func (b *parcel) carry(ctx context.Context, in string) (string, error) {
	if want := b.input(job.From(ctx).ID()); in != want {
		b.w.s.fail("P1", "the input has %d bytes, want %d", len(in), len(want))
	}
	if !b.w.s.travel(ctx, 20*ms) {
		return "", context.Cause(ctx)
	}
	return b.output(), nil
}

// read waits for what is kept. A blob that is gone is an answer like any other, and the wrong one.
func (b *parcel) read(ctx context.Context, k *kernel.Kernel) error {
	out, err := b.job.Handle(k, b.kept).Wait(ctx)
	switch {
	case err == nil && out != b.output():
		b.w.s.fail("P1", "the result has %d bytes, want %d", len(out), len(b.output()))
	case err != nil && (kernel.IsPermanent(err) || store.Answered(err)):
		b.w.s.fail("P1", "what is kept cannot be read: %v", err)
	}
	return err
}

// sweep lets a day pass in which nobody is there; then one comes who sweeps, and reads what is kept.
func (b *parcel) sweep() {
	s := b.w.s
	s.runUntil(s.now+24*time.Hour, nil)
	b.w.closing = false
	s.startWorker(0)
	s.runUntil(s.now+5*time.Second, nil)
	p := s.newProcess(roleClient, "reader")
	k, err := kernel.New(p.store, s.kernelConfig(p))
	if err != nil {
		s.fail("SIM", "reader: %v", err)
		return
	}
	p.kernel = k
	p.main(func(ctx context.Context) {
		limited, cancel := env{p}.WithTimeout(ctx, time.Second, errTerminated)
		defer cancel()
		if err := b.read(limited, k); err != nil {
			s.fail("P1", "what is kept cannot be read after a day: %v", err)
		}
		k.Close()
	})
	s.runUntil(s.now+2*time.Second, nil)
	s.shutDown()
}

// judge looks for blobs that nobody needs, and for those that were needed.
func (b *parcel) judge() {
	page, err := b.w.s.memory.BlobList(context.Background(), store.PageRequest{Limit: 1000})
	if err != nil {
		b.w.s.fail("SIM", "list of blobs: %v", err)
	}
	kept := 0
	for _, found := range page.Items {
		if blob.Task(found.Key) != b.kept.String() {
			b.w.s.fail("P2", "the blob %s is left, and its task is not", found.Key)
		}
		kept++
	}
	if b.w.faults() == 0 && kept != 2 {
		b.w.s.fail("P2", "%d blobs are kept, want those of the input and of the result", kept)
	}
}
