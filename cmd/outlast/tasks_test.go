package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
)

// lines decodes JSON lines.
func lines[T any](t *testing.T, text string) (list []T) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		list = append(list, v)
	}
	return list
}

// world is a store with tasks in it: of "ok" some are done, of "bad" some have failed, of "wait" some wait.
func world(t *testing.T, url string) (failed, waiting []store.ID) {
	t.Helper()
	_, st := planted(t, url, kernel.Config{})
	k, stop := kerneltest.StartOn(t, st, kernel.Config{Name: "tester"}, map[string]kernel.Handler{
		"ok": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Done([]byte(`{"a":1}`)), nil },
		"bad": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			return kernel.Outcome{}, kernel.Permanent(kernel.Typed("teapot", errors.New("short and stout\x1b[31m")))
		},
		"after": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Done(nil), nil },
	})
	submit := func(s kernel.Spec) store.ID {
		got, err := k.Submit(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return got.ID
	}
	for i := range 5 {
		id := submit(kernel.Spec{Kind: "bad", Args: fmt.Appendf(nil, `{"n":%d}`, i), Labels: map[string]string{"n": fmt.Sprint(i)}, OnEnd: &kernel.Spec{Kind: "after"}})
		failed = append(failed, id)
	}
	done := submit(kernel.Spec{Kind: "ok"})
	for range 5 {
		waiting = append(waiting, submit(kernel.Spec{Kind: "wait", Queue: "nobody", Lane: "l"}))
	}
	for _, id := range append(failed[:5:5], done) {
		if _, err := k.Wait(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if id != done {
			task, err := k.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Wait(t.Context(), kernel.OnEndID(task)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	return failed, waiting
}

// Tasks are listed by filter and page, on each engine, for people and for programs.
func TestTasksAreListedAndShown(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed, waiting := world(t, url)
			at := func(args ...string) []string { return append(args, "--store", url) }
			for _, c := range []struct {
				args []string
				want int
			}{
				{[]string{}, 16},
				{[]string{"--state", "failed"}, 5},
				{[]string{"--state", "failed", "--state", "ready"}, 10},
				{[]string{"--kind", "ok"}, 1},
				{[]string{"--queue", "nobody"}, 5},
				{[]string{"--label", "n=3"}, 1},
				{[]string{"--parent", failed[0].String()}, 1},
				{[]string{"--since", "1h"}, 16},
				{[]string{"--until", "1h"}, 0},
				{[]string{"--limit", "3"}, 3},
				{[]string{"--limit", "3", "--all"}, 16},
			} {
				got := lines[taskView](t, ask(t, at(append([]string{"tasks", "--json"}, c.args...)...)...))
				if len(got) != c.want {
					t.Errorf("tasks %v = %d, want %d", c.args, len(got), c.want)
				}
			}
			table := ask(t, at("tasks", "--state", "failed", "--oldest")...)
			if !strings.Contains(table, failed[0].String()) || !strings.Contains(table, "short and stout�[31m") || strings.Contains(table, "\x1b") {
				t.Errorf("the table is %q", table)
			}
			if ids := ask(t, at("tasks", "--queue", "nobody", "--ids", "--oldest")...); strings.Count(ids, "\n") != 5 || !strings.HasPrefix(ids, waiting[0].String()) {
				t.Errorf("the ids are %q", ids)
			}
			checkShow(t, at, failed[0])
			if out := ask(t, at("fsck")...); !strings.HasPrefix(out, "nothing was found") {
				t.Errorf("fsck = %q", out)
			}
		})
	}
}

func checkShow(t *testing.T, at func(...string) []string, id store.ID) {
	t.Helper()
	text := ask(t, at("show", id.String())...)
	for _, want := range []string{"bad", "failed", "queue default", "teapot: short and stout", `{"n":0}`, "claimed", "tester:", "ended", "follow-ups", "after", "1 of 25 failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("show does not say %q:\n%s", want, text)
		}
	}
	s := lines[struct {
		State   string
		Args    struct{ N int }
		History []eventView
		Follows []followed
	}](t, ask(t, at("show", "--json", id.String())...))
	if len(s) != 1 || s[0].State != "failed" || len(s[0].History) != 2 || len(s[0].Follows) != 1 || s[0].Follows[0].Kind != "after" {
		t.Errorf("show --json = %+v", s)
	}
	refused(t, cli.Failed, at("show", store.DeriveID("none").String())...)
	refused(t, cli.Misuse, at("show", "this-is-no-id")...)
	var out, errs bytes.Buffer
	if code := run(t.Context(), at("show", "--wait", id.String()), &out, &errs); code != cli.Failed || errs.Len() > 0 {
		t.Errorf("show --wait of a failed task = %d, %q, want 1 and no complaint", code, errs.String())
	}
}

