package kernel

import (
	"cmp"
	"maps"
	"slices"
)

// queue is what waits to go in a batch, each under a name. What is taken out of it comes in the order it was put in; but where more waits than is taken,
// those of which there are few do not wait for those of which there are many.
type queue[T comparable] struct {
	lines map[string][]queued[T] // none is empty
	size  int
	count int // of all that were ever put in
}

type queued[T comparable] struct {
	number int
	what   T
}

func (q *queue[T]) len() int { return q.size }

func (q *queue[T]) push(name string, what T) {
	if q.lines == nil {
		q.lines = map[string][]queued[T]{}
	}
	q.lines[name] = append(q.lines[name], queued[T]{q.count, what})
	q.count++
	q.size++
}

// take takes n of those that wait, which must be there.
func (q *queue[T]) take(n int) []T {
	var batch []queued[T]
	for name, m := range q.shares(n) {
		batch = append(batch, q.lines[name][:m]...)
		q.keep(name, q.lines[name][m:])
	}
	q.size -= n
	slices.SortFunc(batch, func(a, b queued[T]) int { return a.number - b.number })
	list := make([]T, n)
	for i := range batch {
		list[i] = batch[i].what
	}
	return list
}

// drop takes one out, if it still waits.
func (q *queue[T]) drop(name string, what T) {
	line := q.lines[name]
	if i := slices.IndexFunc(line, func(one queued[T]) bool { return one.what == what }); i >= 0 {
		q.keep(name, slices.Delete(line, i, i+1))
		q.size--
	}
}

func (q *queue[T]) keep(name string, line []queued[T]) {
	if len(line) == 0 {
		delete(q.lines, name)
	} else {
		q.lines[name] = line
	}
}

// shares deals n out among those who wait: the same to each name, and what some do not need to the others.
func (q *queue[T]) shares(n int) map[string]int {
	names := slices.SortedFunc(maps.Keys(q.lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(q.lines[a]), len(q.lines[b])), cmp.Compare(a, b))
	})
	share := make(map[string]int, len(names))
	for i, name := range names {
		share[name] = min(len(q.lines[name]), n/(len(names)-i))
		n -= share[name]
	}
	return share
}
