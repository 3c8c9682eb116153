//go:build unix

package sqlite

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/outlast-go/outlast/store"
)

// locks are the lock files of the workers of this handle. The lock of an open file ends with the last process that has it
// open, and with nothing else: so it proves that a worker is gone.
type locks struct {
	dir  string
	kind store.EvidenceKind

	mu   sync.Mutex
	held map[string]*os.File
}

// openLocks makes the folder of the lock files, and tries whether a lock can be had there.
func openLocks(dir string) (*locks, error) {
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("the folder of the workers' locks: %w", err)
	}
	l := &locks{dir: dir, kind: store.EvidenceProof, held: map[string]*os.File{}}
	f, err := l.make()
	if errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOLCK) {
		l.kind = store.EvidenceNone
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of the workers' locks: %w", err)
	}
	return l, errors.Join(f.Close(), os.Remove(f.Name()))
}

// make makes a file and locks it, under a name that nobody looks for.
func (l *locks) make() (*os.File, error) {
	f, err := os.CreateTemp(l.dir, ".new-*")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

func (l *locks) path(worker string) string {
	return filepath.Join(l.dir, store.DeriveID("worker", worker).String()+".lock")
}

// take gives a worker its lock. held says that it has one already.
func (l *locks) take(worker string) (inode int64, held bool, err error) {
	if l.kind == store.EvidenceNone {
		return 0, false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.held[worker]; f != nil {
		inode, err = inodeOf(f)
		return inode, true, err
	}
	if _, err := os.Lstat(l.path(worker)); err == nil {
		return 0, false, fmt.Errorf("worker %s: %w", worker, store.ErrDuplicate)
	}
	f, err := l.make()
	if err != nil {
		return 0, false, err
	}
	if inode, err = inodeOf(f); err == nil {
		err = os.Rename(f.Name(), l.path(worker))
	}
	if err != nil {
		return 0, false, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	l.held[worker] = f
	return inode, false, nil
}

func inodeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("the file %s has no inode", f.Name())
	}
	return int64(st.Ino), nil
}

// drop lets go of the lock of a worker that has left, and of its file.
func (l *locks) drop(worker string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.held[worker]
	if f == nil {
		return
	}
	delete(l.held, worker)
	_ = os.Remove(l.path(worker)) // a file that stays costs nothing but its name
	_ = f.Close()
}

// forget removes the file of a worker whose record is gone.
func (l *locks) forget(worker string) {
	l.drop(worker)
	_ = os.Remove(l.path(worker))
}

// dropAll lets go of all locks, as the end of the process does. The files stay, to prove it.
func (l *locks) dropAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for worker, f := range l.held {
		delete(l.held, worker)
		_ = f.Close()
	}
}

// gone reports whether it is proved that nobody holds the lock of a worker any more. A file that is missing, or another than
// the one the worker has locked, proves nothing.
func (l *locks) gone(worker string, inode int64) bool {
	f, err := os.Open(l.path(worker))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only looked at
	if have, err := inodeOf(f); err != nil || have != inode {
		return false
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

// randomName is a name that nobody else has.
func randomName() string { return rand.Text() }
