// Package blobtest is what every store of blobs must pass: each case is named by the promise it holds.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/outlast-go/outlast/blob"
)

// task is whose blobs the cases put. Its id is as those of real tasks.
const task = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"

// Config is what the suite needs to know of a store.
type Config struct {
	// Open opens another handle on the same, at first empty, place.
	Open func(t testing.TB) blob.Store
	// Large is the size of the case that streams a large blob through little memory. 0: 256 MiB.
	Large int64
}

// Run holds a store to what package blob says. Each call of fresh makes an empty place.
func Run(t *testing.T, fresh func(t testing.TB) Config) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, c Config)
	}{
		{"what was put is read, of every size", reads},  // PH-120, PH-122, PH-127
		{"what is missing is told as missing", missing}, // PH-123, PH-125
		{"deleting twice is fine", deletes},             // PH-124
		{"a source that breaks off leaves nothing", breaksOff},
		{"a put whose context ends leaves nothing", cancelled},
		{"many at once are safe", many}, // PH-126
		{"a list has every blob once, with its age", lists},
		{"another process reads what was put", processes},
		{"an odd key is refused everywhere", oddKeys},
		{"tidying leaves what is whole", tidies},
		{"a large blob goes through little memory", large},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, fresh(t)) })
	}
}

// pattern is a reader of bytes that do not repeat soon, the same for the same seed.
func pattern(seed uint64, size int64) io.Reader {
	var key [32]byte
	key[0] = byte(seed)
	return io.LimitReader(rand.NewChaCha8(key), size)
}

func put(t testing.TB, s blob.Store, seed uint64, size int64) string {
	t.Helper()
	key := blob.NewKey("owner", task)
	if err := s.Put(t.Context(), key, pattern(seed, size)); err != nil {
		t.Fatalf("Put of %d bytes = %v, want no error", size, err)
	}
	return key
}

// holds checks that a blob is what was put.
func holds(t testing.TB, s blob.Store, key string, seed uint64, size int64) {
	t.Helper()
	r, err := s.Get(t.Context(), key)
	if err != nil {
		t.Errorf("Get of %d bytes = %v, want no error", size, err)
		return
	}
	if err := same(r, pattern(seed, size)); err != nil {
		t.Errorf("Get of %d bytes: %v", size, err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// same compares two streams without holding either.
func same(got, want io.Reader) error {
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err1 := io.ReadFull(got, a)
		m, err2 := io.ReadFull(want, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			return fmt.Errorf("differs after %d bytes: %d read, %w; %d wanted, %w", at, n, err1, m, err2)
		}
		if err1 != nil || err2 != nil {
			if errors.Is(err1, io.EOF) == errors.Is(err2, io.EOF) {
				return nil
			}
			return fmt.Errorf("after %d bytes: %w, want %w", at+int64(n), err1, err2)
		}
		at += int64(n)
	}
}

func gone(t testing.TB, s blob.Store, key string) {
	t.Helper()
	r, err := s.Get(t.Context(), key)
	if err == nil {
		_, err = io.ReadAll(r)
		_ = r.Close()
	}
	if !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Get of what is not there = %v, want ErrNotFound", err)
	}
}

func reads(t *testing.T, c Config) {
	s := c.Open(t)
	for seed, size := range []int64{0, 1, 1000, 64<<10 - 1, 64 << 10, 256<<10 - 1, 256 << 10, 256<<10 + 1, 512 << 10, 3 << 20} {
		key := put(t, s, uint64(seed), size)
		holds(t, s, key, uint64(seed), size)
		holds(t, s, key, uint64(seed), size)
	}
	key := blob.NewKey("owner", task)
	if err := s.Put(t.Context(), key, iotest.OneByteReader(pattern(99, 3000))); err != nil {
		t.Errorf("Put of single bytes = %v", err)
	}
	holds(t, s, key, 99, 3000)
}

func missing(t *testing.T, c Config) { gone(t, c.Open(t), blob.NewKey("owner", task)) }

func deletes(t *testing.T, c Config) {
	s := c.Open(t)
	a, b := put(t, s, 1, 700<<10), put(t, s, 2, 10)
	for range 2 {
		if err := s.Delete(t.Context(), a); err != nil {
			t.Errorf("Delete = %v, want no error", err)
		}
	}
	gone(t, s, a)
	holds(t, s, b, 2, 10)
}

func breaksOff(t *testing.T, c Config) {
	s := c.Open(t)
	for _, size := range []int64{0, 10, 300 << 10} {
		for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("reset by peer")} {
			key := blob.NewKey("owner", task)
			err := s.Put(t.Context(), key, io.MultiReader(pattern(1, size), iotest.ErrReader(cause)))
			if !errors.Is(err, cause) {
				t.Errorf("Put after %d bytes = %v, want %v", size, err, cause)
			}
			gone(t, s, key)
		}
	}
}

