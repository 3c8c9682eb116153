package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/outlast-go/outlast/store"
)

func blobTests() []test {
	return []test{
		{"chunks are read as they were put, in any order", blobChunks},
		{"a chunk is written once", blobOnce},
		{"what is not there is not found", blobAbsent},
		{"a chunk that can never be stored is refused", blobInvalid},
		{"deleting takes the last chunks first, some at a time", blobDelete},
		{"blobs are listed by key, with their age", blobList},
		{"the age is that of the last chunk", blobAge},
		{"another process reads them", blobProcesses},
		{"many at once are safe", blobRace},
		{"the end of a task leaves them", blobApart},
	}
}

// blobs is the store's Blobs; the case is skipped where there are none.
func (w *world) blobs() store.Blobs {
	w.t.Helper()
	b, ok := w.st.(store.Blobs)
	if !ok {
		w.t.Skip("the engine keeps no blobs")
	}
	return b
}

func (w *world) putChunk(key string, number int, data string) {
	w.t.Helper()
	w.ok("PutChunk", w.blobs().PutChunk(w.ctx(), key, number, []byte(data)))
}

func (w *world) hasChunk(key string, number int, want string) {
	w.t.Helper()
	got, err := w.blobs().Chunk(w.ctx(), key, number)
	if err != nil || got == nil || string(got) != want {
		w.t.Errorf("Chunk(%s, %d) = %.40q (%d bytes), %v, want %.40q (%d bytes)", key, number, got, len(got), err, want, len(want))
	}
}

func blobChunks(_ *testing.T, w *world) {
	w.blobs()
	whole := string(bytes.Repeat([]byte("\x00\xffbytes"), store.ChunkLimit))[:store.ChunkLimit]
	w.putChunk("a/1", 1, "one")
	w.putChunk("a/1", 0, whole)
	w.putChunk("a/1", 2, "")
	w.putChunk("a/2", 0, "other")
	w.hasChunk("a/1", 0, whole)
	w.hasChunk("a/1", 1, "one")
	w.hasChunk("a/1", 2, "")
	w.hasChunk("a/2", 0, "other")
}

func blobOnce(_ *testing.T, w *world) {
	b := w.blobs()
	w.putChunk("k", 0, "first")
	w.putChunk("k", 0, "first") // an answer was lost
	w.refused("PutChunk of other bytes", b.PutChunk(w.ctx(), "k", 0, []byte("second")), store.ErrDuplicate)
	w.refused("PutChunk of fewer bytes", b.PutChunk(w.ctx(), "k", 0, nil), store.ErrDuplicate)
	w.hasChunk("k", 0, "first")
}

func blobAbsent(_ *testing.T, w *world) {
	b := w.blobs()
	w.putChunk("k", 0, "x")
	for key, number := range map[string]int{"k": 1, "other": 0} {
		_, err := b.Chunk(w.ctx(), key, number)
		w.refused("Chunk", err, store.ErrNotFound)
	}
	more, err := b.DeleteBlob(w.ctx(), "other")
	if err != nil || more {
		w.t.Errorf("DeleteBlob of none = %v, %v, want no error", more, err)
	}
}

func blobInvalid(_ *testing.T, w *world) {
	b := w.blobs()
	big := make([]byte, store.ChunkLimit+1)
	w.refused("PutChunk without a key", b.PutChunk(w.ctx(), "", 0, nil), store.ErrInvalid)
	w.refused("PutChunk under an odd key", b.PutChunk(w.ctx(), "a b", 0, nil), store.ErrInvalid)
	w.refused("PutChunk under a long key", b.PutChunk(w.ctx(), strings.Repeat("k", store.NameLimit+1), 0, nil), store.ErrInvalid)
	w.refused("PutChunk below 0", b.PutChunk(w.ctx(), "k", -1, nil), store.ErrInvalid)
	w.refused("PutChunk of too much", b.PutChunk(w.ctx(), "k", 0, big), store.ErrInvalid)
	page, err := b.BlobList(w.ctx(), store.PageRequest{})
	if err != nil || len(page.Items) != 0 {
		w.t.Errorf("BlobList = %+v, %v, want nothing", page.Items, err)
	}
}

