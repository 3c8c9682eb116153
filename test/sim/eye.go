package sim

import (
	"context"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

// eye looks at the store behind everybody's back, in nobody's name: what it does is no call of the simulated world.
type eye interface {
	// look reads a task. A task that is not there has no state.
	look(id store.ID) store.Task
	// entry reads one entry of a checkpoint.
	entry(id store.ID, name string) []byte
	// walk calls fn for every record.
	walk(fn func(e store.Entry)) error
	// blocked reports whether a schedule or a pause stands.
	blocked() bool
	// survey calls fn for every record, and compares them with each other.
	survey(fn func(e store.Entry)) ([]fsck.Finding, error)
}

type memoryEye struct {
	st      store.Store
	checker fsck.Checker
}

func (m *memoryEye) look(id store.ID) store.Task {
	t, err := m.st.Get(context.Background(), id)
	if err != nil {
		return store.Task{}
	}
	return t
}

func (m *memoryEye) entry(id store.ID, name string) []byte {
	entries, err := m.st.Load(context.Background(), id, name)
	if err != nil {
		return nil
	}
	return entries[name]
}

func (m *memoryEye) walk(fn func(e store.Entry)) error {
	return m.st.Export(context.Background(), func(e store.Entry) error {
		fn(e)
		return nil
	})
}

func (m *memoryEye) blocked() bool {
	pauses, err := m.st.PauseList(context.Background())
	found := err != nil || len(pauses) > 0
	err = m.walk(func(e store.Entry) { found = found || e.Schedule != nil })
	return found || err != nil
}

func (m *memoryEye) survey(fn func(e store.Entry)) ([]fsck.Finding, error) {
	return m.checker.Check(context.Background(), overheard{m.st, fn})
}

// overheard is a store of whose exports fn is told as well.
type overheard struct {
	store.Store
	fn func(e store.Entry)
}

func (o overheard) Export(ctx context.Context, fn func(store.Entry) error) error {
	return o.Store.Export(ctx, func(e store.Entry) error {
		o.fn(e)
		return fn(e)
	})
}