func cancelled(t *testing.T, c Config) {
	s := c.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	key := blob.NewKey("owner", task)
	err := s.Put(ctx, key, io.MultiReader(pattern(1, 300<<10), readerFunc(func([]byte) (int, error) { cancel(); return 0, nil }), pattern(1, 1<<30)))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want context.Canceled", err)
	}
	gone(t, s, key)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) {
	n, err := f(p)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func many(t *testing.T, c Config) {
	s := c.Open(t)
	var group sync.WaitGroup
	for i := range uint64(12) {
		group.Go(func() {
			size := int64(1000 + 50_000*i)
			key := blob.NewKey("owner", task)
			if err := s.Put(t.Context(), key, pattern(i, size)); err != nil {
				t.Errorf("Put = %v", err)
				return
			}
			holds(t, s, key, i, size)
			if i%3 == 0 {
				if err := s.Delete(t.Context(), key); err != nil {
					t.Errorf("Delete = %v", err)
				}
				gone(t, s, key)
			}
		})
	}
	group.Wait()
}

func lists(t *testing.T, c Config) {
	s := c.Open(t)
	var want []string
	for i := range 23 {
		key := blob.NewKey("owner", fmt.Sprintf("0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b%02x", i/2))
		if err := s.Put(t.Context(), key, pattern(uint64(i), 10)); err != nil {
			t.Fatal(err)
		}
		want = append(want, key)
	}
	var got []string
	for cursor, pages := "", 0; ; pages++ {
		page, err := s.List(t.Context(), cursor, 5)
		if err != nil || len(page.Items) > 5 || pages > 100 {
			t.Fatalf("List = %d entries, %v, want at most 5", len(page.Items), err)
		}
		for _, b := range page.Items {
			if b.Age < -2*time.Second || b.Age > 5*time.Minute {
				t.Errorf("age = %v, want that of a moment ago", b.Age)
			}
			got = append(got, b.Key)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("List = %d blobs %v, want %d %v", len(got), got, len(want), want)
	}
}

func processes(t *testing.T, c Config) {
	a, b := c.Open(t), c.Open(t)
	key := put(t, a, 5, 100_000)
	holds(t, b, key, 5, 100_000)
	if err := b.Delete(t.Context(), key); err != nil {
		t.Errorf("Delete = %v", err)
	}
	gone(t, a, key)
}

func oddKeys(t *testing.T, c Config) {
	s := c.Open(t)
	good := blob.NewKey("owner", task)
	for _, key := range []string{"", "x", "../../etc/passwd", task, task + "/", task + "/../../../../../../etc/passwd", good + "x", good[:len(good)-1] + ".", "/" + good[1:], task + "\\" + good[37:]} {
		if err := s.Put(t.Context(), key, pattern(1, 1)); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Put under %q = %v, want ErrInvalid", key, err)
		}
		if _, err := s.Get(t.Context(), key); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Get of %q = %v, want ErrInvalid", key, err)
		}
		if err := s.Delete(t.Context(), key); !errors.Is(err, blob.ErrInvalid) {
			t.Errorf("Delete of %q = %v, want ErrInvalid", key, err)
		}
	}
}

func tidies(t *testing.T, c Config) {
	s := c.Open(t)
	key := put(t, s, 1, 1000)
	if _, err := s.Tidy(t.Context(), 0); err != nil {
		t.Errorf("Tidy = %v, want no error", err)
	}
	holds(t, s, key, 1, 1000)
}

// large streams more than it may hold: through a Set, sealed, as the kernel does it.
func large(t *testing.T, c Config) {
	size := c.Large
	if size == 0 {
		size = 256 << 20
	}
	set, err := blob.NewSet("owner", blob.Named{Name: "s", Store: c.Open(t)})
	if err != nil {
		t.Fatal(err)
	}
	most := watchHeap(t)
	ref, err := set.Put(t.Context(), task, pattern(7, size), true)
	if err != nil || ref.Size != size {
		t.Fatalf("Put = %v, %v, want %d bytes", ref, err, size)
	}
	r, err := set.Open(t.Context(), ref)
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	if err := same(r, pattern(7, size)); err != nil {
		t.Error(err)
	}
	if err := errors.Join(r.Close(), set.Delete(t.Context(), ref)); err != nil {
		t.Errorf("Close and Delete = %v", err)
	}
	n := most()
	t.Logf("%d MiB through a heap of at most %d MiB", size>>20, n>>20)
	if n > 64<<20 {
		t.Errorf("the heap grew to %d MiB for a blob of %d MiB, want at most 64", n>>20, size>>20)
	}
}

// watchHeap returns a function that ends the watch and tells the most that the heap has held, sampled while others work.
func watchHeap(t testing.TB) (most func() uint64) {
	runtime.GC()
	var group sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	peak := uint64(0)
	group.Go(func() {
		for ctx.Err() == nil {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	return func() uint64 {
		cancel()
		group.Wait()
		return peak
	}
}
