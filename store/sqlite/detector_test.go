//go:build race

package sqlite_test

// quick divides the big cases: SQLite in Go under the race detector is slow, and races show in the small ones.
const quick = 25
