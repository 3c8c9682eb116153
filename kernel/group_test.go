package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

func ok(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil }

func TestAParentIsWokenWhenItsChildrenHaveEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"parent": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
				seen, err := r.Load(ctx, "children")
				if err != nil {
					return kernel.Outcome{}, err
				}
				if seen["children"] == nil {
					group := store.DeriveID(r.Key(), "children")
					out := r.Park(0)
					out.Groups = []kernel.NewGroup{{ID: group, Seal: true, Parent: r.ID()}}
					for i := range 20 {
						out.Follow = append(out.Follow, kernel.Spec{ID: store.DeriveID(r.Key(), fmt.Sprint(i)), Kind: "child", Group: group})
					}
					out.Entries = map[string][]byte{"children": []byte(group.String())}
					return out, nil
				}
				return kernel.Done(seen["children"]), nil
			},
			"child": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
				wait(ctx, time.Second)
				return kernel.Outcome{}, nil
			},
		})
		task := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "parent"}), store.Done)
		id, err := store.ParseID(string(task.Result))
		if err != nil {
			t.Fatalf("ParseID = %v", err)
		}
		if g, err := k.Group(t.Context(), id); err != nil || g.Done != 20 || g.State != store.GroupClosed {
			t.Errorf("Group = %+v, %v; want 20 done, closed", g, err)
		}
	})
}

func TestAGroupRunsOnlyOnceItIsSealedAndReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closings atomic.Int32
		k := kerneltest.Start(t, kernel.Config{}, handlers{"row": ok, "close": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			closings.Add(1)
			return kernel.Outcome{}, nil
		}})
		group, rows, err := k.SubmitGroup(t.Context(), kernel.NewGroup{Hold: true, OnClose: &kernel.Spec{Kind: "close"}}, []kernel.Spec{{Kind: "row"}, {Kind: "row"}})
		if err != nil || rows[0].State != store.Held {
			t.Fatalf("SubmitGroup = %+v, %v; want held rows", rows, err)
		}
		if _, err := k.Seal(t.Context(), group); err != nil {
			t.Errorf("Seal = %v", err)
		}
		more := submit(t, k, kernel.Spec{Kind: "row", Group: group})
		wait(t.Context(), time.Minute)
		if task, err := k.Get(t.Context(), more); err != nil || task.State != store.Held {
			t.Errorf("State = %s, %v; want held", task.State, err)
		}
		for range 2 {
			if _, err := k.Release(t.Context(), group); err != nil {
				t.Errorf("Release = %v", err)
			}
		}
		kerneltest.Wait(t, k, more, store.Done)
		kerneltest.Drain(t, k)
		if g, err := k.Group(t.Context(), group); err != nil || g.Done != 3 || g.State != store.GroupClosed || closings.Load() != 1 {
			t.Errorf("Group = %+v, %v, %d closings; want 3 done, closed, 1", g, err, closings.Load())
		}
		if _, err := k.Submit(t.Context(), kernel.Spec{Kind: "row", Group: group}); !errors.Is(err, store.ErrState) {
			t.Errorf("Submit to a closed group = %v, want ErrState", err)
		}
	})
}

func TestAnAbortedGroupEndsItsMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{Slots: map[string]int{"default": 2}}, handlers{"sleep": sleeper})
		var rows []kernel.Spec
		for range 300 {
			rows = append(rows, kernel.Spec{Kind: "sleep", Args: []byte("1m")})
		}
		group, _, err := k.SubmitGroup(t.Context(), kernel.NewGroup{Seal: true}, rows)
		if err != nil {
			t.Fatalf("SubmitGroup = %v", err)
		}
		wait(t.Context(), 90*time.Second)
		begin := time.Now()
		if _, err := k.Abort(t.Context(), group, "changed my mind"); err != nil {
			t.Errorf("Abort = %v", err)
		}
		kerneltest.Drain(t, k)
		if g, err := k.Group(t.Context(), group); err != nil || g.Done != 2 || g.Cancelled != 298 || g.State != store.GroupClosed || time.Since(begin) > 3*time.Second {
			t.Errorf("Group = %+v, %v after %v; want 2 done, 298 cancelled, closed, within three beats", g, err, time.Since(begin))
		}
	})
}

