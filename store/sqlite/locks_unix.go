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
	"time"

	"github.com/outlast-go/outlast/store"
)

// locks are the files of the workers of this handle, in which they note their beats. The lock of an open file ends with the last
// process that has it open, and with nothing else: so it proves that a worker is gone.
type locks struct {
	dir  string
	kind store.EvidenceKind // none: files cannot be locked here

	mu   sync.Mutex
	held map[string]*os.File
}

// openLocks makes the folder of the lock files, and tries whether a lock can be had there.
func openLocks(dir string) (*locks, error) {
	l := &locks{dir: dir, kind: store.EvidenceProof, held: map[string]*os.File{}}
	f, err := l.make()
	if errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOLCK) {
		l.kind = store.EvidenceNone
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the folder of the workers' files: %w", err)
	}
	return l, errors.Join(f.Close(), os.Remove(f.Name()))
}

// make makes a file and locks it, under a name that nobody looks for.
func (l *locks) make() (*os.File, error) {
	if err := os.Mkdir(l.dir, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	f, err := os.CreateTemp(l.dir, ".new-*")
	if err != nil || l.kind == store.EvidenceNone {
		return f, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close(), os.Remove(f.Name()))
	}
	return f, nil
}

// take gives a worker its file, locked. held says that it has one already. The file of a remote one is not locked, and anybody's to
// write; it has no inode.
func (l *locks) take(worker string, remote bool) (inode int64, held bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.held[worker]; f != nil {
		inode, err = inodeOf(f)
		return inode, true, err
	}
	if _, err := os.Lstat(l.path(worker)); err == nil {
		return 0, false, fmt.Errorf("worker %s: %w", worker, store.ErrDuplicate)
	}
	if inode, err = l.place(worker); err != nil || !remote {
		return inode, false, err
	}
	f := l.held[worker]
	delete(l.held, worker)
	return 0, false, f.Close()
}

// place makes a file for a worker and puts it where others look for it.
func (l *locks) place(worker string) (int64, error) {
	f, err := l.make()
	if err != nil {
		return 0, err
	}
	inode, err := inodeOf(f)
	if err == nil {
		err = os.Rename(f.Name(), l.path(worker))
	}
	if err != nil {
		return 0, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	l.held[worker] = f
	return inode, nil
}

// renew makes sure that the file of a worker of this handle is where others look for it: somebody may have removed it.
// It returns the inode, which is on record or soon will be; 0: the worker is not of this handle.
func (l *locks) renew(worker string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.held[worker]
	if f == nil {
		return 0, nil
	}
	inode, err := inodeOf(f)
	if err != nil {
		return 0, err
	}
	if placed, err := os.Lstat(l.path(worker)); err == nil && inodeIn(placed) == inode {
		return inode, nil
	}
	if inode, err = l.place(worker); err == nil {
		err = f.Close() // the new one is held by now
	}
	return inode, err
}

// note writes into the file of a worker.
func (l *locks) note(worker string, c card) error {
	l.mu.Lock()
	f := l.held[worker]
	l.mu.Unlock()
	if f != nil {
		return writeNote(f, c)
	}
	// Of another handle, or of a remote worker: if somebody removed that one, nobody else makes it anew.
	f, err := os.OpenFile(l.path(worker), os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(writeNote(f, c), f.Close())
}

func inodeOf(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	inode := inodeIn(info)
	if inode == 0 {
		return 0, fmt.Errorf("the file %s has no inode", f.Name())
	}
	return inode, nil
}

func inodeIn(info os.FileInfo) int64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return int64(st.Ino)
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
	if l.kind == store.EvidenceNone {
		return false
	}
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

// orphanAge is how old a file must be before it counts as left behind: younger ones may be on their way to a Join.
const orphanAge = time.Hour

// sweep removes the files of processes that died between making one and joining with it. known are the workers on record.
func (l *locks) sweep(known []string) {
	keep := map[string]bool{}
	for _, worker := range known {
		keep[l.path(worker)] = true
	}
	for _, pattern := range []string{".new-*", "*.lock"} {
		files, err := filepath.Glob(filepath.Join(l.dir, pattern))
		if err != nil {
			continue
		}
		for _, file := range files {
			info, err := os.Stat(file)
			if err == nil && !keep[file] && time.Since(info.ModTime()) > orphanAge && unlocked(file) {
				_ = os.Remove(file) // the next one who opens the store tries again
			}
		}
	}
}

// unlocked reports whether nobody holds the lock of a file.
func unlocked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only looked at
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

// randomName is a name that nobody else has.
func randomName() string { return rand.Text() }
