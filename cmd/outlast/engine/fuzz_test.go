package engine

import (
	"net/url"
	"strings"
	"testing"
)

// An address that no engine takes is refused without a word of its password; a namespace that is put into one leaves the rest alone.
func FuzzAddress(f *testing.F) {
	const secret = "hunter2hunter2"
	f.Add("http://", "host/x", "space")
	f.Add("mysql://", "host/db", "a&b")
	f.Add("", "host", "")
	f.Add("https:", "host", "x")
	f.Add("HTTP://u:", "host", "x")
	f.Fuzz(func(t *testing.T, scheme, rest, namespace string) {
		address := scheme + "user:" + secret + "@" + rest
		name, _, _ := strings.Cut(address, ":")
		switch name {
		case "memory", "sqlite", "postgres", "postgresql", "redis", "rediss", "redis+sentinel":
			return // these have tests of their own, and would be opened
		}
		if _, err := Open(t.Context(), address); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("Open(%q) = %v; want an error without the password", address, err)
		}
		before, query, _ := strings.Cut("redis://u:p@host/0?"+rest, "?")
		values, err := url.ParseQuery(query)
		if err != nil || namespace == "" {
			return
		}
		got, after, _ := strings.Cut(withNamespace(before+"?"+query, namespace), "?")
		put, err := url.ParseQuery(after)
		if err != nil || got != before || put.Get("namespace") != namespace {
			t.Errorf("withNamespace(%q) has %q and %q, %v", query, got, after, err)
		}
		for key := range values {
			if key != "namespace" && put.Get(key) != values.Get(key) {
				t.Errorf("withNamespace changes %q", key)
			}
		}
	})
}
