package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/kernel"
)

// Append adds rows to a batch that was submitted with Hold and not released, and returns how many rows it has. Lines are unique in the batch:
// the same line with the same input again is the same row, so that an Append in doubt may be repeated; with another input it is
// ErrDuplicate, and nothing is added. ErrState says that the batch waits no more, or is still being submitted. If the store is lost on
// the way some rows may have been added: repeat it.
func (b *Batch[R, In, Out]) Append(ctx context.Context, k *kernel.Kernel, id kernel.ID, rows Source[In]) (total int64, err error) {
	total, err = b.append(ctx, k, id, rows)
	if err != nil {
		return total, fmt.Errorf("append to %s %s (%s): %w", b.face, b.name, id, err)
	}
	return total, nil
}

func (b *Batch[R, In, Out]) append(ctx context.Context, k *kernel.Kernel, id kernel.ID, rows Source[In]) (int64, error) {
	g, err := b.Handle(k, id).group(ctx)
	switch {
	case err != nil:
		return 0, err
	case g.Aborting != "":
		return g.Total, fmt.Errorf("%w: it was aborted", ErrState)
	case g.State == kernel.GroupFilling:
		return g.Total, fmt.Errorf("%w: it is still being submitted", ErrState)
	case g.State != kernel.GroupHeld:
		return g.Total, fmt.Errorf("%w: it was released; rows are added to a batch that waits", ErrState)
	}
	w, err := b.writer(k, Options{})
	if err != nil {
		return g.Total, err
	}
	w.group.ID, w.append = id, true
	if w.context, err = contextOf(k, g); err != nil {
		return g.Total, err
	}
	if w.before, err = lines(ctx, k, g); err != nil {
		return g.Total, err
	}
	if !rows.once {
		if err := w.dry().all(ctx, rows); err != nil {
			return g.Total, err
		}
	}
	if err := w.all(ctx, rows); err != nil {
		return g.Total, err
	}
	g, err = k.Group(ctx, id)
	return g.Total, err
}

// lines reads which lines a batch has.
func lines(ctx context.Context, k *kernel.Kernel, g kernel.Group) (lineSet, error) {
	have := lineSet{}
	page := kernel.PageRequest{Limit: 1000}
	for seen := int64(0); seen < g.Total; {
		p, err := k.Members(ctx, g.ID, nil, page)
		if err != nil {
			return nil, err
		}
		for i := range p.Items {
			have.add(p.Items[i].Line)
		}
		seen += int64(len(p.Items))
		if page.Cursor = p.Cursor; page.Cursor == "" {
			break
		}
	}
	return have, nil
}

// contextOf reads what Options.Context was.
func contextOf(k *kernel.Kernel, g kernel.Group) (json.RawMessage, error) {
	a, err := closing(k, g)
	return a.Context, err
}

// closing reads what the closing task of a batch carries.
func closing(k *kernel.Kernel, g kernel.Group) (a closeArgs, err error) {
	args, err := k.CloseArgs(g)
	if err == nil && len(args) == 0 {
		err = errors.New("it has no closing task")
	}
	if err == nil {
		err = json.Unmarshal(args, &a)
	}
	if err != nil {
		return a, fmt.Errorf("read batch %s: %w", g.ID, err)
	}
	return a, nil
}
