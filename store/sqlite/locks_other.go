//go:build !unix

package sqlite

import (
	"errors"
	"os"

	"github.com/outlast-go/outlast/store"
)

// locks are the files in which workers note their beats. They cannot be locked here, so silence alone decides.
type locks struct {
	dir  string
	kind store.EvidenceKind
}

func openLocks(dir string) (*locks, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	return &locks{dir: dir, kind: store.EvidenceNone}, nil
}

func (l *locks) take(worker string, _ bool) (inode int64, held bool, err error) {
	f, err := os.OpenFile(l.path(worker), os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return 0, false, err
	}
	return 0, false, f.Close()
}

func (l *locks) renew(string) (int64, error) { return 0, nil }

func (l *locks) note(worker string, c card) error {
	f, err := os.OpenFile(l.path(worker), os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(writeNote(f, c), f.Close())
}

func (l *locks) forget(worker string)    { _ = os.Remove(l.path(worker)) } // a file that stays costs nothing but its name
func (l *locks) drop(worker string)      { l.forget(worker) }
func (l *locks) sweep([]string)          {}
func (l *locks) dropAll()                {}
func (l *locks) gone(string, int64) bool { return false }