// FT-22: signals come early, twice and late; each is used once.
func TestSignalsAreUsedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"collect": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			messages, err := r.Messages(ctx)
			if err != nil {
				return kernel.Outcome{}, err
			}
			seen, err := r.Load(ctx, "sum")
			if err != nil {
				return kernel.Outcome{}, err
			}
			sum := string(seen["sum"])
			var used []kernel.ID
			for _, m := range messages {
				sum += string(m.Body)
				used = append(used, m.ID)
			}
			if len(sum) >= 3 {
				return kernel.Outcome{Result: []byte(sum), Consume: used}, nil
			}
			out := r.Park(time.Hour)
			out.Entries, out.Consume = map[string][]byte{"sum": []byte(sum)}, used
			return out, nil
		}})
		id := submit(t, k, kernel.Spec{Kind: "collect", Delay: time.Minute})
		again := kernel.Message{ID: k.NewID(), Task: id, Name: "part", Body: []byte("a")}
		for range 2 { // early, and twice
			if _, err := k.Send(t.Context(), again); err != nil {
				t.Errorf("Send = %v", err)
			}
		}
		wait(t.Context(), 2*time.Minute)
		for _, body := range []string{"b", "c"} {
			if _, err := k.Send(t.Context(), kernel.Message{Task: id, Name: "part", Body: []byte(body)}); err != nil {
				t.Errorf("Send = %v", err)
			}
			if _, err := k.Send(t.Context(), again); err != nil {
				t.Errorf("Send again = %v", err)
			}
			wait(t.Context(), time.Second)
		}
		if task := kerneltest.Wait(t, k, id, store.Done); string(task.Result) != "abc" {
			t.Errorf("Result = %q, want abc", task.Result)
		}
		if _, err := k.Send(t.Context(), kernel.Message{Task: id, Name: "late"}); !errors.Is(err, store.ErrState) {
			t.Errorf("late Send = %v, want ErrState", err)
		}
	})
}

func TestAnOwnedTaskEndsItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{"saga": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			if reason := r.Asked(); reason != "" {
				wait(ctx, time.Second) // undo
				return kernel.Outcome{Kind: store.OutcomeCancel, Reason: reason, Result: []byte("undone")}, nil
			}
			if string(r.Task().Args) == "park" {
				return r.Park(0), nil
			}
			<-ctx.Done()
			return kernel.Outcome{}, ctx.Err()
		}})
		parked := submit(t, k, kernel.Spec{Kind: "saga", Owned: true, Args: []byte("park")})
		running := submit(t, k, kernel.Spec{Kind: "saga", Owned: true})
		queued := submit(t, k, kernel.Spec{Kind: "saga", Owned: true, Delay: time.Hour})
		late := submit(t, k, kernel.Spec{Kind: "saga", Owned: true, Delay: time.Hour, StartBy: time.Minute})
		wait(t.Context(), 10*time.Second)
		for _, id := range []kernel.ID{parked, running, queued} {
			if _, err := k.Cancel(t.Context(), id, ""); err != nil {
				t.Errorf("Cancel = %v", err)
			}
		}
		for id, reason := range map[kernel.ID]string{
			parked: store.ReasonCancelled, running: store.ReasonCancelled, queued: store.ReasonCancelled, late: store.ReasonExpired,
		} {
			if task := kerneltest.Wait(t, k, id, store.Cancelled); string(task.Result) != "undone" || task.Reason != reason || task.Attempts != 0 {
				t.Errorf("Result = %q, reason %q, %d attempts; want undone, %q, 0", task.Result, task.Reason, task.Attempts, reason)
			}
		}
	})
}

func TestOnEndComesForEveryRoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kerneltest.Start(t, kernel.Config{}, handlers{
			"done": ok,
			"fail": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				return kernel.Outcome{}, kernel.Permanent(errors.New("no"))
			},
			"callback": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
				return kernel.Done([]byte(r.Task().Parent.String())), nil
			},
		})
		callback := &kernel.Spec{Kind: "callback"}
		ids := []kernel.ID{
			submit(t, k, kernel.Spec{Kind: "done", OnEnd: callback}),
			submit(t, k, kernel.Spec{Kind: "fail", OnEnd: callback}),
			submit(t, k, kernel.Spec{Kind: "done", OnEnd: callback, Delay: time.Hour, StartBy: time.Minute}),
			submit(t, k, kernel.Spec{Kind: "done", OnEnd: callback, Delay: time.Hour}),
		}
		if _, err := k.Cancel(t.Context(), ids[3], ""); err != nil {
			t.Errorf("Cancel = %v", err)
		}
		kerneltest.Drain(t, k)
		heard := map[string]int{}
		for _, task := range kerneltest.Submitted(t, k, "callback") {
			heard[string(task.Result)]++
		}
		for _, id := range ids {
			if heard[id.String()] != 1 {
				t.Errorf("%d callbacks for %s, want 1", heard[id.String()], id)
			}
		}
	})
}

// I25: two processes drive one schedule; each tick comes once.
func TestATickComesOnceWhoeverDrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		first, _ := kerneltest.StartOn(t, mem, kernel.Config{}, handlers{"tick": ok})
		kerneltest.StartOn(t, mem.Process(), kernel.Config{}, handlers{"tick": ok})
		s, err := first.PutSchedule(t.Context(), kernel.Schedule{Name: "minutely", Rule: "every 1m", Task: kernel.Spec{Kind: "tick"}})
		if err != nil {
			t.Fatalf("PutSchedule = %v", err)
		}
		wait(t.Context(), time.Hour+time.Second)
		if n := len(kerneltest.Tasks(t, first, "tick")); n != 60 {
			t.Errorf("%d ticks in an hour, want 60", n)
		}
		s.Rule = "every 10m"
		if _, err := first.PutSchedule(t.Context(), s); !errors.Is(err, store.ErrChanged) && err != nil {
			t.Errorf("PutSchedule = %v", err)
		}
		if err := first.DeleteSchedule(t.Context(), "minutely"); err != nil {
			t.Errorf("DeleteSchedule = %v", err)
		}
		before := len(kerneltest.Tasks(t, first, "tick"))
		wait(t.Context(), time.Hour)
		if n := len(kerneltest.Tasks(t, first, "tick")); n != before {
			t.Errorf("%d ticks after the schedule was deleted", n-before)
		}
	})
}

func TestMissedTicksFollowTheirPolicy(t *testing.T) {
	t.Parallel()
	for catchUp, want := range map[string]int{kernel.CatchUpLast: 1, kernel.CatchUpAll: 60, kernel.CatchUpNone: 1} {
		t.Run("catch up "+catchUp, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New(memory.Config{})
				client := kerneltest.New(t, mem, kernel.Config{})
				_, err := client.PutSchedule(t.Context(), kernel.Schedule{
					Name: "minutely", Rule: "every 1m", CatchUp: catchUp, Overlap: store.OverlapAllow, Task: kernel.Spec{Kind: "tick", Queue: "q"},
				})
				if err != nil {
					t.Fatalf("PutSchedule = %v", err)
				}
				wait(t.Context(), time.Hour+time.Second) // nobody is there to drive
				kerneltest.StartOn(t, mem.Process(), kernel.Config{}, nil)
				wait(t.Context(), 10*time.Second)
				if n := len(kerneltest.Tasks(t, client, "tick")); n != want {
					t.Errorf("%d ticks made up for, want %d", n, want)
				}
			})
		})
	}
}
