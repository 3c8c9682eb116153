package web_test

import (
	"fmt"
	"testing"

	"github.com/outlast-go/outlast/web"
)

// loaded is how many tasks stand in the store while pages are looked at.
const loaded = 100_000

// places are the pages of a world, by the name of their picture.
func (w *world) places() []place {
	return []place{
		{"overview", "/"},
		{"tasks", "/tasks"},
		{"failed", "/tasks?state=failed"},
		{"queues", "/queues"},
		{"queue", "/queue/exports"},
		{"workers", "/workers"},
		{"dead", "/dead"},
		{"task", "/task/" + w.slow.String()},
		{"task-failed", "/task/" + w.dead.String()},
		{"sagas", "/sagas"},
		{"saga", "/saga/" + w.open.String()},
		{"saga-stuck", "/saga/" + w.stuck.String()},
		{"saga-done", "/saga/" + w.done.String()},
		{"batches", "/batches"},
		{"batch", "/batch/" + w.batch.String()},
		{"calls", "/calls"},
		{"endpoints", "/endpoints"},
		{"schedules", "/schedules"},
	}
}

type place struct{ name, where string }

// look is how a page is looked at.
type look struct {
	name          string
	width, height int64
	dark          bool
}

var looks = []look{{"light", 1280, 860, false}, {"dark", 1280, 860, true}, {"narrow", 390, 844, false}}

// Every page, in light and dark, wide and as a phone has it, with a hundred thousand tasks in the store.
func TestEveryPage(t *testing.T) {
	newWorld(t, engines[0], storedTasks(t, loaded), web.Config{}).everyPage(t, looks...)
}

// Every page on the other engines.
func TestEveryPageElsewhere(t *testing.T) {
	for _, e := range engines[1:] {
		t.Run(e.name, func(t *testing.T) {
			newWorld(t, e, storedTasks(t, 3_000), web.Config{}).everyPage(t, look{"", 1280, 860, false})
		})
	}
}

func (w *world) everyPage(t *testing.T, looks ...look) {
	b := openBrowser(t)
	for _, l := range looks {
		b.setLook(l.width, l.height, l.dark)
		for _, p := range w.places() {
			where := fmt.Sprintf("%s %s", l.name, p.where)
			b.open(w.url + p.where)
			if title := eval[string](b, `document.querySelector("h1")?.textContent ?? ""`); title == "" {
				t.Errorf("%s: has no heading; it says\n%s", where, b.says())
			}
			if over := eval[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
				t.Errorf("%s: is %d px too wide: %v", where, over, eval[[]string](b, tooWide))
			}
			for _, problem := range append(eval[[]string](b, accessible), b.axe()...) {
				t.Errorf("%s: %s", where, problem)
			}
			b.quiet(where)
			if l.name != "" {
				b.shoot(p.name + "-" + l.name)
			}
		}
	}
}

// tooWide names what makes a page too wide.
const tooWide = `[...document.querySelectorAll("main *, header *, nav *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.parentElement.closest(".scroll, .menu, pre")).slice(0, 5).map((e) => e.tagName + "." + e.className)`
