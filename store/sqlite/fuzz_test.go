package sqlite

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// fuzzSpec is a spec that has something in every part.
func fuzzSpec(kind, key, value string, args []byte, n int64) store.Spec {
	return store.Spec{
		ID: store.DeriveID(kind), Kind: kind, Queue: key, Lane: value, Limit: key, Order: store.OrderFail, Priority: int(n), Args: args,
		Delay: time.Duration(n), DueAt: due(n), StartBy: 1, Timeout: time.Duration(n),
		Retry:  store.Retry{Max: int(n), Base: 2, Factor: 1.5, Cap: 3, CrashSpends: n%2 == 0, Exact: n%3 == 0},
		Unique: store.Unique{Key: key, OnConflict: store.Latest, For: time.Duration(n)}, Fingerprint: value, Group: store.DeriveID(key), Line: n,
		Parent: store.DeriveID(value), Owned: n%5 == 0, Labels: map[string]string{key: value}, Correlation: kind, Trace: value, Sealed: store.DeriveID("s"),
		Retention: time.Duration(n),
	}
}

// due is an instant that is stored as it is: one in the first or last year that nanoseconds reach is not.
func due(n int64) time.Time {
	return instant(n / 2)
}

// A record is read as it was written, whatever is in it, and also from the beginning of a longer one of a later version.
func FuzzSpecRoundTrip(f *testing.F) {
	f.Add("mail", "k", "v", []byte("{}"), int64(7))
	f.Add("", "", "", []byte(nil), int64(math.MinInt64))
	f.Add("\xff\x00", "é", "\n", []byte{}, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, kind, key, value string, args []byte, n int64) {
		s := fuzzSpec(kind, key, value, args, n)
		next := s
		s.OnEnd = &next
		d := &decoder{b: append(encodeSpec(&s, nil), 1, 2, 3)}
		if format := d.int(); format != 1 {
			t.Fatalf("format = %d", format)
		}
		if got := d.spec(); d.bad || !reflect.DeepEqual(got, s) {
			t.Errorf("read %+v, bad %v; want %+v", got, d.bad, s)
		}
	})
}

// Bytes of any kind are read without a panic, in memory that is bounded by their length; what is cut reads as an older record or as
// bad, and never as something that was not there.
func FuzzDecodeRecord(f *testing.F) {
	s := fuzzSpec("mail", "k", "v", []byte("args"), 9)
	f.Add(encodeSpec(&s, nil))
	whole := &task{Task: store.Task{
		Spec: s, Reason: "r", Wakes: 3, Nonce: s.ID, Result: []byte("x"), Error: &store.Error{Message: "m", Type: "t", Detail: []byte("d")},
		Staged: &store.Outcome{Kind: store.OutcomeDone}, History: []store.Event{{Kind: "submitted", Text: "t"}},
	}}
	f.Add(whole.encode(nil))
	f.Add([]byte{2, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(bytes.Repeat([]byte{2}, 4000))
	f.Fuzz(func(t *testing.T, record []byte) {
		d := &decoder{b: bytes.Clone(record)}
		if d.int() != format {
			return
		}
		got := d.spec()
		if held := len(got.Args) + len(got.Kind) + len(got.Lane) + len(got.Trace); held > len(record) {
			t.Errorf("%d bytes of record hold %d of text", len(record), held)
		}
		if got.OnEnd != nil && got.OnEnd.OnEnd != nil {
			t.Errorf("a task that follows an ending is followed by another; want it to be bad")
		}
		body := &task{}
		b := &decoder{b: bytes.Clone(record)}
		b.int()
		body.decode(b)
		if b.bad {
			return
		}
		again := &task{}
		c := &decoder{b: body.encode(nil)}
		c.int()
		if again.decode(c); c.bad || !reflect.DeepEqual(again.Task, body.Task) {
			t.Errorf("written anew it reads as %+v, bad %v; want %+v", again.Task, c.bad, body.Task)
		}
	})
}

// The file of a worker may hold anything: it reads as what was written to it, or as nothing that makes sense.
func FuzzNote(f *testing.F) {
	var good memFile
	if err := writeNote(&good, card{N: 3, At: 5}); err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(good), int64(1))
	f.Add([]byte(good[:9]), int64(-1))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, int64(0))
	f.Fuzz(func(t *testing.T, text []byte, n int64) {
		var c card
		if err := readNote(bytes.NewReader(text), &c); err != nil && !errors.Is(err, errNote) {
			t.Errorf("readNote = %v; want errNote", err)
		}
		over := memFile(bytes.Clone(text))
		want := card{N: n, At: n + 1}
		if err := writeNote(&over, want); err != nil {
			t.Fatal(err)
		}
		if err := readNote(bytes.NewReader(over), &c); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("readNote of what was written over it = %+v, %v; want %+v", c, err, want)
		}
	})
}

// memFile is a file that is written at its beginning.
type memFile []byte

func (m *memFile) WriteAt(p []byte, _ int64) (int, error) {
	if len(*m) < len(p) {
		*m = make([]byte, len(p))
	}
	return copy(*m, p), nil
}

// A cursor is one that a list gave, or ErrInvalid.
func FuzzListCursor(f *testing.F) {
	id := store.DeriveID("x")
	f.Add("", true, false)
	f.Add(id.String(), false, false)
	f.Add("00000000000000000007 "+id.String(), true, false)
	f.Add("' or 1=1 --", true, true)
	f.Fuzz(func(t *testing.T, cursor string, group, oldest bool) {
		var filter store.Filter
		if group {
			filter.Group = id
		}
		from, err := listCursor(&filter, store.PageRequest{Cursor: cursor, Oldest: oldest})
		switch {
		case err != nil && (!errors.Is(err, store.ErrInvalid) || len(err.Error()) > 1000):
			t.Errorf("listCursor(%q) = %v; want a short ErrInvalid", cursor, err)
		case err == nil && cursor != "" && !strings.HasSuffix(strings.ToLower(cursor), from.id.String()):
			t.Errorf("listCursor(%q) = %v; want its id", cursor, from)
		}
	})
}
