package main

import (
	"bytes"
	"context"
	"log/slog"
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
	var out bytes.Buffer
	if err := run(ctx, k, &out); err != nil {
		t.Fatalf("run = %v", err)
	}
	want := `ann: paid ann/1200, attempt 2, billed before: false
bob: paid bob/850, attempt 2, billed before: false
mallory: failed: the account is blocked
ann: paid ann/1200, attempt 2, billed before: true
bob: paid bob/850, attempt 2, billed before: true
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}
