//go:build cgo

package side

import _ "github.com/mattn/go-sqlite3" // SQLite in C, which backlite's own example uses

const (
	backliteDriver = "sqlite3"
	backliteSource = "%s?_journal=WAL&_timeout=5000&_fk=true&_txlock=immediate&_sync=FULL"
	// BackliteOn says which SQLite backlite runs on.
	BackliteOn = "mattn, C"
)
