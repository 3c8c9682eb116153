package main

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// numbers is an operation that some rows fail, and that writes a file.
func numbers() *batch.Batch[struct{}, int, int] {
	return batch.Define("app/numbers", batch.Processor[struct{}, int, int]{Row: func(_ context.Context, _ struct{}, r batch.Row[int]) (batch.Result[int], error) {
		if r.Input == 2 {
			return batch.Result[int]{}, kernel.Permanent(errors.New("two is bad"))
		}
		return batch.Result[int]{Out: 10 * r.Input, Files: map[string]string{"good.txt": "a good one\n"}}, nil
	}}, batch.Config{Files: true})
}

// worked are two batches whose rows have ended, and four that wait.
func worked(t *testing.T, url string) (ended [2]store.ID, waiting [4]store.ID) {
	t.Helper()
	k, _ := planted(t, url, kernel.Config{})
	op := numbers()
	op.Serve(k)
	for i := range waiting {
		h, err := op.Submit(t.Context(), k, batch.Inputs(1, 3), batch.Options{Hold: true})
		if err != nil {
			t.Fatal(err)
		}
		waiting[i] = h.ID()
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })
	for i := range ended {
		h, err := op.Submit(t.Context(), k, batch.Inputs(1, 2, 3), batch.Options{})
		if err == nil {
			ended[i] = h.ID()
			_, err = h.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()
	running.Wait()
	return ended, waiting
}

// Batches are looked at and ordered about through a daemon as on the store.
func TestADaemonsBatches(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	ended, waiting := worked(t, url)
	b := &both{t, url, serving(t, url)}
	id, none := ended[0].String(), store.DeriveID("none").String()
	for _, line := range [][]string{
		{"list"},
		{"list", "--limit", "2"},
		{"list", "--name", "app/"},
		{"list", "--name", "app/numbers"},
		{"list", "--name", "app/none"},
		{"status", id},
		{"status", waiting[0].String()},
		{"rows", id},
		{"rows", id, "--state", "failed"},
		{"rows", id, "--limit", "1"},
		{"files", id},
		{"files", id, "good.txt"},
		{"files", waiting[0].String()},
		{"files", id, "none.txt"},
		{"status", none},
		{"rows", none},
		{"files", none},
		{"files", none, "x"},
		{"release", none},
		{"abort", none},
		{"retry", none},
		{"status", "this-is-no-id"},
	} {
		args := append([]string{"batch"}, line...)
		if len(line) != 3 || line[0] != "files" {
			args = append(args, "--json")
		}
		b.same(args...)
	}
	b.twin(0, ended[0], ended[1], "batch", "retry", "ID", "--json")
	b.twin(0, ended[0], ended[1], "batch", "rows", "ID", "--json")
	b.twin(0, waiting[0], waiting[1], "batch", "release", "ID", "--json")
	b.twin(0, waiting[2], waiting[3], "batch", "abort", "ID", "--reason", "wrong file", "--json")
	b.twin(0, waiting[2], waiting[3], "batch", "rows", "ID", "--json")
}
