package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/store"
)

// All parts are measured on each engine, nothing is left behind, and what is there is not touched.
func TestBenchMeasuresAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, waiting := world(t, url)
			var r benchReport
			if err := json.Unmarshal([]byte(ask(t, "bench", "--store", url, "--tasks", "200", "--seconds", "2", "--json")), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Parts) != 6 || r.Engine != name || r.Survives == "" || len(r.Settings) == 0 {
				t.Errorf("bench = %+v, want six parts, and what survives", r)
			}
			for _, p := range r.Parts {
				if p.Tasks == 0 || p.PerSec <= 0 && p.P50 <= 0 {
					t.Errorf("%s measured nothing: %+v", p.Name, p)
				}
			}
			if got := lines[taskView](t, ask(t, "tasks", "--store", url, "--json", "--queue", "nobody")); len(got) != len(waiting) {
				t.Errorf("%d tasks wait, want %d", len(got), len(waiting))
			}
			leftovers(t, name, url, r.Namespace)
		})
	}
}

// leftovers looks for what a bench should have removed.
func leftovers(t *testing.T, name, url, namespace string) {
	t.Helper()
	if name == "sqlite" {
		list, err := os.ReadDir(filepath.Dir(engine.Path(url)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if strings.HasPrefix(f.Name(), ".") {
				t.Errorf("%s is left behind", f.Name())
			}
		}
		return
	}
	// Opened again, the namespace is a new one.
	st, err := engine.Open(t.Context(), url, engine.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = st.Export(t.Context(), func(store.Entry) error {
		n++
		return nil
	})
	if err != nil || n > 0 {
		t.Errorf("the namespace %s has %d records, %v", namespace, n, err)
	}
	if err := st.(dropper).Drop(context.Background(), "another"); err == nil {
		t.Error("a namespace of another name was removed")
	}
	if err := st.(dropper).Drop(context.Background(), namespace); err != nil {
		t.Error(err)
	}
	_ = st.Close()
}
