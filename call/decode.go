package call

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

var (
	errTooLarge = errors.New("the answer is too large")
	errDecode   = errors.New("the answer does not decompress")
)

// A body that grows by more than ratioLimit once it has passed ratioAfter bytes is a bomb, whatever may be kept of it.
const (
	ratioLimit = 200
	ratioAfter = 8 << 20
)

// patient tells the watch of an attempt that bytes have come.
type patient struct {
	r io.Reader
	w *watch
	n int64
}

func (p *patient) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n += int64(n)
	if n > 0 {
		p.w.again()
	}
	return n, err
}

// bounded ends with errTooLarge when more than limit bytes come, or more than their source can be trusted with.
type bounded struct {
	r     io.Reader
	raw   *patient
	limit int64
	n     int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.limit-b.n+1 {
		p = p[:b.limit-b.n+1] // one more than allowed tells that there is more
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	switch {
	case b.n > b.limit:
		return n, fmt.Errorf("%w: it has more than %d bytes", errTooLarge, b.limit)
	case b.n > ratioAfter && b.n > ratioLimit*b.raw.n:
		return n, fmt.Errorf("%w: it decompresses to %d times its size", errTooLarge, ratioLimit)
	}
	return n, err
}

// decodeBody returns the body of an answer, decompressed and bounded. Encodings that are not known are left as they are, with their header.
func decodeBody(resp *http.Response, w *watch, limit int64) (io.Reader, error) {
	raw := &patient{r: resp.Body, w: w}
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header.Values("Content-Encoding"), ",")))
	if strings.Contains(encoding, ",") {
		return nil, fmt.Errorf("%w: it is encoded more than once", errDecode)
	}
	decoded, known, err := decompress(raw, encoding)
	if err != nil {
		return nil, err
	}
	if known {
		resp.Header.Del("Content-Encoding")
		resp.Header.Del("Content-Length")
	} else if resp.ContentLength > limit {
		return nil, fmt.Errorf("%w: it has %d bytes, and %d are allowed", errTooLarge, resp.ContentLength, limit)
	}
	return &bounded{r: decoded, raw: raw, limit: limit}, nil
}

func decompress(raw io.Reader, encoding string) (r io.Reader, known bool, err error) {
	switch encoding {
	case "gzip", "x-gzip", "deflate":
	default:
		return raw, false, nil
	}
	buffered := bufio.NewReader(raw)
	head, err := buffered.Peek(2)
	if len(head) == 0 && errors.Is(err, io.EOF) {
		return buffered, true, nil // an empty body is empty in every encoding
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	if encoding != "deflate" {
		z, err := gzip.NewReader(buffered)
		return &decoding{z}, true, broken(err)
	}
	// By the book it is zlib; some servers send the bare stream.
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		z, err := zlib.NewReader(buffered)
		return &decoding{z}, true, broken(err)
	}
	return &decoding{flate.NewReader(buffered)}, true, nil
}

// decoding tells errors of the format from those of the connection.
type decoding struct{ r io.Reader }

func (d *decoding) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	return n, broken(err)
}

func broken(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum),
		errors.Is(err, zlib.ErrDictionary), errors.As(err, &corrupt):
		return fmt.Errorf("%w: %w", errDecode, err)
	}
	return err
}
