//go:build !cgo

package side

import _ "modernc.org/sqlite" // SQLite in Go, for machines without a C compiler

const (
	backliteDriver = "sqlite"
	backliteSource = "file:%s?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_txlock=immediate&_pragma=synchronous(FULL)"
	// BackliteOn says which SQLite backlite runs on.
	BackliteOn = "modernc, Go"
)
