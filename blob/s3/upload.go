package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/outlast-go/outlast/blob"
)

const partLimit = 10_000 // parts of one upload

// Put sends a small blob at once, and a large one in parts.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	part, err := read(r, nil, s.part)
	if err != nil {
		return err
	}
	if len(part) == s.part {
		return s.putParts(ctx, key, part, r)
	}
	_, err = s.call(ctx, request{method: http.MethodPut, key: key, body: part}, nil)
	return err
}

// read appends to buf until it has size bytes or r has ended. A source that breaks off is an error.
func read(r io.Reader, buf []byte, size int) ([]byte, error) {
	for len(buf) < size {
		if cap(buf)-len(buf) < 512 {
			buf = append(make([]byte, 0, min(max(2*cap(buf), 64<<10), size)), buf...)
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), size)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// putParts uploads part after part, and makes one object of them. An upload that fails is aborted, also when its context is over.
func (s *Store) putParts(ctx context.Context, key string, part []byte, r io.Reader) (err error) {
	var begun struct{ UploadId string }
	if _, err := s.call(ctx, request{method: http.MethodPost, key: key, query: url.Values{"uploads": {""}}}, &begun); err != nil {
		return err
	}
	upload := begun.UploadId
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // parts that stay cost money
		defer cancel()
		_ = s.abort(ctx, key, upload) // Tidy finds what stays
	}()
	var tags []string
	for last := false; !last; {
		if len(tags) == partLimit {
			return fmt.Errorf("%w: the blob has more than %d parts of %d bytes; set a larger PartSize", blob.ErrInvalid, partLimit, s.part)
		}
		query := url.Values{"partNumber": {fmt.Sprint(len(tags) + 1)}, "uploadId": {upload}}
		header, err := s.call(ctx, request{method: http.MethodPut, key: key, query: query, body: part}, nil)
		if err != nil {
			return err
		}
		tags = append(tags, header.Get("ETag"))
		if last = len(part) < s.part; last {
			break
		}
		if part, err = read(r, part[:0], s.part); err != nil {
			return err
		}
		last = len(part) == 0
	}
	return s.complete(ctx, key, upload, tags)
}

// complete makes an object of its parts. A repeat whose first answer was lost finds no upload any more: then the object tells.
func (s *Store) complete(ctx context.Context, key, upload string, tags []string) error {
	var body bytes.Buffer
	body.WriteString(`<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	for i, tag := range tags {
		fmt.Fprintf(&body, "<Part><PartNumber>%d</PartNumber><ETag>", i+1)
		_ = xml.EscapeText(&body, []byte(tag)) // a buffer takes everything
		body.WriteString("</ETag></Part>")
	}
	body.WriteString("</CompleteMultipartUpload>")
	var done struct{ ETag string }
	_, err := s.call(ctx, request{method: http.MethodPost, key: key, query: url.Values{"uploadId": {upload}}, body: body.Bytes()}, &done)
	if is(err, "NoSuchUpload") {
		if _, there := s.call(ctx, request{method: http.MethodHead, key: key}, nil); there == nil {
			return nil
		}
	}
	return err
}

func (s *Store) abort(ctx context.Context, key, upload string) error {
	_, err := s.call(ctx, request{method: http.MethodDelete, key: key, query: url.Values{"uploadId": {upload}}}, nil)
	if is(err, "NoSuchUpload") {
		return nil
	}
	return err
}

// Tidy aborts uploads that were begun so long ago. It looks at up to 1,000 of them: what is left comes with the next call.
func (s *Store) Tidy(ctx context.Context, older time.Duration) (removed int, err error) {
	var list struct {
		Upload []struct {
			Key       string
			UploadId  string
			Initiated time.Time
		}
	}
	header, err := s.call(ctx, request{method: http.MethodGet, query: url.Values{"uploads": {""}, "prefix": {s.prefix}}}, &list)
	if err != nil {
		return 0, err
	}
	now := serverTime(header)
	for _, u := range list.Upload {
		key := strings.TrimPrefix(u.Key, s.prefix)
		if blob.CheckKey(key) != nil || now.Sub(u.Initiated) < older {
			continue
		}
		if err := s.abort(ctx, key, u.UploadId); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
