package saga_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// orphan is a saga that is rolled back if its caller is gone before the step that is Async.
func orphan(w *world) *saga.Def[int, int] {
	return saga.Define("orphan", func(b *saga.Builder[int]) *saga.Node[int] {
		b.OnOrphan(saga.Rollback)
		a := saga.Step1(b, "a", w.add("a"), b.In()).Undo(w.undo("a"))
		c := saga.Step1(b, "b", w.add("b"), a).Undo(w.undo("b")).Compensate(w.compensate("b"))
		return saga.Step1(b, "c", w.add("c"), c).Async("q")
	})
}

// A saga whose caller dies before workers could go on is rolled back, if it wants that; one that was handed over goes on. RR-069
func TestAnOrphanIsRolledBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		crash sagatest.Crash
		want  []string
	}{
		{sagatest.Crash{Write: 1}, []string{"unknown a", "unwinding", "failed"}},
		{sagatest.Crash{Write: 2, Lost: true}, []string{"unknown a", "unwinding", "failed"}},
		{sagatest.Crash{Write: 2}, []string{"done a", "unknown b", "unwinding", "compensated b", "undone a", "failed"}},
		{sagatest.Crash{Write: 3, Lost: true}, []string{"done a", "unknown b", "unwinding", "compensated b", "undone a", "failed"}},
		{sagatest.Crash{Write: 3}, []string{"done a", "done b", "sent c", "done c", "completed"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{}
			def := orphan(w)
			f := sagatest.Start(t, sagatest.Config{Crash: c.crash, InCaller: true}, def)
			client, err := kernel.New(f.Store.Process(), kernel.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			id := client.NewID()
			_, _ = def.Run(t.Context(), f.Kernel, 0, saga.Options{ID: id}) // its process dies
			h := def.Handle(client, id)
			_, err = h.Wait(t.Context())
			if rolled := slices.Contains(c.want, "failed"); rolled != errors.Is(err, saga.ErrFailed) {
				t.Errorf("%+v: Wait = %v", c.crash, err)
			}
			sagatest.Sequence(t, h, c.want...)
		})
	}
}

// One whose caller could not run it is begun by a worker: its death is not the caller's. And one that is started by Start has no caller.
func TestASagaThatAWorkerHasBegunIsNoOrphan(t *testing.T) {
	t.Parallel()
	sagatest.EveryCrash(t, func(t *testing.T, crash sagatest.Crash) (crashed bool) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{}
			def := orphan(w)
			f := sagatest.Start(t, sagatest.Config{Workers: 2, Crash: crash}, def)
			h, err := def.Start(t.Context(), f.Kernel, 0, saga.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sagatest.Completed(t, h, 3)
			crashed = f.Crashed()
		})
		return crashed
	})
	if _, err := saga.TryDefine("wrong", func(b *saga.Builder[string]) *saga.Node[string] {
		b.OnOrphan(saga.Abandon)
		return saga.Step1(b, "a", func(_ context.Context, s string) (string, error) { return s, nil }, b.In())
	}); err == nil {
		t.Error("OnOrphan(Abandon) is not refused")
	}
}
