package batch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Intake makes batches of the files that come into a folder. A file at rest is checked by the type that its name matches, submitted under a key
// made of its content, and moved to the folder done or failed below, with a report of what was wrong beside it. The same content twice is
// one batch. A process that dies on the way leaves a file where it was, and the next one goes on with the same batch. Only one process
// should look at a folder: two do no harm, but each tells of files that the other has moved.
type Intake struct {
	Dir   string     // where files come; folders in it are looked at as well
	Types []FileType // the first whose pattern matches a file counts; files that none matches are left alone

	// Rest is how long a file must not have changed. Default 5 s.
	Rest time.Duration
	// Every is how often Run looks. Default 2 s.
	Every time.Duration
	// Taken is called for each file that was moved. Default: it is logged by nobody.
	Taken func(Taken)

	seen map[string]stamp // how files looked the last time
}

// stamp is how a file looks from outside.
type stamp struct {
	size int64
	at   time.Time
}

// Taken tells what became of a file.
type Taken struct {
	Path    string    // where it was, relative to the folder
	MovedTo string    // where it is
	Batch   kernel.ID // zero: none was made
	Existed bool      // a file of the same content had come before
	Bad     []*LineError
	Err     error // why it failed; nil: it is in done
}

// FileType says what is made of the files that a pattern matches. Make one with Batch.FileType.
type FileType struct {
	pattern string
	submit  func(ctx context.Context, k *kernel.Kernel, in *Incoming, opts Options) (id kernel.ID, existed bool, err error)
}

// Incoming is a file that is being checked.
type Incoming struct {
	io.ReadSeeker
	Name string // relative to the folder, with slashes
	// Context is given to each row and to Done, if the check sets it.
	Context any
}

// FileConfig says how the files of a type are taken. The zero value takes a file as a whole or not at all.
type FileConfig struct {
	SkipBad bool // lines that are not good are reported, and the others submitted
}

// FileType has the files that a pattern matches checked and submitted as batches of this operation. check reads a file, and gives its rows:
// CSV or JSONLines of it, or a source of its own whose rows have the lines of the file. An error of it, or a bad line without SkipBad, fails the file. A
// pattern without a slash is compared with the name of a file in whatever folder; one with a slash with the path from the folder on; * stands
// for what has no slash, ** for any folders.
func (b *Batch[R, In, Out]) FileType(pattern string, check func(in *Incoming) (Source[In], error), cfg FileConfig) FileType {
	return FileType{pattern: pattern, submit: func(ctx context.Context, k *kernel.Kernel, in *Incoming, opts Options) (kernel.ID, bool, error) {
		rows, err := check(in)
		if err != nil {
			return kernel.ID{}, false, err
		}
		opts.Context = in.Context
		if !cfg.SkipBad {
			bad := 0
			tell := opts.Bad
			if _, err := b.Check(ctx, k, rows, func(e *LineError) { bad++; tell(e) }); err != nil || bad > 0 {
				return kernel.ID{}, false, cmp.Or(err, fmt.Errorf("%w: %d lines are not good", kernel.ErrInvalid, bad))
			}
		}
		h, err := b.Submit(ctx, k, rows, opts)
		if err != nil {
			return kernel.ID{}, false, err
		}
		return h.ID(), h.Existed(), nil
	}}
}

// Where files go.
const (
	doneFolder   = "done"
	failedFolder = "failed"
)

// Run looks for files until ctx ends. It ends before that only if a pattern is wrong or there is one twice, or if the folder cannot be read.
func (i *Intake) Run(ctx context.Context, k *kernel.Kernel) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if _, err := i.Look(ctx, k); err != nil && ctx.Err() == nil {
			return err
		}
		timer.Reset(cmp.Or(i.Every, 2*time.Second))
	}
}

// Look takes the files that are at rest now, and returns what became of each. A file that cannot be taken because the store or the disk does
// not answer stays where it is, and is told of with its error.
func (i *Intake) Look(ctx context.Context, k *kernel.Kernel) ([]Taken, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	names, err := i.resting()
	if err != nil {
		return nil, err
	}
	var all []Taken
	for _, name := range names {
		t := i.take(ctx, k, name)
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		all = append(all, t)
		if i.Taken != nil {
			i.Taken(t)
		}
	}
	return all, nil
}

// check says what is wrong with the types.
func (i *Intake) check() error {
	var patterns []string
	for _, t := range i.Types {
		if err := checkPattern(t.pattern); err != nil {
			return fmt.Errorf("batch.Intake: %w", err)
		}
		if slices.Contains(patterns, t.pattern) {
			return fmt.Errorf("batch.Intake: %w: there are two types for %q", kernel.ErrInvalid, t.pattern)
		}
		patterns = append(patterns, t.pattern)
	}
	return nil
}

