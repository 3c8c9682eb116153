package call

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Response is the answer to a request.
type Response struct {
	ID       kernel.ID // of the request
	Status   int
	Header   http.Header // Content-Encoding and Content-Length are gone where the body was decompressed
	Method   string      // of the request, as it was started
	URL      string      // that answered: the last one, after redirects
	Proto    string      // HTTP/1.1, HTTP/2.0
	Duration time.Duration
	// Redirects are the URLs that were left behind.
	Redirects []string
	// Attempts that failed before this one, and processes that died while they had the request.
	Attempts, Crashes int
	// Body is what came, decompressed. It is nil if the body was so large that it is a blob: Open reads both.
	Body []byte
	// Size of the body.
	Size int64
	// Args are the callback's, as JSON: see ArgsOf.
	Args json.RawMessage

	k   *kernel.Kernel
	ref *kernel.Ref
}

// OK reports whether the status is one of 200 to 299.
func (r *Response) OK() bool { return r.Status >= 200 && r.Status <= 299 }

// IsRedirect reports whether the status is one of 300 to 399.
func (r *Response) IsRedirect() bool { return r.Status >= 300 && r.Status <= 399 }

// IsClientError reports whether the status is one of 400 to 499.
func (r *Response) IsClientError() bool { return r.Status >= 400 && r.Status <= 499 }

// IsServerError reports whether the status is one of 500 to 599.
func (r *Response) IsServerError() bool { return r.Status >= 500 && r.Status <= 599 }

// IsError reports whether the status is one of 400 to 599.
func (r *Response) IsError() bool { return r.Status >= 400 && r.Status <= 599 }

// ContentType returns the media type without its parameters, in lower case; empty: there is none.
func (r *Response) ContentType() string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && media == "" {
		return ""
	}
	return media
}

// IsJSON reports whether the media type is one of JSON.
func (r *Response) IsJSON() bool {
	media := r.ContentType()
	return media == "text/json" || media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// ErrNotJSON says that an answer does not call itself JSON.
var ErrNotJSON = errors.New("the answer is not JSON")

// JSON decodes the body. ErrNotJSON if the media type is another.
func (r *Response) JSON(ctx context.Context, into any) error {
	if !r.IsJSON() {
		return fmt.Errorf("%w but %q", ErrNotJSON, r.ContentType())
	}
	body, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("decode the answer: %w", err)
	}
	return nil
}

// Open returns the body from its beginning, wherever it is kept. ErrForgotten if its keeper has let it go.
func (r *Response) Open(ctx context.Context) (io.ReadCloser, error) {
	if r.ref == nil {
		return io.NopCloser(bytes.NewReader(r.Body)), nil
	}
	body, err := r.k.OpenBlob(ctx, *r.ref)
	if err != nil && kernel.IsPermanent(err) {
		err = fmt.Errorf("%w: %w", ErrForgotten, err)
	}
	if err != nil {
		return nil, fmt.Errorf("open the body: %w", err)
	}
	return body, nil
}

// Bytes returns the whole body, wherever it is kept.
func (r *Response) Bytes(ctx context.Context) ([]byte, error) {
	body, err := r.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // only read
	return io.ReadAll(body)
}

func (r *Response) arguments() json.RawMessage { return r.Args }

// ArgsOf decodes the args that Start was given for the callback. Without any it is the zero value.
func ArgsOf[T any](of interface{ arguments() json.RawMessage }) (T, error) {
	var v T
	args := of.arguments()
	if len(args) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(args, &v); err != nil {
		return v, fmt.Errorf("args of the callback: %w", err)
	}
	return v, nil
}
