package saga_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/saga/sagatest"
)

// money brings its own JSON.
type money struct{ cents int64 }

func (m money) MarshalText() ([]byte, error) {
	return []byte(strings.Repeat("c", int(m.cents))), nil
}

func (m *money) UnmarshalText(text []byte) error {
	m.cents = int64(len(text))
	return nil
}

type values struct {
	At     time.Time
	Took   time.Duration
	Big    int64
	Ratio  float64
	Yes    bool
	Zero   int
	Empty  string
	None   *int
	List   []string
	Nested map[string][]values
	Money  money
	Any    any
}

// Types survive being saved: times, nested values, numbers, nothing, and what brings its own JSON. RR-004, RR-008, RR-049, X-23
func TestValuesSurvive(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, here bool) {
		in := values{
			At: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), Took: time.Hour, Big: math.MaxInt64, Ratio: 0.1, List: []string{""},
			Nested: map[string][]values{"x": {{Yes: true}}}, Money: money{7}, Any: "text",
		}
		same := func(_ context.Context, v values) (values, error) { return v, nil }
		def := saga.Define("values", func(b *saga.Builder[values]) *saga.Node[values] {
			a := saga.Step1(b, "a", same, b.In())
			bb := saga.Step1(b, "b", same, a).Async("q")
			nap := saga.Sleep(b, "nap", time.Second).After(bb)
			return saga.Step1(b, "c", func(_ context.Context, v values) (values, error) {
				if !reflect.DeepEqual(v, in) {
					return v, saga.Permanent(errors.New("it has changed on its way"))
				}
				return v, nil
			}, bb).After(nap)
		})
		sagatest.Completed(t, start(t, here, def, fleet(t, def), in), in)
	})
}

// What goes wrong before a body begins undoes what was done, compensates nothing, and is not tried again. RR-024, RR-025, RR-026, RR-027
func TestAFailureBeforeTheBody(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, here bool) {
		w := &world{}
		for _, queue := range []string{"", "q"} {
			def := saga.Define("before", func(b *saga.Builder[int]) *saga.Node[int] {
				a := saga.Step1(b, "a", w.add("a"), b.In()).Undo(w.undo("a"))
				bad := saga.Field(a, func(n int) int { return []int{}[n] })
				x := saga.Step1(b, "b", w.add("b"), bad).Retry(5, saga.Fixed(time.Second)).Compensate(w.compensate("b"))
				if queue != "" {
					x.Async(queue)
				}
				return x
			})
			h := start(t, here, def, fleet(t, def), 0)
			e := sagatest.Failed(t, h, saga.Failed, "b")
			if !strings.Contains(e.Message, "index out of range") {
				t.Errorf("error %v, want the panic of the field", e)
			}
			want := []string{"done a", "failed b", "unwinding", "undone a", "failed"}
			if queue != "" {
				want = []string{"done a", "sent b", "failed b", "unwinding", "undone a", "failed"}
			}
			sagatest.Sequence(t, h, want...)
		}
	})
}

// A result can be refused: the step has then failed for good, and is undone with what it returned. RR-013
func TestAResultIsChecked(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, here bool) {
		w := &world{}
		def := saga.Define("check", func(b *saga.Builder[int]) *saga.Node[int] {
			return saga.Step1(b, "a", w.add("a"), b.In()).Retry(5, saga.Fixed(time.Second)).Undo(w.undo("a")).
				Check(func(n int) error {
					if n > 10 {
						return errors.New("more than ten")
					}
					return nil
				})
		})
		k := fleet(t, def)
		sagatest.Completed(t, start(t, here, def, k, 1), 2)
		h := start(t, here, def, k, 10)
		if e := sagatest.Failed(t, h, saga.Failed, "a"); !strings.Contains(e.Message, "more than ten") || e.Outcome != saga.OutcomeFailed {
			t.Errorf("error %+v", e)
		}
		if got := w.list(); len(got) != 3 || got[2] != "undo a" {
			t.Errorf("effects %q, want the refused one undone", got)
		}
	})
}

