package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// usualHeaders are stored whatever Config.Headers says: they tell nothing that must be kept secret.
var usualHeaders = []string{"Accept", "Accept-Language", "Content-Language", "Content-Type", "User-Agent", "X-Request-Id"}

// capture makes of a request what is stored, without its body.
func (c *Config) capture(r *http.Request) *stored {
	s := &stored{Method: r.Method, Path: r.URL.Path, Header: http.Header{}}
	if q := r.URL.Query(); len(q) > 0 {
		s.Query = q
	}
	for _, list := range [][]string{usualHeaders, c.Headers} {
		for _, name := range list {
			if values := r.Header.Values(name); len(values) > 0 {
				s.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
			}
		}
	}
	for _, name := range slices.Concat(wildcards(r.Pattern), c.Params) {
		if value := r.PathValue(name); value != "" {
			if s.Params == nil {
				s.Params = map[string]string{}
			}
			s.Params[name] = value
		}
	}
	return s
}

// wildcards returns the names in a pattern of http.ServeMux.
func wildcards(pattern string) []string {
	var names []string
	for {
		_, rest, found := strings.Cut(pattern, "{")
		if !found {
			return names
		}
		name, rest, _ := strings.Cut(rest, "}")
		if name = strings.TrimSuffix(name, "..."); name != "" && name != "$" {
			names = append(names, name)
		}
		pattern = rest
	}
}

// readBody reads the body as the endpoint wants it.
func readBody(r *http.Request, kind bodyKind, s *stored, b *keeper) *Problem {
	if kind == bodyNone {
		return nil
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media = ""
	}
	s.Type = media
	if kind == bodyValue && media == "multipart/form-data" {
		return readMultipart(r, params["boundary"], s, b)
	}
	if kind == bodyRaw {
		p, err := b.keep(r.Context(), r.Body)
		if err != nil {
			return readProblem(err)
		}
		s.Raw, s.RawAt, s.Size = p.data, p.at, p.size
		return nil
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return readProblem(err)
	}
	s.Size = int64(len(data))
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return problem(http.StatusBadRequest, "no_body", "the request has no body")
	case media == "application/json", strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"):
		return readJSON(r.Context(), data, s, b)
	case media == "application/x-www-form-urlencoded":
		if s.Form, err = url.ParseQuery(string(data)); err != nil {
			return problem(http.StatusBadRequest, "bad_form", "the body is no form")
		}
		return nil
	}
	return problem(http.StatusUnsupportedMediaType, "bad_type", "the content type %.80q is not taken; send application/json or a form", media)
}

// readJSON takes a body that is one JSON value.
func readJSON(ctx context.Context, data []byte, s *stored, b *keeper) *Problem {
	var compact bytes.Buffer
	compact.Grow(len(data))
	if err := json.Compact(&compact, data); err != nil {
		return asProblem(decodeJSON(data, new(any)))
	}
	p, err := b.large(ctx, compact.Bytes())
	if err != nil {
		return readProblem(err)
	}
	s.JSON, s.JSONAt = p.data, p.at
	return nil
}

// readProblem tells why a body could not be read.
func readProblem(err error) *Problem {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge(large.Limit)
	}
	if errors.Is(err, errKeep) {
		return problem(http.StatusServiceUnavailable, "unavailable", "the request could not be stored")
	}
	return problem(http.StatusBadRequest, "bad_body", "the body could not be read")
}

func tooLarge(limit int64) *Problem {
	return problem(http.StatusRequestEntityTooLarge, "too_large", "the request is too large: at most %d bytes are taken", limit)
}

// readMultipart reads a multipart form with its files.
func readMultipart(r *http.Request, boundary string, s *stored, b *keeper) *Problem {
	parts := multipart.NewReader(r.Body, boundary)
	s.Form = url.Values{}
	for {
		part, err := parts.NextPart()
		if err == io.EOF { //nolint:errorlint // wrapped, it tells of a form that was cut off
			return nil
		}
		if err == nil {
			err = readPart(r.Context(), part, s, b)
		}
		if err != nil {
			if p := readProblem(err); p.Status != http.StatusBadRequest {
				return p
			}
			return problem(http.StatusBadRequest, "bad_form", "the body is no multipart form")
		}
	}
}

func readPart(ctx context.Context, part *multipart.Part, s *stored, b *keeper) error {
	if part.FileName() == "" {
		data, err := io.ReadAll(part)
		s.Form.Add(part.FormName(), string(data))
		return err
	}
	p, err := b.keep(ctx, part)
	f := File{Field: part.FormName(), Name: part.FileName(), Type: part.Header.Get("Content-Type"), Size: p.size, Data: p.data}
	s.Files = append(s.Files, storedFile{File: f, At: p.at})
	return err
}

// args encodes a stored request as the args of a task: what lies elsewhere is not in it. What is larger than a record may be is refused.
func args(k *kernel.Kernel, s *stored) ([]byte, *Problem) {
	bare := *s
	if s.JSONAt != nil {
		bare.JSON = nil
	}
	data, err := json.Marshal(&bare)
	if err != nil {
		return nil, problem(http.StatusBadRequest, "bad_body", "the request cannot be stored")
	}
	if limit := k.MaxPayload(); limit >= 0 && len(data) > limit {
		return nil, tooLarge(int64(limit))
	}
	return data, nil
}
