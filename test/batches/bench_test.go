//go:build unix

package batches_test

import (
	"context"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// BenchmarkRows is rows that do nothing, end to end: BATCH_ROWS of them (20,000) submitted, run by one process, and closed; and what share that is
// of the bare calls of the same store for as many tasks: bulk submit, claim, complete.
func BenchmarkRows(b *testing.B) {
	for _, name := range engines {
		b.Run(name, func(b *testing.B) {
			rows := int64(setting("BATCH_ROWS", 20_000))
			for b.Loop() {
				bare := bareRows(b, newPlace(b, name), int(rows))
				submit, process := batchRows(b, newPlace(b, name), rows)
				whole := float64(rows) / (submit + process).Seconds()
				b.ReportMetric(float64(rows)/submit.Seconds(), "submitted/s")
				b.ReportMetric(whole, "rows/s")
				b.ReportMetric(100*whole*bare.Seconds()/float64(rows), "%ofBare")
			}
		})
	}
}

// batchRows is a batch from Submit to its end.
func batchRows(b *testing.B, p place, rows int64) (submit, process time.Duration) {
	b.Helper()
	op := square(nil)
	client := p.client(b)
	_, stop := p.worker(b, kernel.Config{Slots: map[string]int{"default": 200}}, op)
	begin := time.Now()
	h, err := op.Submit(b.Context(), client, numbers(rows), batch.Options{})
	if err != nil {
		b.Fatal(err)
	}
	submit = time.Since(begin)
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	s, err := h.Wait(ctx)
	if err != nil || s.State != batch.Success || s.Success != rows {
		b.Fatalf("Wait = %+v, %v", s, err)
	}
	process = time.Since(begin) - submit
	if err := stop(); err != nil {
		b.Fatal(err)
	}
	return submit, process
}

// bareRows is the same number of plain tasks by bare calls of the store, one after the other.
func bareRows(b *testing.B, p place, rows int) time.Duration {
	b.Helper()
	ctx, st := b.Context(), p.open(b)
	client := kernelIDs(b, st)
	begin := time.Now()
	if err := st.Join(ctx, store.JoinRequest{ID: "bare:1:1", Beat: 5 * time.Second, DeadAfter: time.Minute}); err != nil {
		b.Fatal(err)
	}
	for n := 0; n < rows; {
		var req store.SubmitRequest
		for ; n < rows && len(req.Specs) < 1000; n++ {
			req.Specs = append(req.Specs, store.Spec{ID: client.NewID(), Kind: "bare", Queue: "default", Args: []byte(`{"in":1}`), Retention: time.Hour})
		}
		if _, err := st.Submit(ctx, req); err != nil {
			b.Fatal(err)
		}
	}
	for n := 0; n < rows; {
		got, err := st.Claim(ctx, store.ClaimRequest{Worker: "bare:1:1", Nonce: client.NewID(), Kinds: []string{"bare"}, Queues: []store.QueueSlots{{Queue: "default", Slots: 200}}})
		if err != nil {
			b.Fatal(err)
		}
		var req store.CompleteRequest
		for i := range got.Tasks {
			req.Items = append(req.Items, store.Completion{Fence: got.Tasks[i].Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte(`{"out":1}`)}})
		}
		if _, err := st.Complete(ctx, req); err != nil {
			b.Fatal(err)
		}
		n += len(got.Tasks)
	}
	return time.Since(begin)
}

// kernelIDs is a kernel that makes ids.
func kernelIDs(b *testing.B, st store.Store) *kernel.Kernel {
	b.Helper()
	k, err := kernel.New(st, kernel.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(k.Close)
	return k
}
