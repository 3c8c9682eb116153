// Package mutant shows that the suites find bugs: it plants one at a time, as a small edit that is laid over the tree for one
// build and never stands in it, and runs the suites until one fails. What is not found is a hole in the suites.
package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is one planted bug.
type Mutant struct {
	Name  string
	What  string // what goes wrong in it, in one line
	Edits []Edit
}

// Edit replaces one piece of a file. The piece must stand there exactly once: a mutant that no longer fits the tree is an error,
// and not one that was found.
type Edit struct {
	File     string // from the root of the module
	Old, New string
}

// Plant writes the edited files below dir and returns the path of the overlay for the go command. root is the module's folder.
func (m *Mutant) Plant(root, dir string) (string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		text, ok := texts[e.File]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return "", fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("mutant %s: %q stands %d times in %s, want once", m.Name, e.Old, n, e.File)
		}
		texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range texts {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		overlay.Replace[filepath.Join(root, file)] = to
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return path, nil
}
