package upgrade_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/test/servers"
	"github.com/outlast-go/outlast/test/upgrade/fill"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(childStore); url != "" {
		openAndDie(url)
		return
	}
	code := m.Run()
	servers.EndShared()
	os.Exit(code)
}

// stores lists the stores in testdata.
func stores(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("testdata/*.gz")
	if err != nil || len(list) < 7 {
		t.Fatalf("there are %d old stores, %v", len(list), err)
	}
	return list
}

// A store of every earlier schema is opened and brought to the present one, and everything in it is as it was: each task in its state
// with all that belongs to it, and nothing that cannot be. FT-32
func TestAnOldStoreIsReadAsItWasLeft(t *testing.T) {
	t.Parallel()
	for _, file := range stores(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			st := opened(t, restore(t, file))
			asLeft(t, st)
			clean(t, st)
		})
	}
}

// opened opens a store.
func opened(t *testing.T, url string) store.Store {
	t.Helper()
	st, err := engine.Open(t.Context(), url, engine.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// asLeft checks that tasks, groups and the rest stand as fill.Fill left them.
func asLeft(t *testing.T, st store.Store) {
	t.Helper()
	ctx := t.Context()
	for name, state := range fill.States {
		task, err := st.Get(ctx, fill.ID(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if task.State != state || string(task.Args) != `"args of `+name+`"` || task.Labels["name"] != name || task.Correlation != "c-"+name || task.Retry.Max != 3 {
			t.Errorf("%s is %+v; want it %s", name, task, state)
		}
	}
	if task, err := st.Get(ctx, fill.ID("staged")); err != nil || task.Read() != store.Ending {
		t.Errorf("staged reads as %s, %v; want ending", task.Read(), err)
	}
	if task, err := st.Get(ctx, fill.ID("asked")); err != nil || task.Asked != "enough" {
		t.Errorf("asked was asked %q, %v; want enough", task.Asked, err)
	}
	if task, err := st.Get(ctx, fill.ID("failed")); err != nil || task.Error == nil || task.Error.Message != "no" || string(task.Error.Detail) != "d" {
		t.Errorf("failed has the error %+v, %v", task.Error, err)
	}
	if entries, err := st.Load(ctx, fill.ID("saved")); err != nil || string(entries["at"]) != "42" {
		t.Errorf("the checkpoint of saved is %q, %v", entries, err)
	}
	if list, err := st.Messages(ctx, fill.ID("saved")); err != nil || len(list) != 1 || string(list[0].Body) != `"hello"` {
		t.Errorf("the inbox of saved is %+v, %v", list, err)
	}
	if g, err := st.Group(ctx, fill.Open); err != nil || g.State != store.GroupOpen || g.Total != 2 || g.Done != 1 || g.OnClose == nil {
		t.Errorf("the open group is %+v, %v", g, err)
	}
	if limits, err := st.LimitList(ctx, "lim"); err != nil || len(limits) != 1 || limits[0].Running != 2 || limits[0].InUse != 1 {
		t.Errorf("the limit is %+v, %v", limits, err)
	}
	if pauses, err := st.PauseList(ctx); err != nil || len(pauses) != 1 || pauses[0].Reason != "not now" {
		t.Errorf("the pauses are %+v, %v", pauses, err)
	}
	if sc, err := st.Schedule(ctx, "hourly"); err != nil || sc.Rule != "every 1h" || sc.Task.Kind != "old.tick" {
		t.Errorf("the schedule is %+v, %v", sc, err)
	}
}

// clean checks that nothing is in the store that cannot be.
func clean(t *testing.T, st store.Store) {
	t.Helper()
	findings, err := fsck.Check(t.Context(), st)
	if err != nil || len(findings) > 0 {
		t.Errorf("fsck finds %v, %v", findings, err)
	}
}

// Everything in an old store goes on: the tasks of the dead worker are taken over, each ends once, what was staged counts, the checkpoint and the message are
// there, groups close and what follows them runs. FT-32
func TestWhatIsInAnOldStoreGoesOn(t *testing.T) {
	t.Parallel()
	for _, file := range stores(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			st := opened(t, restore(t, file))
			workOn(t, st)
			ends(t, st)
			clean(t, st)
		})
	}
}

// workOn runs a kernel on the store until nothing is left to do.
func workOn(t *testing.T, st store.Store) {
	t.Helper()
	queues := map[string]int{"follow": 2, "close": 2, "tick": 2}
	for name := range fill.States {
		queues[name] = 2
	}
	k, err := kernel.New(st, kernel.Config{Slots: queues, Beat: 200 * time.Millisecond, DeadAfter: 2 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for _, kind := range []string{fill.Kind, "old.follow", "old.close", "old.tick"} {
		k.Handle(kind, handle)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := k.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
	defer running.Wait()
	defer stop()
	for _, err := range []error{
		st.Free(ctx, fill.ID("held")), st.Retry(ctx, fill.ID("failed")), st.Retry(ctx, fill.ID("cancelled")),
		st.Send(ctx, store.Message{ID: fill.ID("wake"), Task: fill.ID("parked"), Name: "wake"}), sealed(ctx, st),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for name := range fill.States {
		if name == "later" {
			continue
		}
		if _, err := k.Wait(wait, fill.ID(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []store.ID{store.CloseID(fill.Open, 1), store.OnEndID(fill.ID("ended"), 0)} {
		if _, err := k.Wait(wait, id); err != nil {
			t.Errorf("what follows: %v", err)
		}
	}
}

func sealed(ctx context.Context, st store.Store) error {
	_, err := st.Seal(ctx, fill.Filling)
	return err
}

// handle ends a task with what it finds.
func handle(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
	entries, err := run.Load(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	list, err := run.Messages(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	words := []string{"went on"}
	if at, ok := entries["at"]; ok {
		words = append(words, string(at))
	}
	var read []kernel.ID
	for _, m := range list {
		words, read = append(words, m.Name), append(read, m.ID)
	}
	return kernel.Outcome{Kind: store.OutcomeDone, Result: []byte(strings.Join(words, " ")), Consume: read}, nil
}

// ends checks how everything has ended.
func ends(t *testing.T, st store.Store) {
	t.Helper()
	ctx := t.Context()
	for name := range fill.States {
		task, err := st.Get(ctx, fill.ID(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		state, result := store.Done, "went on"
		switch name {
		case "later":
			state, result = store.Scheduled, ""
		case "asked":
			state, result = store.Cancelled, ""
		case "staged":
			result = `"staged"`
		case "done", "ended", "member1":
			result = `"result of ` + name + `"`
		case "saved":
			result = "went on 42 word"
		case "parked":
			result = "went on wake"
		}
		if task.State != state || string(task.Result) != result || name == "running" && task.Epoch != 2 {
			t.Errorf("%s is %s with %q in epoch %d; want %s with %q", name, task.State, task.Result, task.Epoch, state, result)
		}
	}
	for id, total := range map[store.ID]int64{fill.Open: 2, fill.Filling: 1} {
		if g, err := st.Group(ctx, id); err != nil || g.State != store.GroupClosed || g.Done != total {
			t.Errorf("group %s is %s with %d of %d done, %v", g.Name, g.State, g.Done, g.Total, err)
		}
	}
}