// What a filter picks is counted first, and nothing is done that nobody has confirmed.
func TestBulkVerbs(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	failed, waiting := world(t, url)
	at := func(args ...string) []string { return append(args, "--store", url) }
	count := func(state string) int {
		return len(lines[taskView](t, ask(t, at("tasks", "--json", "--state", state)...)))
	}
	if out := ask(t, at("retry", "--kind", "bad", "--dry-run")...); out != "5 tasks would be retried\n" || count("failed") != 5 {
		t.Errorf("a dry run = %q, and %d are failed", out, count("failed"))
	}
	if text := refused(t, cli.Misuse, at("retry", "--kind", "bad")...); !strings.Contains(text, "--yes") || count("failed") != 5 {
		t.Errorf("without --yes it says %q, and %d are failed", text, count("failed"))
	}
	if out := ask(t, at("retry", failed[0].String())...); out != "1 tasks were retried\n" || count("failed") != 4 {
		t.Errorf("retry = %q, and %d are failed", out, count("failed"))
	}
	if text := refused(t, cli.Failed, at("retry", failed[0].String(), failed[1].String())...); !strings.Contains(text, "1 of 2 tasks were retried") || count("failed") != 3 {
		t.Errorf("retry of one that is ready = %q, and %d are failed", text, count("failed"))
	}
	var r bulkReport
	if err := json.Unmarshal([]byte(ask(t, at("retry", "--state", "failed", "--yes", "--json")...)), &r); err != nil || r.Done != 3 || r.Matched != 3 {
		t.Errorf("retry by filter = %+v, %v", r, err)
	}
	ask(t, at("cancel", "--queue", "nobody", "--yes", "--reason", "not needed")...)
	if got := lines[taskView](t, ask(t, at("tasks", "--json", "--state", "cancelled")...)); len(got) != 5 || got[0].Reason != "not needed" {
		t.Errorf("after cancel: %+v", got)
	}
	refused(t, cli.Misuse, at("delete", "--queue", "nobody", "--yes")...)
	ask(t, at("delete", "--queue", "nobody", "--state", "cancelled", "--yes")...)
	if n := count("cancelled"); n != 0 {
		t.Errorf("%d are left after delete", n)
	}
	refused(t, cli.Failed, at("cancel", waiting[0].String())...)
	refused(t, cli.Misuse, at("cancel")...)
	refused(t, cli.Misuse, at("cancel", "--kind", "x", waiting[0].String())...)
	refused(t, cli.Failed, at("free", failed[0].String())...)
}

// Somebody who says no is obeyed.
func TestBulkAsks(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	world(t, url)
	for _, c := range []struct {
		answer string
		code   int
	}{{"n\n", cli.Failed}, {"", cli.Failed}, {"y\n", cli.OK}} {
		var out, errs bytes.Buffer
		w := cli.Plain(&out, &errs)
		w.Terminal, w.In = true, strings.NewReader(c.answer)
		code := runIn(t.Context(), []string{"cancel", "--kind", "wait", "--store", url}, w)
		if code != c.code || !strings.HasPrefix(errs.String(), "Cancel 5 tasks? [y/N]") {
			t.Errorf("after %q = %d, want %d: %s%s", c.answer, code, c.code, out.String(), errs.String())
		}
	}
}

func TestAStoreThatIsNotThereIsNotMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "typo.db")
	for _, verb := range []string{"tasks", "queues", "workers", "fsck"} {
		if text := refused(t, cli.Failed, verb, "--store", "sqlite:"+path); !strings.Contains(text, "there is no store at") || !strings.Contains(text, "outlast migrate") {
			t.Errorf("%s says %q", verb, text)
		}
	}
	if found, err := filepath.Glob(path + "*"); err != nil || len(found) > 0 {
		t.Errorf("it was made: %v, %v", found, err)
	}
	refused(t, cli.Misuse, "tasks", "--store", "memory:")
	refused(t, cli.Failed, "tasks", "--store", "nowhere")
	if text := refused(t, cli.Failed, "tasks", "--store", "postgres://ann:geheim@127.0.0.1:1/x"); strings.Contains(text, "geheim") {
		t.Errorf("the password is told: %s", text)
	}
	if text := refused(t, cli.Failed, "tasks", "--store", "http://ann:geheim@127.0.0.1:7070"); strings.Contains(text, "geheim") || !strings.Contains(text, "daemon") {
		t.Errorf("of a daemon it says: %s", text)
	}
}

// Without --store the user's data folder is meant, which is made by what makes a store.
func TestTheUsersOwnStore(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, c := range []struct{ data, want string }{
		{"", filepath.Join(home, ".local", "share", "outlast", "outlast.db")},
		{filepath.Join(home, "xdg"), filepath.Join(home, "xdg", "outlast", "outlast.db")},
	} {
		var out, errs bytes.Buffer
		w := cli.Plain(&out, &errs)
		w.Getenv = func(name string) string { return map[string]string{"HOME": home, "XDG_DATA_HOME": c.data}[name] }
		if code := runIn(t.Context(), []string{"queues"}, w); code != cli.Failed || !strings.Contains(errs.String(), c.want) {
			t.Errorf("before = %d, %s", code, errs.String())
		}
		for _, want := range []string{"made, with schema", "already"} {
			if code := runIn(t.Context(), []string{"migrate"}, w); code != cli.OK || !strings.Contains(out.String(), want) {
				t.Errorf("migrate = %d, %s%s, want %s", code, out.String(), errs.String(), want)
			}
		}
	}
}
