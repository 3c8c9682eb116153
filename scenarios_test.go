package outlast_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	scenarioID   = regexp.MustCompile(`\b(?:FT-\d+|X-\d+|R00\d-\d+|D-\d|PH-\d+|AL-\d+|AE-\d+|RR-[A-Z]*-?\d+)\b`)
	namedTest    = regexp.MustCompile("`([a-z/]+)\\.(Test\\w+)`")
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)`)
)

// A scenario that a test claims to show is in the list, and a test that the list names is there.
func TestTheListOfScenariosIsTrue(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			tests[filepath.ToSlash(filepath.Dir(path))+"."+string(m[1])] = true
		}
		for _, line := range strings.Split(string(text), "\n") {
			_, comment, _ := strings.Cut(line, "// ")
			for _, id := range scenarioID.FindAllString(comment, -1) {
				if !strings.Contains(string(list), "| "+id+" |") {
					t.Errorf("%s names %s, which docs/scenarios.md does not list", path, id)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range namedTest.FindAllStringSubmatch(string(list), -1) {
		if !tests[m[1]+"."+m[2]] {
			t.Errorf("docs/scenarios.md names %s in %s, which is not there", m[2], m[1])
		}
	}
}
