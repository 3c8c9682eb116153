package batch

import (
	"fmt"
	"path"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// checkPattern says what is wrong with a pattern.
func checkPattern(pattern string) error {
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		if _, err := path.Match(part, ""); err != nil || part == "" {
			return fmt.Errorf("%w: %q is no pattern for files; write *.csv, in/*.csv or **/x-*.jsonl", kernel.ErrInvalid, pattern)
		}
	}
	return nil
}

// matchPath reports whether a path with slashes matches a pattern: one without a slash by the name alone.
func matchPath(pattern, name string) bool {
	if !strings.Contains(pattern, "/") && pattern != "**" {
		ok, _ := path.Match(pattern, path.Base(name))
		return ok
	}
	return matchParts(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), strings.Split(name, "/"))
}

func matchParts(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		for skip := 0; skip <= len(name); skip++ {
			if matchParts(pattern[1:], name[skip:]) {
				return true
			}
		}
		return false
	}
	if len(name) == 0 {
		return false
	}
	ok, _ := path.Match(pattern[0], name[0])
	return ok && matchParts(pattern[1:], name[1:])
}
