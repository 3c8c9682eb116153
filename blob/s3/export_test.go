package s3

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// CreateBucket creates the bucket of the store.
func (s *Store) CreateBucket(ctx context.Context) error {
	_, err := s.call(ctx, request{method: http.MethodPut}, nil)
	return err
}

// BeginUpload begins an upload in parts, and leaves it.
func (s *Store) BeginUpload(ctx context.Context, key string) error {
	var begun struct{ UploadId string }
	_, err := s.call(ctx, request{method: http.MethodPost, key: key, query: url.Values{"uploads": {""}}}, &begun)
	return err
}

// Sign is sign.
func Sign(req *http.Request, c Credentials, region, payload string, now time.Time) {
	sign(req, c, region, payload, now)
}
