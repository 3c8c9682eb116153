//go:build !race

package sqlite_test

// quick divides the big cases. It does not without the race detector.
const quick = 1
