package api_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
)

// A saga that cannot undo what it did is shown and helped by the API, without its definition.
func TestAStuckSagaIsHelped(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	undo := func(context.Context, int) error {
		if mended.Load() {
			return nil
		}
		return saga.Permanent(errors.New("the bank is closed"))
	}
	same := func(_ context.Context, n int) (int, error) { return n, nil }
	orders := saga.Define("order", func(b *saga.Builder[int]) *saga.Node[int] {
		charge := saga.Step1(b, "charge", same, b.In()).Undo(undo)
		ship := saga.Step1(b, "ship", same, charge).Undo(undo)
		return saga.Step1(b, "tell", func(context.Context, int) (int, error) { return 0, saga.Permanent(errors.New("nobody listens")) }, ship)
	})
	p := begin(t, setup{serve: func(k *kernel.Kernel) { orders.Serve(k) }})
	h, err := orders.Start(t.Context(), p.k, 1, saga.Options{})
	if err != nil {
		t.Fatal(err)
	}
	held := func() {
		t.Helper()
		if _, err := p.k.WaitFor(t.Context(), h.ID(), func(t *kernel.Task) bool { return t.State == "held" }); err != nil {
			t.Fatal(err)
		}
	}
	held()
	var s api.Saga
	p.do(200, "GET /v1/sagas/{id}", nil, &s, h.ID())
	if s.State != "stuck" || s.Failure != "nobody listens" || len(s.Steps) < 3 || len(s.Timeline) == 0 {
		t.Errorf("saga = %+v, want it stuck, with its steps", s)
	}
	p.do(200, "POST /v1/sagas/{id}/release", m{}, nil, h.ID())
	held()
	p.do(200, "POST /v1/sagas/{id}/skip", m{"step": "tell", "result": 1}, nil, h.ID())
	held()
	p.do(200, "POST /v1/sagas/{id}/resolve", m{"step": "ship", "note": "by hand"}, nil, h.ID())
	held()
	mended.Store(true)
	p.do(200, "POST /v1/sagas/{id}/retry-undo", m{}, nil, h.ID())
	if _, err := h.Wait(t.Context()); err == nil {
		t.Error("the saga has ended well")
	}
	if p.do(200, "GET /v1/sagas/{id}", nil, &s, h.ID()); s.State != "failed" || s.EndedAt.IsZero() {
		t.Errorf("saga = %+v, want it failed", s)
	}
	p.refused(409, "state", "POST /v1/sagas/{id}/retry-undo", m{}, h.ID())
	p.refused(422, "invalid", "POST /v1/sagas/{id}/resolve", m{}, h.ID())
	p.refused(422, "invalid", "POST /v1/sagas/{id}/skip", m{"step": "tell"}, h.ID())
	var one api.Submitted
	p.do(201, "POST /v1/tasks", m{"kind": "away", "queue": "q"}, &one)
	for _, id := range []any{p.k.NewID(), one.ID, "none"} {
		p.refused(404, "not_found", "GET /v1/sagas/{id}", nil, id)
		p.refused(404, "not_found", "POST /v1/sagas/{id}/release", m{}, id)
	}
}
