package api

import (
	"sync"
	"time"
)

// limiter bounds how many requests somebody makes: a bucket that fills at a rate, and holds twice as many as come in a second.
type limiter struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]bucket
}

type bucket struct {
	left float64
	at   time.Time
}

// manyBuckets is when those are forgotten that are full again: names come from outside, and must not fill the memory.
const manyBuckets = 10_000

func newLimiter() *limiter {
	return &limiter{now: time.Now, buckets: map[string]bucket{}}
}

// allow takes one from the bucket of a name, if there is one left. A rate of 0 is no bound.
func (l *limiter) allow(name string, rate float64) bool {
	if rate <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, most := l.now(), max(2*rate, 1)
	b, known := l.buckets[name]
	if !known {
		l.sweep(now)
		b = bucket{left: most, at: now}
	}
	b.left = min(most, b.left+rate*now.Sub(b.at).Seconds())
	b.at = now
	ok := b.left >= 1
	if ok {
		b.left--
	}
	l.buckets[name] = b
	return ok
}

// sweep makes room. l.mu is held.
func (l *limiter) sweep(now time.Time) {
	if len(l.buckets) < manyBuckets {
		return
	}
	for name, b := range l.buckets {
		if now.Sub(b.at) > 2*time.Second {
			delete(l.buckets, name)
		}
	}
	if len(l.buckets) >= manyBuckets {
		clear(l.buckets)
	}
}
