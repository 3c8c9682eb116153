package kernel_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/instore"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// inStore keeps blobs in the memory store, and fails as often as it is told to.
type inStore struct {
	*instore.Store
	puts  atomic.Int64
	fails atomic.Int64
}

func (s *inStore) Put(ctx context.Context, key string, r io.Reader) error {
	if s.fails.Add(-1) >= 0 {
		return errors.New("bucket is away")
	}
	s.puts.Add(1)
	return s.Store.Put(ctx, key, r)
}

func blobsOf(t testing.TB, mem *memory.Store) *inStore {
	t.Helper()
	s, err := instore.New(mem)
	if err != nil {
		t.Fatal(err)
	}
	return &inStore{Store: s}
}

func named(s blob.Store) []blob.Named { return []blob.Named{{Name: "in-store", Store: s}} }

func echo(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
	return kernel.Done(r.Task().Args), nil
}

// PH-129, R001-5
func TestAPayloadOverTheThresholdLeavesItsRecord(t *testing.T) {
	t.Parallel()
	for name, sealer := range map[string]kernel.Sealer{"plain": nil, "sealed": newRing(t)} {
		for _, c := range []struct {
			threshold, size int
			puts            int64
		}{
			{0, 64 << 10, 0}, {0, 64<<10 + 1, 2}, {100, 100, 0}, {100, 101, 2}, {-1, 500_000, 0},
		} {
			synctest.Test(t, func(t *testing.T) {
				mem := memory.New(memory.Config{})
				blobs := blobsOf(t, mem)
				k, _ := kerneltest.StartOn(t, mem, kernel.Config{Sealer: sealer, Blobs: named(blobs), BlobThreshold: c.threshold}, handlers{"x": echo})
				args := bytes.Repeat([]byte("secret! "), c.size/8+1)[:c.size]
				id := submit(t, k, kernel.Spec{Kind: "x", Args: args})
				got := kerneltest.Wait(t, k, id, store.Done)
				if !bytes.Equal(got.Args, args) || !bytes.Equal(got.Result, args) {
					t.Errorf("%s %+v: args of %d bytes, result of %d, want what was submitted", name, c, len(got.Args), len(got.Result))
				}
				raw, err := mem.Get(t.Context(), id)
				if err != nil || blobs.puts.Load() != c.puts || (len(raw.Args) < 500 && len(raw.Result) < 500) != (c.puts > 0 || c.size < 400) {
					t.Errorf("%s %+v: %d puts, and a record with %d and %d bytes, %v", name, c, blobs.puts.Load(), len(raw.Args), len(raw.Result), err)
				}
				if sealer == nil {
					return
				}
				for _, place := range [][]byte{raw.Args, raw.Result, everyChunk(t, mem)} {
					if bytes.Contains(place, []byte("secret!")) {
						t.Errorf("%+v: a secret is stored in the clear", c)
					}
				}
			})
		}
	}
}

func everyChunk(t testing.TB, mem *memory.Store) (all []byte) {
	t.Helper()
	page, err := mem.BlobList(t.Context(), store.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range page.Items {
		for n := 0; ; n++ {
			chunk, err := mem.Chunk(t.Context(), b.Key, n)
			if err != nil {
				break
			}
			all = append(all, chunk...)
		}
	}
	return all
}

// PH-131
func TestAPayloadThatIsGoneFailsItsTaskForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		cfg := kernel.Config{Blobs: named(blobsOf(t, mem)), BlobThreshold: 10}
		client := kerneltest.New(t, mem, cfg)
		id := submit(t, client, kernel.Spec{Kind: "x", Args: make([]byte, 100)})
		page, err := mem.BlobList(t.Context(), store.PageRequest{})
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("BlobList = %+v, %v, want one", page.Items, err)
		}
		if _, err := mem.DeleteBlob(t.Context(), page.Items[0].Key); err != nil {
			t.Fatal(err)
		}
		kerneltest.StartOn(t, mem.Process(), cfg, handlers{"x": echo})
		_, err = client.Wait(t.Context(), id)
		if !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Wait = %v, want ErrNotFound", err)
		}
		if got, err := mem.Get(t.Context(), id); err != nil || got.State != store.Failed || got.Attempts != 1 || got.Error.Type != "blob" {
			t.Errorf("the task is %s after %d attempts, error %+v, %v; want failed at once", got.State, got.Attempts, got.Error, err)
		}
	})
}

