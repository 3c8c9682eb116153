package kernel_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

func TestMembersComeByLineAndOpened(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"member": ok, "close": ok})
		var specs []kernel.Spec
		for _, line := range []int64{5, 1, 3} {
			specs = append(specs, kernel.Spec{Kind: "member", Line: line, Args: []byte{byte(line)}})
		}
		id, members, err := k.SubmitGroup(t.Context(), kernel.NewGroup{Seal: true, OnClose: &kernel.Spec{Kind: "close", Args: []byte("closing")}}, specs)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			kerneltest.Wait(t, k, m.ID, store.Done)
		}
		g, err := k.Group(t.Context(), id)
		if err != nil || g.State != kernel.GroupClosed {
			t.Fatalf("Group = %+v, %v", g, err)
		}
		if args, err := k.CloseArgs(g); err != nil || string(args) != "closing" {
			t.Errorf("CloseArgs = %q, %v", args, err)
		}
		kerneltest.Wait(t, k, kernel.CloseID(g), store.Done)
		var lines []int64
		page := kernel.PageRequest{Limit: 2, Payload: true}
		for {
			p, err := k.Members(t.Context(), id, []kernel.TaskState{store.Done}, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range p.Items {
				lines = append(lines, int64(m.Args[0]))
			}
			if page.Cursor = p.Cursor; page.Cursor == "" {
				break
			}
		}
		if !slices.Equal(lines, []int64{1, 3, 5}) {
			t.Errorf("members = %v, want 1 3 5", lines)
		}
		if p, err := k.Groups(t.Context(), kernel.PageRequest{}); err != nil || len(p.Items) != 1 || p.Items[0].ID != id {
			t.Errorf("Groups = %+v, %v", p, err)
		}
	})
}

func TestWhatWaitsForTheEndIsCalledOnceAndBackwards(t *testing.T) {
	t.Parallel()
	var calls []string
	k, stop := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{}, handlers{"a": ok})
	if !k.Handles("a") || k.Handles("b") {
		t.Error("Handles is wrong")
	}
	for _, name := range []string{"first", "second"} {
		k.OnStop(func() { calls = append(calls, name) })
	}
	k.OnStop(func() { panic("contained") })
	if len(calls) != 0 {
		t.Errorf("called before the end: %v", calls)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	k.Close()
	k.OnStop(func() { calls = append(calls, "late") })
	if !slices.Equal(calls, []string{"second", "first", "late"}) {
		t.Errorf("calls = %v", calls)
	}
}
