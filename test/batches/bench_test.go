//go:build unix

package batches_test

import (
	"context"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// BenchmarkRows is rows that do nothing, end to end: BATCH_ROWS of them (20,000) submitted, run by one process, and closed.
func BenchmarkRows(b *testing.B) {
	for _, name := range engines {
		b.Run(name, func(b *testing.B) {
			rows := int64(setting("BATCH_ROWS", 20_000))
			for b.Loop() {
				op := square(nil)
				p := newPlace(b, name)
				client := p.client(b)
				begin := time.Now()
				h, err := op.Submit(b.Context(), client, numbers(rows), batch.Options{})
				if err != nil {
					b.Fatal(err)
				}
				submitted := time.Now()
				_, stop := p.worker(b, kernel.Config{Slots: map[string]int{"default": 200}}, op)
				ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
				s, err := h.Wait(ctx)
				cancel()
				if err != nil || s.State != batch.Success || s.Success != rows {
					b.Fatalf("Wait = %+v, %v", s, err)
				}
				b.ReportMetric(float64(rows)/submitted.Sub(begin).Seconds(), "submitted/s")
				b.ReportMetric(float64(rows)/time.Since(submitted).Seconds(), "processed/s")
				if err := stop(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
