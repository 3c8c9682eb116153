package saga_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/saga"
)

// All that is wrong with a definition is told at once. RR-010, RR-011
func TestDefineTellsAllThatIsWrong(t *testing.T) {
	t.Parallel()
	type bad struct{ C chan int }
	none := func(context.Context, int) error { return nil }
	add := func(_ context.Context, n int) (int, error) { return n, nil }
	other := saga.Define("other", func(b *saga.Builder[int]) *saga.Node[int] { return saga.Step1(b, "o", add, b.In()) })
	var foreign *saga.Node[int]
	_ = saga.Define("foreign", func(b *saga.Builder[int]) *saga.Node[int] {
		foreign = saga.Step1(b, "f", add, b.In())
		return foreign
	})
	sig := saga.NewSignal[int]("sig")
	waiting := saga.Define("waiting", func(b *saga.Builder[int]) *saga.Node[int] { return saga.Wait(b, sig) })
	_, err := saga.TryDefine("wrong name", func(b *saga.Builder[bad]) *saga.Node[int] {
		a := saga.Step0(b, "a", func(context.Context) (int, error) { return 0, nil })
		saga.Step1(b, "a", add, a)
		x := saga.Step1(b, "x", add, a)
		y := saga.Step1(b, "y", add, x)
		x.After(y)
		saga.Step1(b, "z", add, foreign).After(foreign)
		saga.Step1(b, "pure", add, a).Pure().Undo(none).Async("q")
		saga.Step1(b, "ch", func(_ context.Context, _ int) (map[string]func(), error) { return nil, nil }, a)
		best := saga.Step1(b, "best", add, a).BestEffort()
		saga.Step1(b, "eats", add, best)
		saga.Step1(b, "queue", add, a).Async("no such queue!")
		saga.Sleep(b, "nap", time.Second).Retry(2, saga.Fixed(0))
		saga.Call(b, "call", other, a).Undo(none)
		saga.Step1(b, "null", add, a).NullSafe()
		saga.Map(b, "map", saga.Const([]int{1}), waiting)
		saga.Step1[int, int](b, "nil", nil, a)
		return best
	})
	toldAll(t, err)
	_, err = saga.TryDefine("pivots", func(b *saga.Builder[int]) *saga.Node[int] {
		p := saga.Step1(b, "p", add, b.In()).Pivot()
		return saga.Step1(b, "late", add, p).Undo(none)
	})
	if err == nil || !strings.Contains(err.Error(), `step "late" comes after the pivot "p"`) {
		t.Errorf("an undo after the pivot = %v, want it refused", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("Define of nothing does not panic")
		}
	}()
	saga.Define[int, int]("nothing", nil)
}

func toldAll(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("TryDefine = nil, want all that is wrong")
	}
	for _, want := range []string{
		`the name "wrong name" is not usable`,
		`the input.C (chan int) cannot be stored as JSON`,
		`step "a" is declared twice`,
		`steps wait for each other: x <- y <- x`,
		`step "z" takes a value of saga "foreign"`,
		`step "z" comes after step "f" of saga "foreign"`,
		`step "pure" is Pure and has Undo`,
		`step "pure" is Pure and has Async`,
		`step "ch" has a result that cannot be stored as JSON: ch (func())`,
		`step "eats" takes the result of "best", which is BestEffort`,
		`step "queue" has the queue "no such queue!"`,
		`step "nap" is a sleep and cannot have Retry`,
		`step "call" is a call and cannot have Undo`,
		`step "null" is NullSafe and has no Undo`,
		`step "map" maps by saga "waiting", which waits for a signal`,
		`step "nil" has no function`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not told: %s", want)
		}
	}
	if t.Failed() {
		t.Logf("told:\n%v", err)
	}
}

