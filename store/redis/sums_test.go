package redis_test

import (
	"fmt"
	"testing"
	"time"
)

// What a step counts may be of more queues and kinds than one command takes.
func TestCountsOfManyKindsAreKept(t *testing.T) {
	s := mustOpen(t)
	list := specs(450)
	for i := range list {
		list[i].Kind, list[i].Queue = fmt.Sprint("kind", i), fmt.Sprint("queue", i)
	}
	mustSubmit(t, s, list)
	now, err := s.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	minutes, err := s.Stats(t.Context(), now.Add(-time.Hour), now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	submitted := 0
	for _, m := range minutes {
		submitted += int(m.Submitted)
	}
	if submitted != len(list) {
		t.Errorf("Stats = %d tasks submitted, want %d", submitted, len(list))
	}
	queues, err := s.Queues(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ready := 0
	for _, q := range queues {
		ready += int(q.Ready)
	}
	if len(queues) != len(list) || ready != len(list) {
		t.Errorf("Queues = %d with %d ready tasks, want %d of each", len(queues), ready, len(list))
	}
}
