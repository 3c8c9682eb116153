package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// diskSize is how large the disk of a trial may become; it takes only what is written.
const diskSize = 8 << 30

// apart marks the process that has mounts of its own.
const apart = "OUTLAST_CRASH_APART"

// runApart runs this program again with mounts of its own, which end with it, however it ends. It reports false where this process is that
// one, or may not have them.
func runApart(ctx context.Context) (ran bool, code int) {
	if os.Getenv(apart) != "" || os.Geteuid() != 0 {
		return false, 0
	}
	self, err := os.Executable()
	if err != nil {
		return false, 0
	}
	cmd := exec.CommandContext(ctx, self, os.Args[1:]...) //nolint:gosec // this program itself
	cmd.Env = append(os.Environ(), apart+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return false, 0
	}
	_ = cmd.Wait() // how it ended is its code
	return true, cmd.ProcessState.ExitCode()
}

// disk is where the store of a trial is. If image is set it is a file system of its own, which can be filled.
type disk struct {
	dir   string
	image bool
	file  string
}

// newDisk makes a disk for a trial in a folder: a file system in a file if that can be had, otherwise a plain folder.
func newDisk(ctx context.Context, dir string) *disk {
	d := &disk{dir: filepath.Join(dir, "disk"), file: filepath.Join(dir, "disk.img")}
	if err := d.mount(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "the disk of the store cannot be filled:", err)
	} else {
		d.image = true
		_ = os.Setenv("TMPDIR", d.dir) // servers make their folders there
	}
	return d
}

func (d *disk) mount(ctx context.Context) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil { //nolint:gosec // servers of other users live there
		return err
	}
	if os.Getenv(apart) == "" {
		return errors.New("this takes root, and mounts of its own")
	}
	if err := errors.Join(os.WriteFile(d.file, nil, 0o600), os.Truncate(d.file, diskSize)); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0", d.file},
		{"mount", "-o", "loop", d.file, d.dir},
		{"chmod", "1777", d.dir},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil { //nolint:gosec // fixed commands
			return fmt.Errorf("%s: %w: %s", command[0], err, out)
		}
	}
	return nil
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill takes all room that is left.
func (d *disk) fill() error {
	f, err := os.Create(d.ballast())
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	defer func() { _ = f.Close() }() // it holds nothing
	size := int64(0)
	for step := int64(1 << 30); step >= 4096; {
		if err := syscall.Fallocate(int(f.Fd()), 0, size, step); err != nil {
			step /= 2
			continue
		}
		size += step
	}
	return nil
}

// free gives the room back.
func (d *disk) free() error { return os.Remove(d.ballast()) }

// close takes the disk away; what is in it is gone if the folder goes.
func (d *disk) close(ctx context.Context) {
	if d.image {
		_ = exec.CommandContext(ctx, "umount", "-l", d.dir).Run() //nolint:gosec // it ends with this process at the latest
	}
}
