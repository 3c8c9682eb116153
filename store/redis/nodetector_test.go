//go:build !race

package redis_test

// quick divides the big cases: one script at a time fills a store.
const quick = 4
