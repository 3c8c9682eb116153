package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/web"
)

// press clicks the first button of the page, or of the dialog if there is one, that says so.
func (b *browser) press(label string) {
	b.t.Helper()
	b.until("there is a button "+label, buttonNamed(label))
	eval[bool](b, "("+buttonNamed(label)+".click(), true)")
}

func buttonNamed(label string) string {
	return fmt.Sprintf(`[...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button, a.button")].find((e) => e.textContent.trim() === %q)`, label)
}

// shows waits until the page says something.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("the page says %q", text), fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
}

func (w *world) state(t *testing.T, id kernel.ID) kernel.TaskState {
	t.Helper()
	task, err := w.k.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return task.State
}

func (w *world) submit(t *testing.T, s kernel.Spec) kernel.ID {
	t.Helper()
	got, err := w.k.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return got.ID
}

// What people do with a mouse: watch, cancel and take it back, retry one and many, signal a saga, resolve one that is stuck.
func TestActions(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) { newWorld(t, e, 2_000, web.Config{Every: 200 * time.Millisecond}).actions(t) })
	}
}

func (w *world) actions(t *testing.T) {
	b := openBrowser(t)

	t.Run("live", func(t *testing.T) { w.live(t, b) })
	t.Run("cancel and undo", func(t *testing.T) { w.cancelAndUndo(t, b) })
	t.Run("retry", func(t *testing.T) {
		b.open(w.url + "/task/" + w.dead.String())
		b.press("Retry")
		b.shows("Retry 1 task?")
		b.press("Retry")
		b.shows("1 task was retried.")
		b.until("it has failed again, by itself", `document.body.innerText.includes("Retried by hand") && document.querySelector("h1 .s-failed")`)
		if task, err := w.k.Get(t.Context(), w.dead); err != nil || task.Round != 1 {
			t.Errorf("the task is in round %d, %v, want 1", task.Round, err)
		}
		b.quiet("retry")
	})
	t.Run("bulk retry", func(t *testing.T) { w.bulkRetry(t, b) })
	t.Run("signal", func(t *testing.T) { w.signal(t, b) })
	t.Run("resolve", func(t *testing.T) {
		b.open(w.url + "/saga/" + w.stuck.String())
		b.press("Resolve")
		b.shows("Was it put right by hand?")
		b.press("Yes, it is resolved")
		b.until("it has failed, rolled back", `document.querySelector("h1 .state").textContent === "failed"`)
		b.quiet("resolve")
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.audit); n < 6 || w.audit[0].Who != "ann" {
		t.Errorf("the audit has %d lines, want one for each action", n)
	}
}

func (w *world) live(t *testing.T, b *browser) {
	b.open(w.url + "/task/" + w.dead.String())
	b.until("the page listens", `document.getElementById("live").textContent === "live"`)
	if err := w.k.Delete(t.Context(), w.submitAndEnd(t)); err != nil { // something else happens
		t.Fatal(err)
	}
	b.open(w.url + "/tasks")
	b.until("the page listens", `document.getElementById("live").textContent === "live"`)
	eval[bool](b, `(window.__same = true)`)
	id := w.submit(t, kernel.Spec{Kind: "job.late", Queue: "exports"})
	b.until("the new task is there", fmt.Sprintf(`document.querySelector('a[href$=%q]')`, id.String()))
	if !eval[bool](b, `window.__same === true`) {
		t.Error("the page was loaded anew")
	}
	b.quiet("live")
}

func (w *world) cancelAndUndo(t *testing.T, b *browser) {
	id := w.submit(t, kernel.Spec{Kind: "job.export", Queue: "exports"})
	b.open(w.url + "/task/" + id.String())
	b.press("Cancel")
	b.shows("Cancel 1 task?")
	if got := w.state(t, id); got != "ready" {
		t.Errorf("before the answer the task is %s, want ready", got)
	}
	b.press("Do nothing")
	b.until("the dialog is closed", `!document.querySelector("dialog[open]")`)
	b.press("Cancel")
	b.shows("Cancel 1 task?")
	b.press("Cancel")
	b.shows("1 task was cancelled")
	if got := w.state(t, id); got != "cancelled" {
		t.Errorf("the task is %s, want cancelled", got)
	}
	b.press("Undo")
	b.shows("1 task was retried.")
	if got := w.state(t, id); got != "ready" {
		t.Errorf("after the undo the task is %s, want ready", got)
	}
	b.quiet("cancel")
}

func (w *world) submitAndEnd(t *testing.T) kernel.ID {
	t.Helper()
	id := w.submit(t, kernel.Spec{Kind: "job.welcome"})
	if _, err := w.k.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return id
}

func (w *world) bulkRetry(t *testing.T, b *browser) {
	b.open(w.url + "/tasks?state=failed&kind=job.refund")
	eval[bool](b, `(document.querySelector("[data-all]").click(), true)`)
	b.shows("9 chosen:")
	b.press("Retry")
	b.shows("Retry 9 tasks?")
	b.press("Retry")
	b.shows("9 tasks were retried.")
	b.open(w.url + "/dead")
	b.until("there is a cause", `document.querySelector("td.acts button[aria-label*='job.refund']")`)
	eval[bool](b, `(document.querySelector("td.acts button[aria-label*='job.refund']").click(), true)`)
	b.shows("Retry all that failed of this cause?")
	b.press("Retry")
	b.shows("9 tasks were retried.")
	b.quiet("bulk retry")
}

func (w *world) signal(t *testing.T, b *browser) {
	b.open(w.url + "/saga/" + w.open.String())
	if got := eval[int](b, `document.querySelectorAll("svg.graph g").length`); got != 6 {
		t.Errorf("the graph has %d steps, want 6", got)
	}
	if got := eval[int](b, `document.querySelectorAll("svg.graph path.edge").length`); got != 7 {
		t.Errorf("the graph has %d edges, want 7", got)
	}
	b.press("Signal approve")
	b.shows("Send a signal")
	eval[bool](b, `(document.querySelector("dialog textarea").value = '{"by":"Ann"}', true)`)
	b.press("Send signal")
	b.until("the saga has completed, on the page", `document.querySelector("h1 .state").textContent === "completed"`)
	if got := eval[int](b, `document.querySelectorAll("svg.graph g.step-good").length`); got != 6 {
		t.Errorf("%d steps look done, want 6", got)
	}
	b.quiet("signal")
}

// All of it goes by keys alone.
func TestKeyboard(t *testing.T) {
	w := newWorld(t, engines[0], 200, web.Config{})
	b := openBrowser(t)
	id := w.submit(t, kernel.Spec{Kind: "job.export", Queue: "exports"})
	key := func(keys string) { b.run(chromedp.KeyEvent(keys)) }
	focus := func() string {
		return eval[string](b, `((e) => e.getAttribute("aria-label") || e.textContent.trim() || e.id)(document.activeElement)`)
	}
	b.open(w.url + "/")
	key(kb.Tab)
	if got := focus(); got != "Skip to content" {
		t.Errorf("the first stop is %q, want the way to the content", got)
	}
	key(kb.Enter)
	if got := eval[string](b, `location.hash`); got != "#main" {
		t.Errorf("skipping leads to %q", got)
	}
	key("/")
	if got := eval[string](b, `document.activeElement.id`); got != "q" {
		t.Fatalf("after a slash the focus is on %q, want the search", got)
	}
	key(id.String() + kb.Enter)
	b.shows("job.export")
	for range 60 {
		if key(kb.Tab); strings.HasPrefix(focus(), "Cancel task") {
			break
		}
	}
	if ring := eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`); ring != "solid" {
		t.Errorf("what has the focus does not look so: %s", ring)
	}
	key(kb.Enter)
	b.shows("Cancel 1 task?")
	if got := eval[string](b, `document.activeElement.name`); got != "reason" {
		t.Errorf("in the dialog the focus is on %q, want the reason", got)
	}
	key(kb.Escape)
	b.until("escape closes the dialog", `!document.querySelector("dialog[open]")`)
	if got := focus(); !strings.HasPrefix(got, "Cancel task") {
		t.Errorf("after the dialog the focus is on %q, want where it was", got)
	}
	key(kb.Enter)
	b.shows("Cancel 1 task?")
	key("by keys" + kb.Enter)
	b.shows("1 task was cancelled")
	if task, err := w.k.Get(t.Context(), id); err != nil || task.State != "cancelled" || task.Reason != "by keys" {
		t.Errorf("the task is %s, reason %q, %v", task.State, task.Reason, err)
	}
	b.quiet("keyboard")
}
