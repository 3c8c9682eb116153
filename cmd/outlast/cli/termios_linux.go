package cli

import "golang.org/x/sys/unix"

// How the modes of a terminal are read and set.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
