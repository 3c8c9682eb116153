package redis

import (
	"bytes"
	"errors"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// fuzzSpec is a spec that has something in every part.
func fuzzSpec(kind, key, value string, args []byte, n int64) store.Spec {
	return store.Spec{
		Kind: kind, Queue: key, Lane: value, Limit: key, Order: store.OrderFail, Priority: int(n), Args: args,
		Delay: time.Duration(n), DueAt: instant(n % never), StartBy: 1, Timeout: time.Duration(n),
		Retry:  store.Retry{Max: int(n), Base: 2, Factor: 1.5, Cap: 3, CrashSpends: n%2 == 0, Exact: n%3 == 0},
		Unique: store.Unique{Key: key, OnConflict: store.Latest, For: time.Duration(n)}, Fingerprint: value, Group: store.DeriveID(key), Line: n,
		Parent: store.DeriveID(value), Owned: n%5 == 0, Labels: map[string]string{key: value}, Correlation: kind, Trace: value, Sealed: store.DeriveID("s"),
		Retention: time.Duration(n),
	}
}

// A record is read as it was written, whatever is in it.
func FuzzSpecRoundTrip(f *testing.F) {
	f.Add("mail", "k", "v", []byte("{}"), int64(7))
	f.Add("", "", "", []byte(nil), int64(math.MinInt64))
	f.Add("\xff\x00", "é", "\n", []byte{}, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, kind, key, value string, args []byte, n int64) {
		s := fuzzSpec(kind, key, value, args, n)
		next := s
		s.OnEnd = &next
		if got, err := unpackSpec(string(packSpec(&s))); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("read %+v, %v; want %+v", got, err, s)
		}
		out := store.Outcome{Kind: store.OutcomeDone, Result: args, Reason: strings.ToValidUTF8(value, ""), Entries: map[string][]byte{"a": {}, "b": args}}
		packed, err := packStaged(&out)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unpackStaged(string(packed)); err != nil || !reflect.DeepEqual(*got, out) {
			t.Errorf("staged: read %+v, %v; want %+v", got, err, out)
		}
	})
}

// A map may have more fields than two bytes can count.
func TestAMapOfAnySizeIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := fuzzSpec("mail", "k", "v", nil, 1)
	s.Labels = map[string]string{}
	for i := range 1<<16 + 1 {
		s.Labels[strconv.Itoa(i)] = ""
	}
	if got, err := unpackSpec(string(packSpec(&s))); err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("read %d labels, %v; want %d", len(got.Labels), err, len(s.Labels))
	}
}

// Bytes of any kind are read without a panic, however deep, in memory that is bounded by their length.
func FuzzUnpack(f *testing.F) {
	s := fuzzSpec("mail", "k", "v", []byte("args"), 9)
	f.Add(packSpec(&s))
	f.Add(bytes.Repeat([]byte{0x91}, 5000))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xde, 0, 2, 0xa1, 'a', 0xc0, 0xa1, 'b', 0xcb, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(bytes.Repeat([]byte{0xdd, 0, 0, 1, 0}, 60))
	f.Fuzz(func(t *testing.T, record []byte) {
		text := string(record)
		if r, rest, err := unpackFirst(text); err == nil {
			if n := count(r); n > len(record) || !strings.HasSuffix(text, rest) {
				t.Errorf("%d bytes make %d values, and %q is behind them", len(record), n, rest)
			}
		}
		if s, err := unpackSpec(text); err == nil && s.OnEnd != nil && s.OnEnd.OnEnd != nil {
			t.Errorf("a task that follows an ending is followed by another; want an error")
		}
		for _, v := range []any{[]any{}, []any{text, text, text, text}, []any{nil, text, ""}, text} {
			if task, err := readTask(v); err == nil && task.State == "" && task.Reason != store.ReasonCorrupt {
				t.Errorf("readTask = %+v; want it corrupt", task)
			}
		}
		_, _ = readGroup(s.ID, text, text)
		_, _ = readSchedule("x", text)
		_ = readWorker("w", text)
		_ = readMessages(s.ID, []any{"id", text, "id", "0123456789abcdef" + text})
		_, _ = readLimits([]any{[]any{"k", text, int64(1), 0.5}})
		if got := packProgress(new(unpackProgress(text))); len(got) > len(record)+20 {
			t.Errorf("progress grew from %d bytes to %d", len(record), len(got))
		}
	})
}

// count counts the values of what was read.
func count(v any) (n int) {
	switch v := v.(type) {
	case record:
		for _, one := range v {
			n += 1 + count(one)
		}
	case []any:
		for _, one := range v {
			n += 1 + count(one)
		}
	}
	return n
}

// A password never shows: in no error, and not in the masked URL; also if what is special in it was not escaped.
func FuzzParseURL(f *testing.F) {
	const secret = "hunter2hunter2"
	f.Add("redis://", "user", "a@b", "host:6379", "/1?namespace=x&dial_timeout=1s")
	f.Add("redis+sentinel://", "", "", "h1,h2", "/master?sentinel_user=u")
	f.Add("redis://", "u", "a/b", "host", "/0")
	f.Add("rediss://", "u", "1?x=", "host", "?insecure=1")
	f.Add("redis://", "u", "#%zz", "host", "/x")
	f.Fuzz(func(t *testing.T, scheme, user, around, host, rest string) {
		for _, password := range []string{url.PathEscape(around + secret + around), around + secret + around} {
			text := scheme + user + ":" + password + "@" + host + rest
			if strings.ContainsAny(user, "@/?:") || strings.Contains(scheme, secret) {
				return
			}
			for _, text := range []string{text, scheme + host + "/m?sentinel_password=" + url.QueryEscape(around+secret)} {
				a, err := parseURL(text)
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("parseURL(%q) tells the password: %v", text, err)
				}
				if strings.Contains(a.masked, secret) {
					t.Errorf("parseURL(%q) masks it as %q", text, a.masked)
				}
			}
		}
	})
}

// A cursor is one that a list gave, or ErrInvalid.
func FuzzListCursor(f *testing.F) {
	id := store.DeriveID("x")
	f.Add(id.String(), false)
	f.Add("00000000000000000007 "+id.String(), true)
	f.Add("7 ", true)
	f.Fuzz(func(t *testing.T, cursor string, group bool) {
		var filter store.Filter
		size := 16
		if group {
			filter.Group, size = id, 24
		}
		from, err := listCursor(&filter, store.PageRequest{Cursor: cursor})
		switch {
		case err != nil && (!errors.Is(err, store.ErrInvalid) || len(err.Error()) > 1000):
			t.Errorf("listCursor(%q) = %v; want a short ErrInvalid", cursor, err)
		case err == nil && len(from) != size && len(from) != 0:
			t.Errorf("listCursor(%q) = %x; want %d bytes or none", cursor, from, size)
		}
	})
}
