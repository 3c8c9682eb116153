package secrets_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/file"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/seal"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/secrets"
)

// log keeps what is logged. A handler may log while the test reads.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// plantOn runs the planted tasks on a SQLite file, and returns what was found in its folder and in the log.
func plantOn(t *testing.T, dir string, sealer kernel.Sealer) (p *secrets.Planter, inFiles, inLog []string) {
	t.Helper()
	p = secrets.New()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "planted.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	lines := &log{}
	blobs, err := file.Open(filepath.Join(dir, "planted.db.blobs"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blobs.Close() }()
	cfg := kernel.Config{Sealer: sealer, Blobs: []blob.Named{{Name: "file", Store: blobs}}, Logger: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	handlers := p.Handlers()
	handlers["plant.tx"] = endInTransaction(p, db)
	k, stop := kerneltest.StartOn(t, db, cfg, handlers)
	prepared, err := k.Prepare(kernel.Spec{Kind: "plant.tx", Args: p.At("prepared")})
	if err != nil {
		t.Fatal(err)
	}
	inTransaction(t, db, func(tx *sqlite.Tx) error {
		_, err := tx.Submit(t.Context(), prepared)
		return err
	})
	p.Submit(t, k)
	if _, err := k.PutBlob(t.Context(), k.NewID(), bytes.NewReader(p.Large("blob"))); err != nil {
		t.Fatal(err)
	}
	kerneltest.Wait(t, k, prepared.ID, store.Done)
	inFiles = append(inFiles, places(p.FindIn(t, dir))...) // while it is open, with its write-ahead log
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	inFiles = append(inFiles, places(p.FindIn(t, dir))...)
	return p, inFiles, p.Find(lines.bytes())
}

func places(found map[string][]string) (list []string) {
	for file, places := range found {
		for _, place := range places {
			list = append(list, place+" in "+file)
		}
	}
	slices.Sort(list)
	return list
}

func inTransaction(t *testing.T, db *sqlite.Store, fn func(*sqlite.Tx) error) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(fn(tx), tx.Commit()); err != nil {
		t.Fatal(err)
	}
}

// endInTransaction stages its outcome: it is stored before it is settled.
func endInTransaction(p *secrets.Planter, db *sqlite.Store) kernel.Handler {
	return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		tx, err := db.Begin(ctx)
		if err != nil {
			return kernel.Outcome{}, err
		}
		defer func() { _ = tx.Rollback() }() // after Commit it has no effect
		done, err := r.Completion(kernel.Outcome{
			Result: p.At("staged result"), Entries: map[string][]byte{"s": p.At("staged entry")},
			Progress: &kernel.Progress{Note: p.Text("staged note")},
			Follow:   []kernel.Spec{{Kind: "plant.done", Args: p.At("staged follow-up")}},
		})
		if err != nil {
			return kernel.Outcome{}, err
		}
		return kernel.Outcome{}, errors.Join(tx.Stage(ctx, done), tx.Commit())
	}
}

// R001-5, PH-140
func TestNoSecretIsInFilesOrLogsWhenASealerIsSet(t *testing.T) {
	t.Parallel()
	ring, err := seal.Parse(seal.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	p, inFiles, inLog := plantOn(t, t.TempDir(), ring)
	if n := len(p.Places()); n < 20 {
		t.Errorf("%d secrets were planted, want at least 20: %v", n, p.Places())
	}
	if len(inFiles) > 0 || len(inLog) > 0 {
		t.Errorf("found in files: %v; in the log: %v; want nothing", inFiles, inLog)
	}
}

// The search can fail: without a sealer it finds every secret that was planted.
func TestEverySecretIsFoundWhenNoSealerIsSet(t *testing.T) {
	t.Parallel()
	p, inFiles, inLog := plantOn(t, t.TempDir(), nil)
	for _, place := range p.Places() {
		if !slices.ContainsFunc(inFiles, func(f string) bool { return strings.HasPrefix(f, place+" in ") }) {
			t.Errorf("%s was not found: the search does not see it", place)
		}
	}
	if len(inLog) == 0 {
		t.Error("nothing was found in the log: the search does not see the texts of errors")
	}
}
