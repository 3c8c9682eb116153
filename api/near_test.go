package api

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Without tokens it is the connection that must come from this machine: the name in the request is for the asker to say.
func TestWhoSaysLocalhostAndIsElsewhereIsNotNear(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]bool{
		"127.0.0.1:4000": true, "[::1]:4000": true, "[::ffff:127.0.0.1]:1": true, "192.0.2.1:4000": false, "[2001:db8::1]:1": false, "": false, "@": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/tasks", nil)
		r.Host, r.RemoteAddr = "localhost", from
		if near(r) != want {
			t.Errorf("from %q: near = %v", from, !want)
		}
	}
	r := httptest.NewRequestWithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, net.Addr(&net.UnixAddr{Name: "s", Net: "unix"})), http.MethodGet, "/", nil)
	if r.RemoteAddr = "@"; !near(r) {
		t.Error("over a socket of this machine: not near")
	}
}
