package postgres

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// fuzzSpec is a spec that has something in every part.
func fuzzSpec(kind, key, value string, args []byte, n int64) store.Spec {
	return store.Spec{
		ID: store.DeriveID("x", kind), Kind: kind, Queue: key, Lane: value, Limit: key, Order: store.OrderFail, Priority: int(n), Args: args,
		Delay: time.Duration(n), DueAt: due(n), StartBy: 1, Timeout: time.Duration(n),
		Retry:  store.Retry{Max: int(n), Base: 2, Factor: 1.5, Cap: 3, CrashSpends: n%2 == 0, Exact: n%3 == 0},
		Unique: store.Unique{Key: key, OnConflict: store.Latest, For: time.Duration(n)}, Fingerprint: value, Group: store.DeriveID(key), Line: n,
		Parent: store.DeriveID(value), Owned: n%5 == 0, Labels: map[string]string{"k": "v"}, Correlation: kind, Trace: value, Sealed: store.DeriveID("s"),
		Retention: time.Duration(n),
	}
}

// due is an instant that is stored as it is: one in the first or last year that nanoseconds reach is not.
func due(n int64) time.Time {
	n /= 2
	return instant(&n)
}

// A record is read as it was written, whatever is in it; what JSON cannot say goes through it all the same.
func FuzzSpecRoundTrip(f *testing.F) {
	f.Add("mail", "k", "v", []byte("{}"), int64(7))
	f.Add("", "", "", []byte(nil), int64(math.MinInt64))
	f.Add("\xff\x00", "é", "\n", []byte{}, int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, kind, key, value string, args []byte, n int64) {
		s := fuzzSpec(kind, key, value, args, n)
		next := s
		s.OnEnd = &next
		data, err := json.Marshal(prepare(&s))
		if err != nil {
			t.Fatal(err)
		}
		var w wireSpec
		if err := json.Unmarshal(data, &w); err != nil {
			t.Fatal(err)
		}
		if got, ok := w.spec(); !ok || !reflect.DeepEqual(got, s) {
			t.Errorf("read %+v, %v; want %+v", got, ok, s)
		}
		fault := &store.Error{Message: kind, Type: "t", Detail: args}
		if got, ok := decodeError(encodeError(fault)); !ok || got.Message != kind || !bytes.Equal(got.Detail, args) {
			t.Errorf("read the error %+v, %v; want %+v", got, ok, fault)
		}
	})
}

// Bytes of any kind are read without a panic; what makes no sense says so.
func FuzzDecodeRecord(f *testing.F) {
	s := fuzzSpec("mail", "k", "v", []byte("args"), 9)
	f.Add(encodeRest(&s))
	staged, err := json.Marshal(prepareOutcome(&store.Outcome{
		Kind: store.OutcomeDone, Follow: []store.Spec{s}, Progress: &store.Progress{Done: 1}, Entries: map[string][]byte{"a": nil},
		Groups: []store.NewGroup{{ID: s.ID, OnClose: &s}}, Consume: []store.ID{s.ID}, Error: &store.Error{Message: "m"},
	}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(staged)
	f.Add([]byte(`[[1,"a",2,"w","t"],[null]]`))
	f.Add([]byte(`{"follow":[null],"progress":[1]}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		if got, ok := decodeRest(record); ok && len(got.Kind)+len(got.Queue)+len(got.Trace) > len(record) {
			t.Errorf("%d bytes of record hold %+v", len(record), got)
		}
		if out, ok := decodeStaged(record); ok && out == nil && record != nil {
			t.Errorf("decodeStaged(%q) is nothing, and said to be right", record)
		}
		_, _ = decodeError(record)
		if events := decodeHistory(record); len(events) > len(record) {
			t.Errorf("%d bytes hold %d events", len(record), len(events))
		}
		r := &row{staged: record, history: record, labels: record, onEnd: record, rest: record, args: record, err: record}
		if task := r.task(); !bytes.Equal(task.Args, record) {
			t.Errorf("task = %+v", task)
		}
	})
}

// A password never shows: in no error, and not in the masked URL; also if what is special in it was not escaped.
func FuzzParseURL(f *testing.F) {
	const secret = "hunter2hunter2"
	f.Add("postgres://", "user", "a@b", "host:5432", "/db?namespace=x&sslmode=disable")
	f.Add("postgres:", "user", "1", "host", "/db")
	f.Add("postgresql://", "u", "12/3", "host", "/db?conns=x")
	f.Add("postgres://", "u", "1?x", "host", "/db")
	f.Add("postgres://", "u", "%zz", "[::1]", "/db?pooler=2")
	f.Fuzz(func(t *testing.T, scheme, user, around, host, rest string) {
		if strings.ContainsAny(user, "@/?:#") || strings.Contains(scheme, secret) {
			return
		}
		for _, password := range []string{url.PathEscape(around + secret + around), around + secret + around} {
			for _, text := range []string{scheme + user + ":" + password + "@" + host + rest, scheme + host + "/db?password=" + url.QueryEscape(around+secret)} {
				p, err := parseURL(text, Config{})
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("parseURL(%q) tells the password: %v", text, err)
				}
				if strings.Contains(p.masked, secret) {
					t.Errorf("parseURL(%q) masks it as %q", text, p.masked)
				}
			}
		}
	})
}

// What a caller gives to a list never becomes part of a statement: the statement depends on which parts are set, and on nothing in them.
func FuzzListQuery(f *testing.F) {
	id := store.DeriveID("x")
	f.Add("q", "w", "k", "v", id.String())
	f.Add("'; drop table task; --", "$1", "$2", "%", "7 "+id.String())
	s := &Store{q: &queries{}}
	var err error
	if s.q, err = readQueries("outlast"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, queue, worker, key, value, cursor string) {
		if queue == "" || worker == "" || cursor == "" {
			return
		}
		filter := store.Filter{Queue: queue, Worker: worker, Kinds: []string{key}, Unique: "u" + value, Labels: map[string]string{key: value}}
		query, args, err := s.listQuery(&filter, &store.PageRequest{Cursor: cursor}, 10)
		if err != nil {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("listQuery = %v; want ErrInvalid", err)
			}
			return
		}
		other := store.Filter{Queue: "q", Worker: "w", Kinds: []string{"k"}, Unique: "u", Labels: map[string]string{"l": "v"}}
		plain, plainArgs, err := s.listQuery(&other, &store.PageRequest{Cursor: id.String()}, 10)
		if err != nil || plain != query || len(args) != len(plainArgs) {
			t.Errorf("listQuery = %q, %v; want %q", query, err, plain)
		}
	})
}
