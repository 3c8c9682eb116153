// Package s3 keeps blobs in a bucket of S3, or of a server that speaks like it. It is a small client of its own, of the
// standard library alone: signed requests, uploads in parts, nothing else. Requests name the bucket in the path.
//
// A blob of more than PartSize is uploaded in parts, of which one is held in memory; it is there once the last step succeeds.
// What an upload that never ended has left is invisible, costs money, and is removed by Tidy.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/outlast-go/outlast/blob"
)

// Config names a bucket.
type Config struct {
	// Bucket must exist.
	Bucket string
	// Prefix begins the names of all objects. Default: outlast/
	Prefix string
	// Endpoint is the URL of the server. Default: that of AWS in the region.
	Endpoint string
	// Region is signed with. Default: AWS_REGION of the environment, else us-east-1.
	Region string
	// Credentials are asked for with each request, so they may change. Default: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
	// AWS_SESSION_TOKEN of the environment.
	Credentials func(ctx context.Context) (Credentials, error)
	// PartSize is how much of a blob is held in memory and sent at once. Default 8 MiB; at least 5 MiB, at most 1 GiB. A blob has
	// at most 10,000 parts.
	PartSize int
	// Client sends requests. Default: one with timeouts for all but the body.
	Client *http.Client
}

// Store keeps blobs in a bucket. It is made by New.
type Store struct {
	base                   *url.URL
	bucket, prefix, region string
	credentials            func(ctx context.Context) (Credentials, error)
	part                   int
	client                 *http.Client
	pause                  time.Duration
}

var _ blob.Store = (*Store)(nil)

// New makes a store. It sends nothing: the first request tells whether bucket and credentials are right.
func New(c Config) (*Store, error) {
	s := &Store{bucket: c.Bucket, prefix: c.Prefix, region: c.Region, credentials: c.Credentials, part: c.PartSize, client: c.Client, pause: 50 * time.Millisecond}
	if s.prefix == "" {
		s.prefix = "outlast/"
	}
	if s.region == "" {
		s.region = os.Getenv("AWS_REGION")
	}
	if s.region == "" {
		s.region = "us-east-1"
	}
	if s.credentials == nil {
		s.credentials = fromEnv
	}
	if s.part == 0 {
		s.part = 8 << 20
	}
	if s.client == nil {
		s.client = newClient()
	}
	if c.Endpoint == "" {
		c.Endpoint = "https://s3." + s.region + ".amazonaws.com"
	}
	base, err := url.Parse(strings.TrimRight(c.Endpoint, "/"))
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.User != nil || base.RawQuery != "":
		return nil, fmt.Errorf("s3.Config: %w: Endpoint must be a URL of http or https, without user and query", blob.ErrInvalid)
	case s.bucket == "" || strings.ContainsAny(s.bucket, "/ ?#%"):
		return nil, fmt.Errorf("s3.Config: %w: Bucket is %q; it must be the name of a bucket", blob.ErrInvalid, s.bucket)
	case strings.HasPrefix(s.prefix, "/") || !strings.HasSuffix(s.prefix, "/"):
		return nil, fmt.Errorf("s3.Config: %w: Prefix is %q; it must end with a slash and not begin with one", blob.ErrInvalid, s.prefix)
	case s.part < 5<<20 || s.part > 1<<30:
		return nil, fmt.Errorf("s3.Config: %w: PartSize is %d; S3 takes parts of 5 MiB at least, and 1 GiB is the most here", blob.ErrInvalid, s.part)
	}
	s.base = base
	return s, nil
}

func newClient() *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	return &http.Client{CheckRedirect: stay, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: time.Minute, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 32,
		DisableCompression: true, // bytes come as they were put
	}}
}

// stay does not follow: a request is signed for one host, and a redirect says that Region or Endpoint are wrong.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func fromEnv(context.Context) (Credentials, error) {
	c := Credentials{AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"), SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN")}
	if c.AccessKey == "" || c.SecretKey == "" {
		return c, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set; set them, or Config.Credentials")
	}
	return c, nil
}

// Get opens an object.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := blob.CheckKey(key); err != nil {
		return nil, err
	}
	res, err := s.do(ctx, request{method: http.MethodGet, key: key})
	if is(err, "NoSuchKey") {
		return nil, fmt.Errorf("object %s of bucket %s: %w", s.prefix+key, s.bucket, blob.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := blob.CheckKey(key); err != nil {
		return err
	}
	_, err := s.call(ctx, request{method: http.MethodDelete, key: key}, nil)
	if is(err, "NoSuchKey") {
		return nil
	}
	return err
}

// List pages through objects. Those that are no blobs are passed over.
func (s *Store) List(ctx context.Context, cursor string, limit int) (page blob.Page, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {s.prefix}, "max-keys": {fmt.Sprint(min(max(limit, 1), 1000))}}
	if cursor != "" {
		query.Set("start-after", cursor)
	}
	var list struct {
		IsTruncated bool
		Contents    []struct {
			Key          string
			LastModified time.Time
		}
	}
	header, err := s.call(ctx, request{method: http.MethodGet, query: query}, &list)
	if err != nil {
		return page, err
	}
	now := serverTime(header)
	for _, o := range list.Contents {
		if list.IsTruncated {
			page.Cursor = o.Key
		}
		if key := strings.TrimPrefix(o.Key, s.prefix); blob.CheckKey(key) == nil {
			page.Items = append(page.Items, blob.Info{Key: key, Age: now.Sub(o.LastModified)})
		}
	}
	return page, nil
}

// serverTime is the server's clock: ages do not depend on ours.
func serverTime(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}
