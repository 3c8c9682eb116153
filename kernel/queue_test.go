package kernel

import (
	"slices"
	"testing"
)

// Who is one of few does not wait for those who are many; all that go together go in the order they came.
func TestAQueueDealsOutByNames(t *testing.T) {
	t.Parallel()
	var q queue[int]
	for i := range 10 {
		q.push("many", i)
	}
	q.push("few", 10)
	q.push("some", 11)
	q.push("many", 12)
	q.push("some", 13)
	q.drop("many", 1)
	q.drop("many", 11) // it waits under another name
	q.drop("none", 2)
	for _, want := range [][]int{{0, 2, 10, 11}, {3, 4, 5, 13}, {6}, {7, 8, 9, 12}} {
		if got := q.take(len(want)); !slices.Equal(got, want) {
			t.Fatalf("%v were taken, want %v", got, want)
		}
	}
	if q.len() != 0 || len(q.lines) != 0 {
		t.Errorf("%d wait in %d lines, want none", q.len(), len(q.lines))
	}
	q.push("many", 14)
	if got := q.take(1); !slices.Equal(got, []int{14}) {
		t.Errorf("%v were taken, want the one that came last", got)
	}
}
