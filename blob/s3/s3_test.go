package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/blobtest"
	"github.com/outlast-go/outlast/blob/s3"
	"github.com/outlast-go/outlast/test/servers"
)

const task = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"

func open(t testing.TB, endpoint, bucket, secret string) *s3.Store {
	t.Helper()
	s, err := s3.New(s3.Config{
		Endpoint: endpoint, Bucket: bucket, Prefix: "some prefix+/äö/",
		Credentials: func(context.Context) (s3.Credentials, error) {
			return s3.Credentials{AccessKey: "outlast", SecretKey: secret}, nil
		},
	})
	if err != nil {
		t.Fatalf("New = %v, want no error", err)
	}
	return s
}

// bucket makes a bucket, and returns a store in it.
func bucket(t testing.TB, server *servers.S3, name string) *s3.Store {
	t.Helper()
	s := open(t, server.Endpoint, name, server.Secret)
	if err := s.CreateBucket(t.Context()); err != nil {
		t.Fatalf("create the bucket: %v", err)
	}
	return s
}

func TestConformance(t *testing.T) {
	server := servers.StartS3(t)
	n := 0
	blobtest.Run(t, func(t testing.TB) blobtest.Config {
		n++
		name := fmt.Sprintf("bucket-%d", n)
		bucket(t, server, name)
		return blobtest.Config{Open: func(t testing.TB) blob.Store { return open(t, server.Endpoint, name, server.Secret) }}
	})
}

func TestUploadsThatNeverEndedAreTidied(t *testing.T) {
	server := servers.StartS3(t)
	s := bucket(t, server, "tidy")
	for range 3 {
		if err := s.BeginUpload(t.Context(), blob.NewKey("owner", task)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Tidy(t.Context(), time.Hour); n != 0 || err != nil {
		t.Errorf("Tidy of what is older than an hour = %d, %v, want none", n, err)
	}
	if n, err := s.Tidy(t.Context(), -time.Minute); n != 3 || err != nil {
		t.Errorf("Tidy = %d, %v, want 3", n, err)
	}
	if n, err := s.Tidy(t.Context(), -time.Minute); n != 0 || err != nil {
		t.Errorf("Tidy again = %d, %v, want none", n, err)
	}
}

// A large source that breaks off leaves neither an object nor parts of one.
func TestAnUploadThatFailsIsAborted(t *testing.T) {
	server := servers.StartS3(t)
	s := bucket(t, server, "abort")
	ctx, cancel := context.WithCancel(t.Context())
	source := io.MultiReader(io.LimitReader(zeros{}, 20<<20), after(cancel), io.LimitReader(zeros{}, 20<<20))
	if err := s.Put(ctx, blob.NewKey("owner", task), source); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want context.Canceled", err)
	}
	if n, err := s.Tidy(t.Context(), -time.Minute); n != 0 || err != nil {
		t.Errorf("Tidy = %d, %v, want nothing left to do", n, err)
	}
	page, err := s.List(t.Context(), "", 10)
	if err != nil || len(page.Items) != 0 {
		t.Errorf("List = %+v, %v, want nothing", page.Items, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type after func()

func (f after) Read([]byte) (int, error) { f(); return 0, io.EOF }

// between stands before the server and makes trouble: its answers get lost after the server has done what was asked for.
func between(t *testing.T, server *servers.S3, lose func(*http.Request) bool) string {
	t.Helper()
	to, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ModifyResponse: func(res *http.Response) error {
			if lose(res.Request) {
				return errors.New("lost")
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { panic(http.ErrAbortHandler) },
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

func TestAnAnswerThatIsLostLosesNothing(t *testing.T) {
	server := servers.StartS3(t)
	bucket(t, server, "lost")
	for _, size := range []int64{1000, 20 << 20} {
		var last atomic.Value
		last.Store("")
		s := open(t, between(t, server, func(r *http.Request) bool { // each request once
			what := r.Method + r.URL.RawQuery
			return last.Swap(what) != what
		}), "lost", server.Secret)
		key := blob.NewKey("owner", task)
		if err := s.Put(t.Context(), key, io.LimitReader(zeros{}, size)); err != nil {
			t.Errorf("Put of %d bytes = %v, want no error", size, err)
			continue
		}
		r, err := s.Get(t.Context(), key)
		if err != nil {
			t.Errorf("Get = %v", err)
			continue
		}
		if n, err := io.Copy(io.Discard, r); n != size || err != nil {
			t.Errorf("%d bytes, %v, want %d", n, err, size)
		}
		_ = r.Close()
	}
}

func TestAServerThatRestartsIsWaitedFor(t *testing.T) {
	server := servers.StartS3(t)
	s := bucket(t, server, "restart")
	server.Stop()
	key := blob.NewKey("owner", task)
	var putting sync.WaitGroup
	var err error
	putting.Go(func() { err = s.Put(t.Context(), key, strings.NewReader("x")) })
	server.Start()
	if putting.Wait(); err != nil {
		t.Errorf("Put over a restart = %v, want no error", err)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	server := servers.StartS3(t)
	bucket(t, server, "errors")
	key := blob.NewKey("owner", task)
	_, err := open(t, server.Endpoint, "errors", "wrong secret").Get(t.Context(), key)
	if err == nil || errors.Is(err, blob.ErrNotFound) || !strings.Contains(err.Error(), "SignatureDoesNotMatch") || strings.Contains(err.Error(), "wrong secret") {
		t.Errorf("Get with a wrong secret = %v, want it to say so without the secret", err)
	}
	_, err = open(t, server.Endpoint, "nowhere", server.Secret).Get(t.Context(), key)
	if err == nil || errors.Is(err, blob.ErrNotFound) || !strings.Contains(err.Error(), "NoSuchBucket") {
		t.Errorf("Get from no bucket = %v, want it to say so, and not that the blob is gone", err)
	}
	for name, c := range map[string]s3.Config{
		"no bucket": {}, "odd bucket": {Bucket: "a/b"}, "no URL": {Bucket: "b", Endpoint: "localhost:9000"}, "small parts": {Bucket: "b", PartSize: 1},
		"odd prefix": {Bucket: "b", Prefix: "x"}, "password in the URL": {Bucket: "b", Endpoint: "http://me:secret@host"},
	} {
		if _, err := s3.New(c); !errors.Is(err, blob.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: New = %v, want ErrInvalid", name, err)
		}
	}
}

// The examples of the S3 documentation, "Signature Calculations for the Authorization Header".
func TestSignaturesAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	c := s3.Credentials{AccessKey: "AKIAIOSFODNN7EXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for target, want := range map[string]string{
		"/test.txt":             "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		"/?lifecycle":           "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		"/?max-keys=2&prefix=J": "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://examplebucket.s3.amazonaws.com"+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if target == "/test.txt" {
			req.Header.Set("Range", "bytes=0-9")
		}
		s3.Sign(req, c, "us-east-1", empty, at)
		if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+want) {
			t.Errorf("%s: %s, want the signature %s", target, got, want)
		}
	}
}