func blobDelete(t *testing.T, w *world) {
	b := w.blobs()
	const n = 250
	for i := range n {
		w.putChunk("k", i, fmt.Sprint(i))
	}
	w.putChunk("kk", 0, "stays")
	for left := n - 100; ; left -= 100 {
		more, err := b.DeleteBlob(w.ctx(), "k")
		w.ok("DeleteBlob", err)
		if more != (left > 0) {
			t.Fatalf("DeleteBlob = more %v with %d left", more, max(left, 0))
		}
		if !more {
			break
		}
		w.hasChunk("k", left-1, fmt.Sprint(left-1))
		_, err = b.Chunk(w.ctx(), "k", left)
		w.refused("Chunk of the last", err, store.ErrNotFound)
	}
	page, err := b.BlobList(w.ctx(), store.PageRequest{})
	if err != nil || len(page.Items) != 1 || page.Items[0].Key != "kk" {
		t.Errorf("BlobList = %+v, %v, want kk alone", page.Items, err)
	}
	w.hasChunk("kk", 0, "stays")
	w.putChunk("k", 0, "anew") // a key that is free again is free
}

func blobList(t *testing.T, w *world) {
	b := w.blobs()
	var want []string
	for i := range 25 {
		key := fmt.Sprintf("task-%02d/x", i)
		w.putChunk(key, 1, "a")
		w.putChunk(key, 0, "b")
		want = append(want, key)
	}
	var got []string
	page := store.PageRequest{Limit: 10}
	for {
		res, err := b.BlobList(w.ctx(), page)
		w.ok("BlobList", err)
		for _, item := range res.Items {
			got = append(got, item.Key)
		}
		if page.Cursor = res.Cursor; page.Cursor == "" || len(got) > 100 {
			break
		}
		if len(res.Items) != 10 {
			t.Errorf("a page of %d, want 10", len(res.Items))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("BlobList = %v, want %v", got, want)
	}
}

func blobAge(t *testing.T, w *world) {
	b := w.blobs()
	age := func() int {
		page, err := b.BlobList(w.ctx(), store.PageRequest{})
		w.ok("BlobList", err)
		return int((page.Items[0].Age + w.u/2) / w.u)
	}
	w.putChunk("k", 0, "x")
	w.pass(10)
	if got := age(); got < 10 || got > 12 {
		t.Errorf("age = %d units, want 10", got)
	}
	w.putChunk("k", 0, "x") // a repeat is no news
	if got := age(); got < 10 {
		t.Errorf("age after a repeat = %d units, want 10", got)
	}
	w.putChunk("k", 1, "y")
	if got := age(); got > 3 {
		t.Errorf("age after another chunk = %d units, want 0", got)
	}
}

func blobProcesses(t *testing.T, w *world) {
	w.putChunk("k", 0, "x")
	other, ok := w.Open(t).(store.Blobs)
	if !ok {
		t.Fatal("another handle keeps no blobs")
	}
	got, err := other.Chunk(w.ctx(), "k", 0)
	if err != nil || string(got) != "x" {
		t.Errorf("Chunk of another process = %q, %v, want x", got, err)
	}
}

func blobRace(t *testing.T, w *world) {
	b := w.blobs()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 20 {
				if err := b.PutChunk(w.ctx(), fmt.Sprint("k", i%4), n, fmt.Appendf(nil, "%d %d", i%4, n)); err != nil {
					t.Errorf("PutChunk = %v", err)
				}
			}
		})
	}
	group.Wait()
	for i := range 4 {
		for n := range 20 {
			w.hasChunk(fmt.Sprint("k", i), n, fmt.Sprint(i, " ", n))
		}
	}
}

func blobApart(_ *testing.T, w *world) {
	w.blobs()
	k := w.join()
	task := k.start(func(s *store.Spec) { s.Retention = 0 })
	key := task.ID.String() + "/x"
	w.putChunk(key, 0, "x")
	k.done(task)
	w.ok("Delete", w.st.Delete(w.ctx(), task.ID))
	w.hasChunk(key, 0, "x")
}
