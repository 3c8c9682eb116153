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
	var out bytes.Buffer
	if err := run(ctx, slog.New(slog.NewTextHandler(t.Output(), nil)), &out); err != nil {
		t.Fatalf("run = %v", err)
	}
	want := `if ship fails: undo charge in queue payments, undo reserve, fail
1: parcel 1, paid by p-1
   reserve lamp
   charge 1200 (attempt 1)
   ship lamp
2: failed at charge: the card is refused
   reserve chair
   void what may have been charged (failed)
   release the shelf of chair
3: failed at approve: nobody has sent the signal approve in 200ms
   reserve table
   charge 9900 (attempt 1)
   refund p-3
   release the shelf of table
4: refused: [item: is missing cents: must be more than 0]
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
}
