package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"
)

func TestTheExampleDoesWhatItSays(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	k, err := newKernel(slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatalf("newKernel = %v", err)
	}
	defer k.Close()
	s := httptest.NewServer(service())
	defer s.Close()
	var out bytes.Buffer
	if err := run(ctx, k, s.URL, &out); err != nil {
		t.Fatalf("run = %v", err)
	}
	want := `atlantis: no weather: http, status 404
berlin: 18 degrees, after 1 failed attempts
lisbon: 18 degrees, after 1 failed attempts
oslo: 16 degrees, after 1 failed attempts
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}
