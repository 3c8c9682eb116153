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
	want := `2026-08: failed, 2 good, 1 bad, submitted before: false
line 3: negative kwh
ann 37.20
cid 24.80
2026-08: failed, 2 good, 1 bad, submitted before: true
line 3: negative kwh
ann 37.20
cid 24.80
submit batch energy/bill: line 2: invalid: column "kwh": "many" is not a int
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}
