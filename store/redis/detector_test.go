//go:build race

package redis_test

// quick divides the big cases: the race detector slows them down.
const quick = 20
