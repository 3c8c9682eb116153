// Package file keeps blobs as files below one folder. A blob is written to a temporary file, made durable, and then given its
// name: a crash leaves temporary files alone, which Tidy removes. The folder is split in 256 by the last digits of the task.
// No name, and no symbolic link that somebody puts there, leads out of the folder.
//
// Every process that reads must see the same folder. On a shared file system the clocks of the hosts must agree to within
// the grace of the sweep.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/blob"
)

// temporary is the folder of what is not whole yet.
const temporary = "tmp"

// Store keeps blobs in a folder. It is made by Open.
type Store struct{ root *os.Root }

var _ blob.Store = (*Store)(nil)

// Open opens a folder, and creates it if it is not there. Only its owner can look into a folder that it creates.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("blob folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("blob folder: %w", err)
	}
	s := &Store{root: root}
	if err := s.folder(temporary); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return s, nil
}

// Close lets go of the folder. Readers that are open go on.
func (s *Store) Close() error { return s.root.Close() }

// path is where a blob lies: the last two digits of its task, and its key without the slash.
func path(key string) (shard, name string, err error) {
	if err := blob.CheckKey(key); err != nil {
		return "", "", err
	}
	task := blob.Task(key)
	return task[len(task)-2:], strings.Replace(key, "/", ".", 1), nil
}

// Put writes a file, makes it durable, and gives it its name.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) (err error) {
	shard, name, err := path(key)
	if err != nil {
		return err
	}
	draft := temporary + "/" + name + "." + rand.Text()
	f, err := s.root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("blob %s: %w", key, err)
	}
	defer func() {
		if err != nil {
			_ = s.root.Remove(draft) // Tidy finds what stays
		}
	}()
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, &patient{ctx, r}, make([]byte, 64<<10))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write blob %s: %w", key, err)
	}
	if err := s.folder(shard); err != nil {
		return err
	}
	if err := s.root.Rename(draft, shard+"/"+name); err != nil {
		return fmt.Errorf("name blob %s: %w", key, err)
	}
	return s.sync(shard)
}

// folder makes a folder below the root, durably, if it is not there.
func (s *Store) folder(name string) error {
	switch err := s.root.Mkdir(name, 0o700); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("blob folder: %w", err)
	}
	return s.sync(".")
}

// sync makes the names in a folder durable.
func (s *Store) sync(name string) error {
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be synced there
	}
	d, err := s.root.Open(name)
	if err != nil {
		return fmt.Errorf("blob folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("blob folder: %w", err)
	}
	return nil
}

// Get opens a file.
func (s *Store) Get(_ context.Context, key string) (io.ReadCloser, error) {
	shard, name, err := path(key)
	if err != nil {
		return nil, err
	}
	f, err := s.root.Open(shard + "/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("file %s/%s: %w", shard, name, blob.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", key, err)
	}
	return f, nil
}

// Delete removes a file.
func (s *Store) Delete(_ context.Context, key string) error {
	shard, name, err := path(key)
	if err != nil {
		return err
	}
	if err := s.root.Remove(shard + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob %s: %w", key, err)
	}
	return nil
}

// List pages through the files, folder by folder. Files that are no blobs are passed over.
func (s *Store) List(ctx context.Context, cursor string, limit int) (page blob.Page, err error) {
	shards, err := s.names(".")
	if err != nil {
		return page, err
	}
	after, name, _ := strings.Cut(cursor, "/")
	for _, shard := range shards {
		if len(shard) != 2 || shard < after {
			continue
		}
		names, err := s.names(shard)
		if err != nil {
			return page, err
		}
		if shard > after {
			name = ""
		}
		for _, n := range names {
			if n <= name {
				continue
			}
			if err := ctx.Err(); err != nil {
				return page, err
			}
			if len(page.Items) >= max(limit, 1) {
				return page, nil
			}
			page.Cursor = shard + "/" + n
			if info, ok := s.info(shard, n); ok {
				page.Items = append(page.Items, info)
			}
		}
	}
	page.Cursor = ""
	return page, nil
}

// names lists a folder, sorted; one that is gone is empty.
func (s *Store) names(dir string) ([]string, error) {
	d, err := s.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	defer func() { _ = d.Close() }() // it was only read
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list blobs: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

func (s *Store) info(shard, name string) (blob.Info, bool) {
	key := strings.Replace(name, ".", "/", 1)
	if at, _, err := path(key); err != nil || at != shard {
		return blob.Info{}, false
	}
	stat, err := s.root.Lstat(shard + "/" + name)
	if err != nil || !stat.Mode().IsRegular() {
		return blob.Info{}, false
	}
	return blob.Info{Key: key, Age: time.Since(stat.ModTime())}, true
}

// Tidy removes temporary files that nobody has written to for so long.
func (s *Store) Tidy(ctx context.Context, older time.Duration) (removed int, err error) {
	names, err := s.names(temporary)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		stat, err := s.root.Lstat(temporary + "/" + name)
		if err != nil || time.Since(stat.ModTime()) < older {
			continue
		}
		if err := s.root.Remove(temporary + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, fmt.Errorf("tidy blobs: %w", err)
		}
		if removed++; ctx.Err() != nil {
			return removed, ctx.Err()
		}
	}
	return removed, nil
}

// patient reads until its context ends.
type patient struct {
	ctx context.Context //nolint:containedctx // a reader has no other way to hear of it
	r   io.Reader
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, context.Cause(p.ctx)
	}
	return p.r.Read(b)
}