// PH-130
func TestATaskWaitsForAProcessThatHasItsBlobStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		cfg := kernel.Config{Blobs: named(blobsOf(t, mem)), BlobThreshold: 10}
		client := kerneltest.New(t, mem, cfg)
		id := submit(t, client, kernel.Spec{Kind: "x", Args: make([]byte, 100), Retry: kernel.Retry{Max: 1}})
		_, stop := kerneltest.StartOn(t, mem.Process(), kernel.Config{}, handlers{"x": echo})
		wait(t.Context(), time.Minute)
		got, err := mem.Get(t.Context(), id)
		if err != nil || got.State.Terminal() || got.Attempts != 0 || got.Error == nil || !strings.Contains(got.Error.Message, `"in-store"`) {
			t.Errorf("the task is %s, error %+v, %v; want it to wait, and the name of the store", got.State, got.Error, err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		kerneltest.StartOn(t, mem.Process(), cfg, handlers{"x": echo})
		kerneltest.Wait(t, client, id, store.Done)
	})
}

func TestNoArgsLeadToABlobOfAnotherTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Blobs: named(blobsOf(t, mem)), BlobThreshold: 10}, handlers{"x": echo})
		mine := submit(t, k, kernel.Spec{Kind: "x", Args: make([]byte, 100), Queue: "nobody"})
		raw, err := mem.Get(t.Context(), mine)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Submit(t.Context(), kernel.Spec{Kind: "x", Args: raw.Args}); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("Submit of args that look like a reference = %v, want ErrInvalid", err)
		}
		forged, err := k.Prepare(kernel.Spec{Kind: "x"})
		if err != nil {
			t.Fatal(err)
		}
		forged.Args = raw.Args
		if _, err := mem.Submit(t.Context(), store.SubmitRequest{Specs: []store.Spec{forged}}); err != nil {
			t.Fatal(err)
		}
		wait(t.Context(), 5*time.Second)
		if got, err := mem.Get(t.Context(), forged.ID); err != nil || got.State != store.Failed || got.Error.Type != "blob" {
			t.Errorf("the task is %s, error %+v, %v; want failed", got.State, got.Error, err)
		}
	})
}

func TestAStoreOfBlobsThatIsAwayLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		blobs := blobsOf(t, mem)
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Blobs: named(blobs), BlobThreshold: 10}, handlers{
			"x": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Done(make([]byte, 100)), nil },
		})
		blobs.fails.Store(1)
		if s, err := k.Submit(t.Context(), kernel.Spec{Kind: "x", Args: make([]byte, 100)}); err == nil {
			t.Errorf("Submit while it is away = %+v, want an error", s)
		}
		if n := len(kerneltest.Tasks(t, k, "x")); n != 0 {
			t.Errorf("%d tasks, want none", n)
		}
		blobs.fails.Store(5) // shorter than a result is tried
		if got := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "x"}), store.Done); got.Attempts != 0 || len(got.Result) != 100 {
			t.Errorf("%d failed attempts, a result of %d bytes; want none, and 100", got.Attempts, len(got.Result))
		}
		blobs.fails.Store(25) // longer
		if got := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "x"}), store.Done); got.Attempts == 0 || len(got.Result) != 100 {
			t.Errorf("%d failed attempts, a result of %d bytes; want some, and 100", got.Attempts, len(got.Result))
		}
	})
}

func TestHandlersPutAndOpenBlobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		k := kerneltest.New(t, mem, kernel.Config{Blobs: named(blobsOf(t, mem)), Sealer: newRing(t)})
		id := k.NewID()
		ref, err := k.PutBlob(t.Context(), id, strings.NewReader(strings.Repeat("body ", 100_000)))
		if err != nil || ref.Size != 500_000 || ref.Task() != id.String() || ref.Secret == nil {
			t.Fatalf("PutBlob = %v, %v, want a sealed blob of the task", ref, err)
		}
		r, err := k.OpenBlob(t.Context(), ref)
		if err != nil {
			t.Fatalf("OpenBlob = %v", err)
		}
		if text, err := io.ReadAll(r); err != nil || len(text) != 500_000 {
			t.Errorf("%d bytes, %v, want all of it", len(text), err)
		}
		if bytes.Contains(everyChunk(t, mem), []byte("body body")) {
			t.Error("the blob is stored in the clear")
		}
		spoilt := ref
		spoilt.SHA256 = strings.Repeat("0", 64)
		if r, err = k.OpenBlob(t.Context(), spoilt); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); !errors.Is(err, blob.ErrCorrupt) {
			t.Errorf("a blob with another digest = %v, want ErrCorrupt", err)
		}
		for range 2 {
			if err := k.DropBlob(t.Context(), ref); err != nil {
				t.Errorf("DropBlob = %v, want no error, also twice", err)
			}
		}
		if _, err := k.OpenBlob(t.Context(), ref); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("OpenBlob of what was dropped = %v, want ErrNotFound", err)
		}
		none := kerneltest.New(t, mem.Process(), kernel.Config{})
		if _, err := none.PutBlob(t.Context(), id, strings.NewReader("x")); !errors.Is(err, blob.ErrUnknownStore) {
			t.Errorf("PutBlob without a store = %v, want ErrUnknownStore", err)
		}
	})
}

