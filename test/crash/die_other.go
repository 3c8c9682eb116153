//go:build !unix

package crash

import (
	"errors"
	"os"
)

// die ends this process at once, without anything deferred.
func die() { os.Exit(137) }

var errNoStop = errors.New("processes cannot be stopped on this system: leave --stops out")

func stop(*os.Process) error { return errNoStop }

func goOn(*os.Process) error { return errNoStop }
