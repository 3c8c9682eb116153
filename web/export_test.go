package web

import (
	"maps"
	"slices"
)

// Verbs lists everything that can be done, and whether it is asked for before.
func Verbs() (names []string, asked map[string]bool) {
	asked = map[string]bool{}
	for name, v := range verbs {
		asked[name] = v.ask != nil
	}
	return slices.Sorted(maps.Keys(verbs)), asked
}
