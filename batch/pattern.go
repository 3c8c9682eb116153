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

// matchParts goes through the name once, and back to the last ** alone: an earlier one could give it nothing that the last cannot.
func matchParts(pattern, name []string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == "**" {
			star, from = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if ok, _ := path.Match(pattern[p], name[n]); ok {
				p, n = p+1, n+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}
