package secrets_test

import (
	"bytes"
	"context"
	"log/slog"
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

// plantOn runs the planted tasks on a store, with blobs beside it, and returns what was found in the files of both and in the logs.
func plantOn(t *testing.T, at home, sealer kernel.Sealer) (p *secrets.Planter, inFiles, inLog []string) {
	t.Helper()
	p = secrets.New()
	lines, dir := &log{}, t.TempDir()
	blobs, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blobs.Close() }()
	cfg := kernel.Config{Sealer: sealer, Blobs: []blob.Named{{Name: "file", Store: blobs}}, Logger: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	handlers := p.Handlers()
	handlers["plant.tx"] = endStaged(p, at)
	k, stop := kerneltest.StartOn(t, at.db, cfg, handlers)
	prepared, err := k.Prepare(kernel.Spec{Kind: "plant.tx", Args: p.At("prepared")})
	if err == nil {
		err = at.submit(t.Context(), prepared)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Submit(t, k)
	if _, err := k.PutBlob(t.Context(), k.NewID(), bytes.NewReader(p.Large("blob"))); err != nil {
		t.Fatal(err)
	}
	kerneltest.Wait(t, k, prepared.ID, store.Done)
	logged := at.flush()
	for _, d := range []string{at.dir, dir} {
		inFiles = append(inFiles, places(p.FindIn(t, d))...) // while it is open, with its write-ahead log
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{at.dir, dir} {
		inFiles = append(inFiles, places(p.FindIn(t, d))...)
	}
	return p, inFiles, p.Find(append(lines.bytes(), logged...))
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

// endStaged stages its outcome: it is stored before it is settled.
func endStaged(p *secrets.Planter, at home) kernel.Handler {
	return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		done, err := r.Completion(kernel.Outcome{
			Result: p.At("staged result"), Entries: map[string][]byte{"s": p.At("staged entry")},
			Progress: &kernel.Progress{Note: p.Text("staged note")},
			Follow:   []kernel.Spec{{Kind: "plant.done", Args: p.At("staged follow-up")}},
		})
		if err != nil {
			return kernel.Outcome{}, err
		}
		return kernel.Outcome{}, at.stage(ctx, done)
	}
}

// R001-5, PH-140
func TestNoSecretIsInFilesOrLogsWhenASealerIsSet(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			ring, err := seal.Parse(seal.NewKey())
			if err != nil {
				t.Fatal(err)
			}
			p, inFiles, inLog := plantOn(t, e.make(t), ring)
			if n := len(p.Places()); n < 20 {
				t.Errorf("%d secrets were planted, want at least 20: %v", n, p.Places())
			}
			if len(inFiles) > 0 || len(inLog) > 0 {
				t.Errorf("found in files: %v; in the log: %v; want nothing", inFiles, inLog)
			}
		})
	}
}

// The search can fail: without a sealer it finds every secret that was planted, also in the log of the store's writes.
func TestEverySecretIsFoundWhenNoSealerIsSet(t *testing.T) {
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			at := e.make(t)
			p, inFiles, inLog := plantOn(t, at, nil)
			for _, place := range p.Places() {
				if !slices.ContainsFunc(inFiles, func(f string) bool { return strings.HasPrefix(f, place+" in ") }) {
					t.Errorf("%s was not found: the search does not see it", place)
				}
			}
			if !slices.ContainsFunc(inFiles, func(f string) bool { return strings.HasPrefix(f, "args in "+at.log) }) {
				t.Errorf("nothing was found in %s: the search does not see it", at.log)
			}
			if len(inLog) == 0 {
				t.Error("nothing was found in the log: the search does not see the texts of errors")
			}
		})
	}
}