// resting lists the files that match a type and have not changed for a while: neither by their time, nor since the last look.
func (i *Intake) resting() (names []string, err error) {
	now, seen := time.Now(), map[string]stamp{}
	err = filepath.WalkDir(i.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(i.Dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		hidden := name != "." && strings.HasPrefix(d.Name(), ".")
		if d.IsDir() {
			if hidden || name == doneFolder || name == failedFolder {
				return fs.SkipDir
			}
			return nil
		}
		if hidden || !d.Type().IsRegular() || i.typeOf(name) == nil {
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has gone since
		}
		if err != nil {
			return err
		}
		seen[name] = stamp{info.Size(), info.ModTime()}
		if before, known := i.seen[name]; now.Sub(info.ModTime()) >= cmp.Or(i.Rest, 5*time.Second) && (!known || before == seen[name]) {
			names = append(names, name)
		}
		return nil
	})
	i.seen = seen
	if err != nil {
		return nil, fmt.Errorf("batch.Intake: look at %s: %w", i.Dir, err)
	}
	return names, nil
}

func (i *Intake) typeOf(name string) *FileType {
	for n := range i.Types {
		if matchPath(i.Types[n].pattern, name) {
			return &i.Types[n]
		}
	}
	return nil
}

// take submits one file, and moves it. What it does is the same however often it is done.
func (i *Intake) take(ctx context.Context, k *kernel.Kernel, name string) Taken {
	t := Taken{Path: name}
	path := filepath.Join(i.Dir, filepath.FromSlash(name))
	sum, err := i.submit(ctx, k, path, &t)
	if err != nil && (ctx.Err() != nil || sum == "" || !isBad(err)) {
		t.Err = err // not the file's fault: it is tried again
		return t
	}
	folder := doneFolder
	if t.Err = err; err != nil {
		folder = failedFolder
	}
	to := filepath.Join(i.Dir, folder, filepath.FromSlash(name))
	to, err = moveFile(path, to, sum, report(t))
	if err != nil {
		t.Err = errors.Join(t.Err, err)
		return t
	}
	t.MovedTo = to
	delete(i.seen, name)
	return t
}

// isBad reports whether an error is about the file and not about the world around it.
func isBad(err error) bool {
	var line *LineError
	var path *fs.PathError
	return errors.As(err, &line) || !errors.Is(err, kernel.ErrInDoubt) && !errors.Is(err, kernel.ErrClosed) && !errors.As(err, &path)
}

// submit makes a batch of a file. sum is the digest of its content, by which the batch is known.
func (i *Intake) submit(ctx context.Context, k *kernel.Kernel, path string, t *Taken) (sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err = io.Copy(h, f); err != nil {
		return "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	kind := i.typeOf(t.Path)
	opts := Options{Key: "file:" + sum, Labels: map[string]string{"file": clipLabel(t.Path)}}
	opts.Bad = func(e *LineError) { t.Bad = append(t.Bad, e) }
	t.Batch, t.Existed, err = kind.submit(ctx, k, &Incoming{ReadSeeker: f, Name: t.Path}, opts)
	return sum, err
}

func clipLabel(text string) string { return text[max(0, len(text)-kernel.KeyLimit):] }

// report is what is written beside a file of which something is to be told.
func report(t Taken) []byte {
	if t.Err == nil && len(t.Bad) == 0 {
		return nil
	}
	var b bytes.Buffer
	if !t.Batch.IsZero() {
		fmt.Fprintf(&b, "batch %s\n", t.Batch)
	}
	if t.Err != nil {
		fmt.Fprintf(&b, "nothing was submitted: %v\n", t.Err)
	}
	for _, e := range t.Bad {
		fmt.Fprintf(&b, "line %d: %v\n", e.Line, e.Err)
	}
	return b.Bytes()
}

// moveFile moves a file and writes its report first. A name that is taken gets a part of the digest before its ending.
func moveFile(from, to, sum string, report []byte) (string, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // for whoever may read the folder
		return to, err
	}
	if _, err := os.Lstat(to); err == nil {
		ext := filepath.Ext(to)
		to = strings.TrimSuffix(to, ext) + "." + sum[:12] + ext
	}
	if report != nil {
		if err := os.WriteFile(to+".report", report, 0o644); err != nil { //nolint:gosec // for whoever may read the file
			return to, err
		}
	}
	return to, os.Rename(from, to)
}
