package web_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// axeSource reads axe-core, which make axe fetches; empty: only the check of our own looks.
var axeSource = sync.OnceValues(func() (string, error) {
	path := os.Getenv("OUTLAST_AXE")
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path) //nolint:gosec // who runs the tests names it
	return string(data), err
})

// axeRun lists what axe-core finds wrong, all of its rules taken, those of good practice as well.
const axeRun = `axe.run(document, {resultTypes: ["violations"], rules: {"target-size": {enabled: true}}}).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => "axe " + v.id + " (" + v.impact + "): " + n.html.slice(0, 140) + " " + (n.any.concat(n.all)[0]?.message ?? ""))))`

// axe lets axe-core look at the page, if it is there.
func (b *browser) axe() []string {
	b.t.Helper()
	source, err := axeSource()
	if err != nil {
		b.t.Fatal(err)
	}
	if source == "" {
		return nil
	}
	eval[bool](b, source+"; typeof axe === 'object'")
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	list, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("axe: %v", err)
	}
	return list
}

// axe-core must be able to see: what is wrong with a page is found.
func TestAxeSees(t *testing.T) {
	source, err := axeSource()
	if err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t)
	b.run(chromedp.Navigate("data:text/html,<html><body><main><img src=x><input></main></body></html>"))
	found := b.axe()
	if source != "" && len(found) < 3 {
		t.Errorf("axe finds %q, want no title, no alt and no label among it", found)
	}
}
