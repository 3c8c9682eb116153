package seal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/outlast-go/outlast/seal"
)

func sealStream(t testing.TB, key []byte, plain []byte) []byte {
	t.Helper()
	r, err := seal.SealStream(key, "place", bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("SealStream = %v, want no error", err)
	}
	return text
}

func openStream(key []byte, about string, text io.Reader) ([]byte, error) {
	r, err := seal.OpenStream(key, about, text)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestAStreamOpensAsItWasSealed(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, seal.ChunkSize - 1, seal.ChunkSize, seal.ChunkSize + 1, 3 * seal.ChunkSize, 300_000} {
		key, plain := seal.NewStreamKey(), make([]byte, size)
		_, _ = rand.Read(plain)
		text := sealStream(t, key, plain)
		if size > 16 && bytes.Contains(text, plain[:16]) {
			t.Errorf("%d bytes: the stream is in the clear", size)
		}
		for name, r := range map[string]io.Reader{
			"whole": bytes.NewReader(text), "bytes": iotest.OneByteReader(bytes.NewReader(text)), "eager end": iotest.DataErrReader(bytes.NewReader(text)),
		} {
			if got, err := openStream(key, "place", r); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes, %s: OpenStream = %d bytes, %v, want the same", size, name, len(got), err)
			}
		}
	}
}

func TestAStreamThatWasMeddledWithDoesNotOpen(t *testing.T) {
	t.Parallel()
	const sealedChunk = seal.ChunkSize + 28
	key, plain := seal.NewStreamKey(), make([]byte, 3*seal.ChunkSize+100)
	_, _ = rand.Read(plain)
	text := sealStream(t, key, plain)
	chunk := func(i int) []byte { return text[i*sealedChunk : min((i+1)*sealedChunk, len(text))] }
	flipped := bytes.Clone(text)
	flipped[sealedChunk+5] ^= 1
	for name, bad := range map[string][]byte{
		"nothing at all":       {},
		"cut in a chunk":       text[:len(text)-1],
		"cut between chunks":   text[:3*sealedChunk],
		"cut to the first":     chunk(0),
		"reordered":            bytes.Join([][]byte{chunk(1), chunk(0), chunk(2), chunk(3)}, nil),
		"a chunk left out":     bytes.Join([][]byte{chunk(0), chunk(2), chunk(3)}, nil),
		"a chunk twice":        bytes.Join([][]byte{chunk(0), chunk(1), chunk(1), chunk(2), chunk(3)}, nil),
		"only the last":        chunk(3),
		"lengthened":           append(bytes.Clone(text), 0),
		"the last chunk twice": append(bytes.Clone(text), chunk(3)...),
		"a changed bit":        flipped,
	} {
		if got, err := openStream(key, "place", bytes.NewReader(bad)); !errors.Is(err, seal.ErrForged) || !bytes.HasPrefix(plain, got) {
			t.Errorf("%s: OpenStream = %d bytes, %v, want ErrForged and nothing wrong before it", name, len(got), err)
		}
	}
	if _, err := openStream(key, "elsewhere", bytes.NewReader(text)); !errors.Is(err, seal.ErrForged) {
		t.Errorf("OpenStream of another place = %v, want ErrForged", err)
	}
	if _, err := openStream(seal.NewStreamKey(), "place", bytes.NewReader(text)); !errors.Is(err, seal.ErrForged) {
		t.Errorf("OpenStream under another key = %v, want ErrForged", err)
	}
	if _, err := openStream(nil, "place", bytes.NewReader(text)); !errors.Is(err, seal.ErrForged) {
		t.Errorf("OpenStream without a key = %v, want ErrForged", err)
	}
}

// A body that breaks off is told by io.ErrUnexpectedEOF: sealed as if it had ended it would look whole for ever.
func TestASourceThatBreaksOffIsNoEnd(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 10, seal.ChunkSize, seal.ChunkSize + 10} {
		for _, cause := range []error{io.ErrUnexpectedEOF, errors.New("reset")} {
			source := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(cause))
			r, err := seal.SealStream(seal.NewStreamKey(), "place", source)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r); !errors.Is(err, cause) {
				t.Errorf("after %d bytes: SealStream = %v, want %v", size, err, cause)
			}
		}
	}
}

func FuzzOpenStream(f *testing.F) {
	key := seal.NewStreamKey()
	f.Add(sealStream(f, key, []byte("hello")), uint32(0))
	f.Add(sealStream(f, key, make([]byte, 2*seal.ChunkSize)), uint32(seal.ChunkSize+28))
	f.Fuzz(func(t *testing.T, text []byte, cut uint32) {
		good := sealStream(t, key, text)
		if got, err := openStream(key, "place", bytes.NewReader(good)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("OpenStream = %x, %v, want %x", got, err, text)
		}
		n := int(cut) % len(good)
		if _, err := openStream(key, "place", bytes.NewReader(good[:n])); !errors.Is(err, seal.ErrForged) {
			t.Errorf("cut to %d of %d: OpenStream = %v, want ErrForged", n, len(good), err)
		}
	})
}
