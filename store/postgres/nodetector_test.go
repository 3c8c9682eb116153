//go:build !race

package postgres_test

// quick divides the big cases.
const quick = 10
