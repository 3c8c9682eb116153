//go:build !linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

func runApart(context.Context) (ran bool, code int) { return false, 0 }

// disk is where the store of a trial is: a plain folder, which is never full.
type disk struct {
	dir   string
	image bool
}

func newDisk(_ context.Context, dir string) *disk {
	d := &disk{dir: filepath.Join(dir, "disk")}
	_ = os.MkdirAll(d.dir, 0o700) // opening the store tells
	return d
}

var errNoDisk = errors.New("the disk cannot be filled on this system")

func (*disk) fill() error { return errNoDisk }

func (*disk) free() error { return errNoDisk }

func (*disk) close(context.Context) {}
