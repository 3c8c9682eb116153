package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

// A rate that is read can be stored, and means what it says when it is written again.
func FuzzRate(f *testing.F) {
	for _, text := range []string{"10/1s", "10/s+20", "0/1s", "1/-1s", "9223372036854775807/1ns", "1/1h+x", "/", "+", "5/1e3s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRate(text)
		if err != nil {
			return
		}
		limit := store.Limit{Key: "k", Rates: []store.Rate{r}}
		if limit.Validate() != nil && r.Per >= time.Duration(r.N) {
			t.Errorf("parseRate(%q) = %+v, which cannot be stored", text, r)
		}
		if !strings.Contains(text, "/") || r.N < 1 || r.Per <= 0 || r.Burst < 0 {
			t.Errorf("parseRate(%q) = %+v", text, r)
		}
	})
}

// A time is one that was meant: an age is in the past, and never so long that it turns round.
func FuzzTime(f *testing.F) {
	for _, text := range []string{"2h", "2026-01-31", "2026-01-31T12:00:00Z", "-5m", "9223372036854775807ns", "0", "yesterday"} {
		f.Add(text)
	}
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parseTime("since", text, now)
		if err == nil && strings.ContainsAny(text, "hmsµn") && at.After(now) {
			t.Errorf("parseTime(%q) = %v, which is not over yet", text, at)
		}
	})
}

// A config file of any content gives values of options that there are, or is refused; it is never both, and needs no more memory than
// it is long.
func FuzzConfig(f *testing.F) {
	f.Add("listen: 127.0.0.1:1\nslots: {default: 3}\nspaces: [a, b]\n")
	f.Add("lisen: x")
	f.Add("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nspaces: [*b,*b,*b,*b,*b,*b,*b]\n")
	f.Add("open: [true]")
	f.Add("? {a: b}\n: c")
	f.Add("!!binary x")
	flags := serveFlags()
	path := filepath.Join(f.TempDir(), "outlast.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		options, err := fromFile(path, flags)
		if err != nil && options != nil {
			t.Errorf("fromFile = %v and %v", options, err)
		}
		for name, values := range options {
			known := false
			for _, f := range flags {
				known = known || f.Name == name
			}
			if !known || name == "config" {
				t.Errorf("the option %q = %q is none", name, values)
			}
		}
	})
}