// A wrong edge and a wrong undo do not compile, and the compiler says so in words that help. RR-012
func TestWrongTypesDoNotCompile(t *testing.T) {
	t.Parallel()
	const head = `package main

import (
	"context"

	"github.com/outlast-go/outlast/saga"
)

type Order struct{ ID string }
type Pay struct{ ID string }

func validate(context.Context, string) (Order, error) { return Order{}, nil }
func charge(context.Context, Order) (Pay, error)       { return Pay{}, nil }
func refund(context.Context, Pay) error                { return nil }

var _ = saga.Define("x", func(b *saga.Builder[string]) *saga.Node[Pay] {
`
	for name, c := range map[string]struct{ body, want string }{
		"edge":   {`order := saga.Step1(b, "order", validate, b.In()); _ = order; return saga.Step1(b, "pay", charge, b.In())`, "type saga.Ref[string] of b.In() does not match inferred type saga.Ref[Order] for saga.Ref[A]"},
		"undo":   {`order := saga.Step1(b, "order", validate, b.In()).Undo(refund); return saga.Step1(b, "pay", charge, order)`, "cannot use refund (value of type func(context.Context, Pay) error) as func(context.Context, Order) error value in argument to saga.Step1(b, \"order\", validate, b.In()).Undo"},
		"result": {`return saga.Step1(b, "order", validate, b.In())`, "cannot use saga.Step1(b, \"order\", validate, b.In()) (value of type *saga.Node[Order]) as *saga.Node[Pay] value in return statement"},
		"right":  {`order := saga.Step1(b, "order", validate, b.In()); return saga.Step1(b, "pay", charge, order).Undo(refund)`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, err := filepath.Abs("..")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(head+c.body+"\n})\n\nfunc main() {}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "vet", file)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if c.want == "" {
				if err != nil {
					t.Errorf("what is right does not compile: %s", out)
				}
				return
			}
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("the compiler says\n%s\nwant\n%s", out, c.want)
			}
		})
	}
}

func TestPlanAndMermaid(t *testing.T) {
	t.Parallel()
	w := &world{}
	def := mixed(w, false, false)
	plan, err := saga.Plan(def, "e")
	if want := "compensate e|undo d in queue two|undo c|undo b in queue one|undo a|fail"; err != nil || strings.Join(plan, "|") != want {
		t.Errorf("Plan = %q, %v; want %q", plan, err, want)
	}
	if plan, err = saga.Plan(def, "a"); err != nil || strings.Join(plan, "|") != "compensate a|fail" {
		t.Errorf("Plan = %q, %v", plan, err)
	}
	if _, err = saga.Plan(def, "no"); err == nil {
		t.Error("Plan of no step = nil")
	}
	want := `graph TD
  p["p, pure"]
  a["a, undo, compensate"]
  p --> a
  b["b → one, undo"]
  a --> b
  c["c, undo"]
  b --> c
  d["d → two, undo"]
  c --> d
  e["e, undo, compensate"]
  d --> e
`
	if got := def.Mermaid(); got != want {
		t.Errorf("Mermaid =\n%s\nwant\n%s", got, want)
	}
	got := def.MermaidOf(saga.Status{Steps: []saga.StepStatus{{Name: "a", State: "undone"}}})
	if !strings.Contains(got, `a["a, undo, compensate: undone"]:::undone`) || !strings.Contains(got, "classDef undone") {
		t.Errorf("MermaidOf =\n%s", got)
	}
	if def.Hash() == "" || def.Hash() != mixed(w, true, true).Hash() {
		t.Error("policies and queues are part of the hash")
	}
}

func TestAnOutlineTellsStepsAndEdges(t *testing.T) {
	t.Parallel()
	approve := saga.NewSignal[string]("approve")
	def := saga.Define("outlined", func(b *saga.Builder[int]) *saga.Node[int] {
		a := saga.Step1(b, "a", func(_ context.Context, n int) (int, error) { return n, nil }, b.In())
		w := saga.Wait(b, approve).After(a)
		return saga.Step2(b, "c", func(_ context.Context, n int, _ string) (int, error) { return n, nil }, a, w)
	})
	o := def.Outline()
	if o.Name != "outlined" || o.Kind != def.Kind() || o.Hash != def.Hash() || len(o.Steps) != 3 {
		t.Fatalf("Outline = %+v, want the three steps of %s", o, def.Kind())
	}
	if w := o.Steps[1]; w.What != "wait" || w.Signal != "approve" || !slices.Equal(w.After, []string{"a"}) || len(w.Takes) != 0 {
		t.Errorf("the wait is %+v, want it after a", w)
	}
	if c := o.Steps[2]; !slices.Equal(c.Takes, []string{"a", "approve"}) || len(c.After) != 0 {
		t.Errorf("the last step is %+v, want it to take both", c)
	}
}
