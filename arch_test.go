package outlast_test

import (
	"os"
	"testing"

	"github.com/outlast-go/outlast/internal/arch"
)

// TestTheTreeKeepsItsShape holds every Go file of the module against the rules of internal/arch.
func TestTheTreeKeepsItsShape(t *testing.T) {
	t.Parallel()
	tree, err := arch.Load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) == 0 {
		t.Fatal("found no Go files: the test must run at the root of the module")
	}
	for _, f := range tree.Check() {
		t.Error(f)
	}
}
