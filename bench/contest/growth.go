package contest

import (
	"context"

	"github.com/outlast-go/outlast/bench/part"
)

// growth has the same measured on one store after so many tasks, and then after more: the first side is the fullest.
func growth(ctx context.Context, w *World, b *Bench) ([]part.Report, error) {
	store, err := w.fresh(ctx, b.Engine)
	if err != nil {
		return nil, err
	}
	defer store.remove()
	list := make([]part.Report, len(b.Sides))
	for i := range list {
		list[i].Error = "it was not measured"
	}
	before := 0
	for i := len(b.Sides) - 1; i >= 0; i-- {
		o := w.order(b, b.Sides[i], store)
		o.Before, o.Finished = before, b.Sides[i].Finished
		if list[i], err = w.ask(ctx, b.Sides[i], o); err != nil {
			list[i].Error = err.Error()
			return list, err
		}
		before = list[i].Tasks // it leaves some more behind
	}
	return list, nil
}
