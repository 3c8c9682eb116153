//go:build !race

package redis_test

// quick divides the big cases.
const quick = 1
