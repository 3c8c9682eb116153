//go:build race

package postgres_test

// quick divides the big cases: races show in the small ones.
const quick = 25
