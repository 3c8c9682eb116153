// Package failpoint names places in the code at which a test may end the process. In production nothing is set, and a place costs
// one look at a pointer.
package failpoint

import "sync/atomic"

var set atomic.Pointer[func(name string)]

// Set says what happens at every place from now on; nil: nothing. It is for tests, and for the whole process.
func Set(fn func(name string)) {
	if fn == nil {
		set.Store(nil)
		return
	}
	set.Store(&fn)
}

// Hit says that the process has come to a place.
func Hit(name string) {
	if fn := set.Load(); fn != nil {
		(*fn)(name)
	}
}
