package failpoint_test

import (
	"testing"

	"github.com/outlast-go/outlast/internal/failpoint"
)

func TestAPlaceIsToldOnlyWhileSomebodyListens(t *testing.T) {
	var hits []string
	failpoint.Hit("before")
	failpoint.Set(func(name string) { hits = append(hits, name) })
	failpoint.Hit("a")
	failpoint.Set(nil)
	failpoint.Hit("after")
	if len(hits) != 1 || hits[0] != "a" {
		t.Errorf("hits = %v, want [a]", hits)
	}
}
