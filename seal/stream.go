package seal

import (
	"bufio"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
)

// A stream is sealed in chunks, each by itself, under a key that is made for this one stream. What is authenticated with a chunk
// is the stream's place, the chunk's number and whether it is the last: a stream that was cut, lengthened or reordered does
// not open, and a chunk is given out only after it was checked.
const (
	// ChunkSize is how much of a stream is sealed at once: what a reader holds in memory.
	ChunkSize = 64 << 10

	sealedChunk = ChunkSize + gcmOverhead
)

// NewStreamKey makes the key of one stream. It must not be used for a second one.
func NewStreamKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key)
	return key
}

// SealStream returns a reader of what r gives, sealed. It holds one chunk in memory. An empty stream is sealed as any other.
func SealStream(key []byte, about string, r io.Reader) (io.Reader, error) {
	s, err := newStream(key, about, r, ChunkSize)
	if err != nil {
		return nil, err
	}
	s.step = func(bind, chunk []byte) ([]byte, error) { return s.aead.Seal(s.out[:0], nil, chunk, bind), nil }
	return s, nil
}

// OpenStream returns a reader of what SealStream sealed. The error of Read is ErrForged as soon as something is not as it was
// sealed; what was read before it is sound, but may not be all.
func OpenStream(key []byte, about string, r io.Reader) (io.Reader, error) {
	s, err := newStream(key, about, r, sealedChunk)
	if err != nil {
		return nil, err
	}
	s.step = func(bind, chunk []byte) ([]byte, error) {
		plain, err := s.aead.Open(s.out[:0], nil, chunk, bind)
		if err != nil {
			return nil, fmt.Errorf("%w: chunk %d of the stream was changed, or the stream was cut there", ErrForged, s.number)
		}
		return plain, nil
	}
	return s, nil
}

// stream turns chunks of one side into chunks of the other.
type stream struct {
	aead   cipher.AEAD
	about  string
	step   func(bind, chunk []byte) ([]byte, error)
	source *bufio.Reader
	in     []byte // room for a chunk
	out    []byte // room for a chunk of the other side
	rest   []byte // of out, not yet given out
	number uint64
	err    error // what comes after rest
}

func newStream(key []byte, about string, r io.Reader, size int) (*stream, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("%w: the key of a stream has %d bytes, and not %d", ErrForged, len(key), keySize)
	}
	return &stream{
		aead: gcm(key), about: about, source: bufio.NewReaderSize(r, 16<<10),
		in: make([]byte, size), out: make([]byte, 0, sealedChunk),
	}, nil
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.next()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next turns one chunk. The last one is known by what follows it: nothing.
func (s *stream) next() {
	n, err := s.fill()
	last := err != nil
	if !last {
		_, err = s.source.Peek(1)
		last = err != nil
	}
	if last && err != io.EOF { //nolint:errorlint // the bare word is the end; wrapped, it is somebody's error
		s.err = err
		return
	}
	out, err := s.step(s.bind(last), s.in[:n])
	switch {
	case err != nil:
		s.err = err
		return
	case last:
		s.err = io.EOF
	}
	s.rest = out
	s.number++
}

// fill reads a whole chunk, or what is left. It does not take a source that broke off (io.ErrUnexpectedEOF) for one that ended.
func (s *stream) fill() (n int, err error) {
	for n < len(s.in) && err == nil {
		var m int
		m, err = s.source.Read(s.in[n:])
		n += m
	}
	if n == len(s.in) {
		return n, nil // an error that came with the last byte comes again
	}
	return n, err
}

func (s *stream) bind(last bool) []byte {
	b := binary.BigEndian.AppendUint64([]byte{2, 0}, s.number)
	if last {
		b[1] = 1
	}
	return append(b, s.about...)
}
