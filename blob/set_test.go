package blob_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/file"
)

const task = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"

func folder(t testing.TB, dir string) *file.Store {
	t.Helper()
	s, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newSet(t testing.TB, stores ...blob.Named) *blob.Set {
	t.Helper()
	set, err := blob.NewSet("owner", stores...)
	if err != nil {
		t.Fatalf("NewSet = %v, want no error", err)
	}
	return set
}

func put(t testing.TB, set *blob.Set, text string, sealed bool) blob.Ref {
	t.Helper()
	ref, err := set.Put(t.Context(), task, strings.NewReader(text), sealed)
	if err != nil {
		t.Fatalf("Put = %v, want no error", err)
	}
	return ref
}

func read(set *blob.Set, ref blob.Ref) (string, error) {
	r, err := set.Open(context.Background(), ref)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(r)
	return string(text), err
}

// PH-132, PH-121
func TestTheLastStoreWritesAndAllRead(t *testing.T) {
	t.Parallel()
	a, b := blob.Named{Name: "a", Store: folder(t, t.TempDir())}, blob.Named{Name: "b", Store: folder(t, t.TempDir())}
	old := put(t, newSet(t, a), "old", false)
	set := newSet(t, a, b)
	recent := put(t, set, "new", false)
	if old.Store != "a" || recent.Store != "b" {
		t.Errorf("written to %s and %s, want a, and b once that is the last", old.Store, recent.Store)
	}
	for want, ref := range map[string]blob.Ref{"old": old, "new": recent} {
		if got, err := read(set, ref); err != nil || got != want {
			t.Errorf("Open of %v = %q, %v, want %q", ref, got, err, want)
		}
	}
	if !strings.HasPrefix(old.Key, task+"/") || old.Key == recent.Key || old.Size != 3 {
		t.Errorf("refs %+v and %+v, want keys of the task's own", old, recent)
	}
}

// PH-130
func TestAReferenceIntoAnUnknownStoreNamesIt(t *testing.T) {
	t.Parallel()
	a := blob.Named{Name: "gone", Store: folder(t, t.TempDir())}
	ref := put(t, newSet(t, a), "x", false)
	empty := newSet(t)
	_, err := read(empty, ref)
	if !errors.Is(err, blob.ErrUnknownStore) || !strings.Contains(err.Error(), `"gone"`) {
		t.Errorf("Open = %v, want ErrUnknownStore with the name", err)
	}
	if err := empty.Delete(t.Context(), ref); !errors.Is(err, blob.ErrUnknownStore) {
		t.Errorf("Delete = %v, want ErrUnknownStore", err)
	}
	if _, err := empty.Put(t.Context(), task, strings.NewReader("x"), false); !errors.Is(err, blob.ErrUnknownStore) || !empty.Empty() {
		t.Errorf("Put without a store = %v, want ErrUnknownStore", err)
	}
}

func TestStoresThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	s := folder(t, t.TempDir())
	for name, list := range map[string][]blob.Named{
		"no name": {{Store: s}}, "odd name": {{Name: "A b", Store: s}}, "nil": {{Name: "a"}}, "twice": {{Name: "a", Store: s}, {Name: "a", Store: s}},
	} {
		if _, err := blob.NewSet("owner", list...); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("%s: NewSet = %v, want ErrInvalid", name, err)
		}
	}
	if _, err := newSet(t, blob.Named{Name: "a", Store: s}).Put(t.Context(), "no id", strings.NewReader(""), false); !errors.Is(err, blob.ErrInvalid) {
		t.Errorf("Put for no task = %v, want ErrInvalid", err)
	}
}

// meddle changes the one file below a folder.
func meddle(t *testing.T, dir string, change func([]byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "2c", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v, want one", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], change(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNotAsItWasPutDoesNotEndWell(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		for name, change := range map[string]func([]byte) []byte{
			"cut":        func(b []byte) []byte { return b[:len(b)-1] },
			"empty":      func([]byte) []byte { return nil },
			"lengthened": func(b []byte) []byte { return append(b, 'x') },
			"changed":    func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		} {
			dir := t.TempDir()
			set := newSet(t, blob.Named{Name: "a", Store: folder(t, dir)})
			ref := put(t, set, strings.Repeat("text ", 50_000), sealed)
			meddle(t, dir, change)
			if _, err := read(set, ref); err == nil || !sealed && !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("%s, sealed %v: read = %v, want an error that says so", name, sealed, err)
			}
		}
	}
}

func TestASealedBlobIsInTheClearNowhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := newSet(t, blob.Named{Name: "a", Store: folder(t, dir)})
	ref, plain := put(t, set, "hunter2 hunter2", true), put(t, newSet(t, blob.Named{Name: "b", Store: folder(t, t.TempDir())}), "hunter2", false)
	meddle(t, dir, func(b []byte) []byte {
		if bytes.Contains(b, []byte("hunter2")) {
			t.Error("the file holds it in the clear")
		}
		return b
	})
	if got, err := read(set, ref); err != nil || got != "hunter2 hunter2" {
		t.Errorf("read = %q, %v", got, err)
	}
	if plain.Secret != nil || len(ref.Secret) != 32 {
		t.Errorf("secrets of %d and %d bytes, want one for what is sealed alone", len(plain.Secret), len(ref.Secret))
	}
	for _, text := range []string{fmt.Sprint(ref), fmt.Sprintf("%+v %#v %x %s", ref, ref, ref, ref), ref.LogValue().String()} {
		if strings.Contains(text, fmt.Sprintf("%x", ref.Secret)[:8]) || strings.Contains(text, string(ref.Secret)) || !strings.Contains(text, ref.Key) {
			t.Errorf("%q shows the secret, or not the key", text)
		}
	}
	code, err1 := json.Marshal(ref)
	var back blob.Ref
	if err := errors.Join(err1, json.Unmarshal(code, &back)); err != nil {
		t.Fatal(err)
	}
	if got, err := read(set, back); err != nil || got != "hunter2 hunter2" {
		t.Errorf("read by a ref that was stored = %q, %v", got, err)
	}
	back.Key = blob.NewKey("owner", task)
	if _, err := read(set, back); !errors.Is(err, blob.ErrNotFound) { // PH-131
		t.Errorf("read of a blob that is gone = %v, want ErrNotFound", err)
	}
}

func TestASweepRemovesWhatIsOldAndNotNeeded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := folder(t, filepath.Join(dir, "a")), folder(t, filepath.Join(dir, "b"))
	set := newSet(t, blob.Named{Name: "a", Store: a}, blob.Named{Name: "b", Store: b})
	keys := map[string]string{}
	for i, name := range []string{"needed", "old", "young"} {
		keys[name] = blob.NewKey("owner", fmt.Sprintf("0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b%02x", i))
		for at, s := range map[string]*file.Store{"a": a, "b": b} {
			if err := s.Put(t.Context(), keys[name], strings.NewReader(name)); err != nil {
				t.Fatal(err)
			}
			if path := filepath.Join(dir, at, fmt.Sprintf("%02x", i), strings.Replace(keys[name], "/", ".", 1)); name != "young" {
				if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	asked := 0
	needed := func(_ context.Context, id string) (bool, error) {
		asked++
		return id == blob.Task(keys["needed"]), nil
	}
	sweep := blob.NewSweep(set)
	if n, err := sweep.Next(t.Context(), time.Minute, needed); n != (blob.Swept{Seen: 6, Removed: 2}) || err != nil || asked != 4 {
		t.Errorf("Next = %+v, %v after %d questions, want 2 after 4", n, err, asked)
	}
	if n, err := sweep.Next(t.Context(), time.Minute, needed); n.Removed != 0 || err != nil {
		t.Errorf("Next again = %+v, %v, want nothing more", n, err)
	}
	for _, s := range []*file.Store{a, b} {
		for name, there := range map[string]bool{"needed": true, "old": false, "young": true} {
			r, err := s.Get(t.Context(), keys[name])
			if err == nil {
				_ = r.Close()
			}
			if there != (err == nil) {
				t.Errorf("%s: Get = %v, want there %v", name, err, there)
			}
		}
	}
	foreign, err := blob.NewSet("another owner", blob.Named{Name: "a", Store: a})
	nobody, err2 := blob.NewSet("", blob.Named{Name: "a", Store: a})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, set := range []*blob.Set{foreign, nobody} {
		if n, err := blob.NewSweep(set).Next(t.Context(), 0, func(context.Context, string) (bool, error) { return false, nil }); n.Removed != 0 || err != nil {
			t.Errorf("Next of another owner = %+v, %v, want nothing removed", n, err)
		}
	}
	away := errors.New("the store is away")
	if n, err := sweep.Next(t.Context(), 0, func(context.Context, string) (bool, error) { return false, away }); n.Removed != 0 || !errors.Is(err, away) {
		t.Errorf("Next while the store is away = %+v, %v, want nothing removed", n, err)
	}
}
