package mutant_test

import (
	"path/filepath"
	"testing"

	"github.com/outlast-go/outlast/test/mutant"
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatalf("Abs = %v", err)
	}
	return dir
}

// Each mutant fits the tree as it is now: none is proved by an edit that no longer applies.
func TestEveryMutantFitsTheTree(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mutant.All() {
		if names[m.Name] {
			t.Errorf("two mutants are called %s", m.Name)
		}
		names[m.Name] = true
		if _, err := m.Plant(root(t), t.TempDir()); err != nil {
			t.Errorf("Plant = %v", err)
		}
	}
	if len(names) < 16 {
		t.Errorf("%d mutants, want at least 16", len(names))
	}
}

func TestAnEditThatDoesNotFitIsAnError(t *testing.T) {
	t.Parallel()
	m := mutant.Mutant{Name: "misfit", Edits: []mutant.Edit{{File: "go.mod", Old: "no such text", New: ""}}}
	if _, err := m.Plant(root(t), t.TempDir()); err == nil {
		t.Error("Plant = nil, want an error")
	}
}

// The short form of make prove: one bug in the store and one in the kernel.
func TestPlantedBugsAreFound(t *testing.T) {
	t.Parallel()
	for _, m := range mutant.All() {
		if m.Name != "fence-not-compared" && m.Name != "release-lost" {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			found, err := mutant.Prove(t.Context(), root(t), &m, false)
			if err != nil || len(found) == 0 {
				t.Errorf("Prove = %v, %v; want it found", found, err)
			}
		})
	}
}