// An element is tried again by itself, and a map inside a map works as one does. RR-085, RR-090
func TestMapInsideMap(t *testing.T) {
	t.Parallel()
	for _, async := range []bool{false, true} {
		bubble(t, func(t *testing.T, here bool) {
			fails := 1
			one := saga.Each("one", func(_ context.Context, n int) (int, error) {
				if n == 3 && fails > 0 {
					fails--
					return 0, errNo
				}
				return n * 10, nil
			}, func(n *saga.Node[int]) { n.Retry(2, saga.Fixed(time.Second)) })
			row := saga.Define("row", func(b *saga.Builder[[]int]) *saga.Node[[]int] {
				m := saga.Map(b, "cells", b.In(), one)
				if async {
					m.Async("q")
				}
				return m
			})
			def := saga.Define("table", func(b *saga.Builder[[][]int]) *saga.Node[[][]int] {
				m := saga.Map(b, "rows", b.In(), row)
				if async {
					m.Async("q")
				}
				return m
			})
			h := start(t, here, def, fleet(t, def), [][]int{{1, 2}, {}, {3}})
			sagatest.Completed(t, h, [][]int{{10, 20}, {}, {30}})
		})
	}
}

// Once per period and key: a failure lets go of the key. A compensation that panics is reported. RR-021, RR-022, RR-123
func TestOncePerPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		def := saga.Define("daily", func(b *saga.Builder[int]) *saga.Node[int] {
			return saga.Step1(b, "a", w.add("a"), b.In()).Compensate(func(context.Context, saga.Failure) error { panic("oh") }).UndoRetry(1, saga.Fixed(0))
		})
		bad := sagatest.FailAt(def, "a", 1, errNo)
		k := fleet(t, bad)
		opts := saga.Options{Key: "today", KeyFor: 24 * time.Hour, Limit: "daily"}
		begin := func() *saga.Handle[int] {
			h, err := bad.Start(t.Context(), k, 1, opts)
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		first := begin()
		if e := sagatest.Failed(t, first, saga.Stuck, "a"); len(e.Rollback) != 1 || e.Rollback[0].Kind != "compensate" || !strings.Contains(e.Rollback[0].Message, "panic: oh") {
			t.Errorf("error %+v, want the panic listed", e)
		}
		if err := saga.Resolve(t.Context(), k, first.ID(), "a", ""); err != nil {
			t.Fatal(err)
		}
		sagatest.Failed(t, bad.Handle(k, first.ID()), saga.Failed, "a")
		second := begin()
		sagatest.Completed(t, second, 2)
		if third := begin(); third.ID() != second.ID() {
			t.Error("a second one in the period")
		}
		sagatest.Pass(t, 25*time.Hour)
		if fourth := begin(); fourth.ID() == second.ID() {
			t.Error("none in the next period")
		}
	})
}

// An id that is gone, or is none of the saga's, says so and does no harm. RR-073, RR-075
func TestIDsThatAreNoSagas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		def := mixed(w, false, true)
		k := fleet(t, def)
		for _, id := range []kernel.ID{{1}, k.NewID()} {
			h := def.Handle(k, id)
			_, err1 := h.Wait(t.Context())
			_, err2 := h.Status(t.Context())
			for _, err := range []error{
				err1, err2, h.Cancel(t.Context(), saga.Rollback, ""), saga.RetryUndo(t.Context(), k, id, "", ""), saga.NewSignal[int]("x").Send(t.Context(), k, id, 1),
			} {
				if !errors.Is(err, kernel.ErrNotFound) {
					t.Errorf("%v, want ErrNotFound", err)
				}
			}
		}
		h := start(t, false, def, k, 0)
		if err := saga.RetryUndo(t.Context(), k, h.ID(), "", ""); !errors.Is(err, kernel.ErrState) {
			t.Errorf("RetryUndo of a saga that is not stuck = %v, want ErrState", err)
		}
		sagatest.Completed(t, h, 6)
	})
}