// A missing blob that a handler asks for fails the task at once, without a word of the handler's.
func TestAMissingBlobIsAPermanentErrorOfWhoeverOpensIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		k := kerneltest.New(t, mem, kernel.Config{Blobs: named(blobsOf(t, mem))})
		k.Handle("x", func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			_, err := k.OpenBlob(ctx, kernel.Ref{Store: "in-store", Key: blob.NewKey("owner", r.ID().String())})
			return kernel.Outcome{}, err
		})
		kerneltest.Run(t, k)
		if got := kerneltest.Wait(t, k, submit(t, k, kernel.Spec{Kind: "x"}), store.Failed); got.Attempts != 1 || got.Error.Type != "blob" {
			t.Errorf("failed after %d attempts with %+v, want one and the type blob", got.Attempts, got.Error)
		}
	})
}

func TestBlobsGoWithTheirTasks(t *testing.T) { // PH-128, X-20
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		cfg := kernel.Config{Blobs: named(blobsOf(t, mem)), BlobThreshold: 10, Beat: time.Minute, DeadAfter: time.Hour, RecoverEvery: 10 * time.Minute}
		k, _ := kerneltest.StartOn(t, mem, cfg, handlers{
			"x": echo, "slow": func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) {
				wait(ctx, 5*time.Hour)
				return kernel.Outcome{}, nil
			},
			"fail": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
				return kernel.Outcome{}, kernel.Permanent(errors.New("no"))
			},
		})
		big := make([]byte, 100)
		submit(t, k, kernel.Spec{Kind: "x", Args: big, Retention: kernel.Forget})                                                               // stripped at once
		submit(t, k, kernel.Spec{Kind: "x", Args: big, Retention: kernel.Forget, OnEnd: &kernel.Spec{Kind: "slow", Timeout: kernel.NoTimeout}}) // once its OnEnd has ended
		submit(t, k, kernel.Spec{Kind: "x", Args: big})                                                                                         // kept for a day
		submit(t, k, kernel.Spec{Kind: "fail", Args: big})                                                                                      // kept
		submit(t, k, kernel.Spec{Kind: "x", Args: big, Queue: "nobody"})                                                                        // waits
		if _, err := k.PutBlob(t.Context(), k.NewID(), bytes.NewReader(big)); err != nil {                                                      // its task never comes
			t.Fatal(err)
		}
		blobs := func() int {
			page, err := mem.BlobList(t.Context(), store.PageRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Items)
		}
		for _, step := range []struct {
			pass time.Duration
			want int
		}{
			{50 * time.Minute, 9}, // younger than the grace: args and results of three, the args of two, and one without a task
			{30 * time.Minute, 6}, // without those of the first, and without the one whose task never came
			{5 * time.Hour, 4},    // without those of the second, whose OnEnd has ended
			{20 * time.Hour, 2},   // without those of the third, which has expired: what failed and what waits keep theirs
			{300 * time.Hour, 2},
		} {
			wait(t.Context(), step.pass)
			if n := blobs(); n != step.want {
				t.Errorf("after another %v there are %d blobs, want %d", step.pass, n, step.want)
			}
		}
	})
}

func TestBlobSettingsThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	mem := memory.New(memory.Config{})
	s := blobsOf(t, mem)
	for name, cfg := range map[string]kernel.Config{
		"twice": {Blobs: append(named(s), named(s)...)}, "no name": {Blobs: []blob.Named{{Store: s}}}, "grace": {BlobGrace: -1},
	} {
		if _, err := kernel.New(mem, cfg); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("%s: New = %v, want ErrInvalid", name, err)
		}
	}
}

// The sweep is not outrun by what makes blobs faster than it looks.
func TestManyBlobsWithoutATaskGoSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(memory.Config{})
		k, _ := kerneltest.StartOn(t, mem, kernel.Config{Blobs: named(blobsOf(t, mem)), BlobGrace: 20 * time.Minute}, nil)
		for range 3000 {
			if _, err := k.PutBlob(t.Context(), k.NewID(), strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		wait(t.Context(), 23*time.Minute)
		if page, err := mem.BlobList(t.Context(), store.PageRequest{}); err != nil || len(page.Items) != 0 {
			t.Errorf("%d blobs are left, %v, want none", len(page.Items), err)
		}
	})
}
