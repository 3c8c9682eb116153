package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

func TestTheExampleDoesWhatItSays(t *testing.T) {
	t.Parallel()
	k, err := newKernel(slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })
	defer running.Wait()
	defer stop()
	if err := begin(ctx, k); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(newSite(k, "sesame", slog.New(slog.DiscardHandler)))
	defer srv.Close()
	body := func(method, where, word string, form url.Values) (int, string) {
		req, err := http.NewRequestWithContext(ctx, method, srv.URL+where, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("ann", word)
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	if status, page := body(http.MethodGet, "/", "", nil); status != http.StatusOK || !strings.Contains(page, "Shop") || !strings.Contains(page, "In flight") {
		t.Errorf("the first page = %d\n%s", status, page)
	}
	pause := url.Values{"verb": {"pause"}, "queue": {"default"}, "sure": {"yes"}}
	if status, _ := body(http.MethodPost, "/outlast/do", "guess", pause); status != http.StatusForbidden {
		t.Errorf("acting without the word = %d, want 403", status)
	}
	if status, page := body(http.MethodPost, "/outlast/do", "sesame", pause); status != http.StatusOK {
		t.Errorf("acting with the word = %d\n%s", status, page)
	}
}
