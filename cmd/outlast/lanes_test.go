package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// What governs claims, the fleet, schedules and groups can be seen and changed on each engine.
func TestLanesFleetSchedulesAndGroups(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world(t, url)
			at := func(args ...string) []string { return append(args, "--store", url) }
			checkLanes(t, at)
			checkLimits(t, at)
			checkSchedules(t, at, url)
			checkGroups(t, at, url)
			if out := ask(t, at("stats")...); !strings.Contains(out, "bad") || !strings.Contains(out, "SUBMITTED") {
				t.Errorf("stats = %q", out)
			}
			if got := lines[statView](t, ask(t, at("stats", "--json", "--minutes")...)); len(got) < 4 || got[0].At.IsZero() {
				t.Errorf("stats --json --minutes = %+v", got)
			}
			if got := lines[workerView](t, ask(t, at("workers", "--json")...)); len(got) != 0 && (got[0].State != "left" || !strings.HasPrefix(got[0].ID, "tester:")) {
				t.Errorf("workers = %+v", got)
			}
		})
	}
}

func checkLanes(t *testing.T, at func(...string) []string) {
	t.Helper()
	ask(t, at("pause", "nobody", "--reason", "deploy", "--for", "1h")...)
	ask(t, at("pause", "--kind", "wait", "--lane", "l")...)
	if out := ask(t, at("pauses")...); !strings.Contains(out, "queue nobody") || !strings.Contains(out, "kind wait, lane l") || !strings.Contains(out, "deploy") {
		t.Errorf("pauses = %q", out)
	}
	if out := ask(t, at("queues")...); !strings.Contains(out, "nobody") || !strings.Contains(out, "paused") {
		t.Errorf("queues = %q", out)
	}
	if got := lines[struct {
		Lane    string
		Ready   int
		Blocked string
	}](t, ask(t, at("lanes", "nobody", "--json")...)); len(got) != 1 || got[0].Lane != "l" || got[0].Ready != 5 || got[0].Blocked != "paused" {
		t.Errorf("lanes = %+v", got)
	}
	if text := refused(t, cli.Failed, at("resume", "--lane", "l")...); !strings.Contains(text, "outlast pauses") {
		t.Errorf("resume of what was not paused says %q", text)
	}
	ask(t, at("resume", "nobody")...)
	ask(t, at("resume", "--kind", "wait", "--lane", "l")...)
	if out := ask(t, at("pauses")...); out != "nothing is paused\n" {
		t.Errorf("pauses = %q", out)
	}
	refused(t, cli.Misuse, at("pause")...)
	refused(t, cli.Misuse, at("pause", "a", "--queue", "b")...)
	refused(t, cli.Misuse, at("pause", "a", "--everything")...)
}

func checkLimits(t *testing.T, at func(...string) []string) {
	t.Helper()
	ask(t, at("limits", "set", "host", "--running", "3", "--rate", "10/1s", "--rate", "100/1m+20")...)
	got := lines[limitView](t, ask(t, at("limits", "--json")...))
	if want := `[{host 3 [{10 1 0} {100 60 20}] 0 0}]`; fmt.Sprint(got) != want {
		t.Errorf("limits = %v, want %s", got, want)
	}
	if out := ask(t, at("limits")...); !strings.Contains(out, "10/1s 100/1m0s+20") {
		t.Errorf("limits = %q", out)
	}
	ask(t, at("limits", "remove", "host")...)
	refused(t, cli.Failed, at("limits", "remove", "host")...)
	refused(t, cli.Misuse, at("limits", "set", "host")...)
	refused(t, cli.Misuse, at("limits", "set", "host", "--rate", "many")...)
}

func checkSchedules(t *testing.T, at func(...string) []string, url string) {
	t.Helper()
	k, _ := planted(t, url, kernel.Config{})
	if _, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: "nightly", Rule: "every 24h", Task: kernel.Spec{Kind: "x", Args: []byte("a")}}); err != nil {
		t.Fatal(err)
	}
	ask(t, at("schedules", "pause", "nightly")...)
	if got := lines[scheduleView](t, ask(t, at("schedules", "--json")...)); len(got) != 1 || !got[0].Paused || got[0].Kind != "x" {
		t.Errorf("schedules = %+v", got)
	}
	if out := ask(t, at("schedules")...); !strings.Contains(out, "paused") {
		t.Errorf("schedules = %q", out)
	}
	ask(t, at("schedules", "resume", "nightly")...)
	if got := lines[scheduleView](t, ask(t, at("schedules", "--json")...)); len(got) != 1 || got[0].Paused {
		t.Errorf("schedules = %+v", got)
	}
	refused(t, cli.Misuse, at("schedules", "delete", "nightly")...)
	ask(t, at("schedules", "delete", "nightly", "--yes")...)
	if text := refused(t, cli.Failed, at("schedules", "pause", "nightly")...); !strings.Contains(text, "there is no schedule") {
		t.Errorf("pause of none says %q", text)
	}
}

func checkGroups(t *testing.T, at func(...string) []string, url string) {
	t.Helper()
	k, _ := planted(t, url, kernel.Config{})
	id, _, err := k.SubmitGroup(t.Context(), kernel.NewGroup{Name: "import", Hold: true, Seal: true}, []kernel.Spec{{Kind: "m", Queue: "nobody"}, {Kind: "m", Queue: "nobody"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := lines[groupView](t, ask(t, at("groups", "--live", "--json")...)); len(got) != 1 || got[0].State != store.GroupHeld || got[0].Live != 2 {
		t.Errorf("groups = %+v", got)
	}
	ask(t, at("groups", "release", id.String())...)
	if out := ask(t, at("groups", "show", id.String())...); !strings.Contains(out, "open") || !strings.Contains(out, "import") {
		t.Errorf("groups show = %q", out)
	}
	refused(t, cli.Misuse, at("groups", "abort", id.String())...)
	var g groupView
	if err := json.Unmarshal([]byte(ask(t, at("groups", "abort", id.String(), "--yes", "--reason", "wrong file", "--json")...)), &g); err != nil || g.Aborting != "wrong file" {
		t.Errorf("groups abort = %+v, %v", g, err)
	}
	if got := lines[taskView](t, ask(t, at("tasks", "--group", id.String(), "--json")...)); len(got) != 2 {
		t.Errorf("members = %+v", got)
	}
}

// The doctor finds what is wrong, and says what to do.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out := ask(t, "migrate", "--store", url); !strings.Contains(out, "made, with schema") {
				t.Errorf("migrate = %q", out)
			}
			out := ask(t, "doctor", "--store", url)
			for _, want := range []string{"ok   store", "ok   settings", "ok   clock", "answers in", "0 alive"} {
				if !strings.Contains(out, want) {
					t.Errorf("doctor does not say %q:\n%s", want, out)
				}
			}
			k, _ := planted(t, url, kernel.Config{})
			if _, err := k.Submit(t.Context(), kernel.Spec{Kind: "x", Queue: "lonely"}); err != nil {
				t.Fatal(err)
			}
			text := refused(t, cli.Failed, "doctor", "--store", url)
			if !strings.Contains(text, "one thing is wrong") {
				t.Errorf("a queue that nobody serves: %q", text)
			}
			ask(t, "pause", "lonely", "--store", url)
			for _, d := range lines[diagnosis](t, ask(t, "doctor", "--store", url, "--json")) {
				if d.Check == "queues" && (d.Verdict != worth || d.Fix != "outlast resume lonely") {
					t.Errorf("a paused queue: %+v", d)
				}
			}
		})
	}
	refused(t, cli.Failed, "doctor", "--store", "redis://127.0.0.1:1")
}
