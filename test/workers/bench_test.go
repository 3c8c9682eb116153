package workers_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
)

// callers submit at the same time.
const callers = 64

// BenchmarkSubmitOverHTTP measures a daemon under 64 connections that submit one task per request and, in the same run and on the same server, a
// kernel in this process with 64 callers: ratio is the first rate by the second.
func BenchmarkSubmitOverHTTP(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres", "redis"} {
		b.Run(name, func(b *testing.B) {
			url := engines[name](b)
			p := begin(b, url)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
			if name == "sqlite" {
				url = engines[name](b) // a namespace has a file of its own
			}
			st, err := engine.Open(b.Context(), url, engine.Options{Namespace: p.space + "k"})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			k, err := kernel.New(st, kernel.Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer k.Close()
			n := max(b.N, 20*callers)
			b.ResetTimer()
			over := crowd(b, n, func() error { return p.submitOne(client) })
			within := crowd(b, n, func() error {
				_, err := k.Submit(b.Context(), kernel.Spec{Kind: "k", Queue: "nobody", Args: []byte("1")})
				return err
			})
			b.ReportMetric(over, "http/s")
			b.ReportMetric(within, "kernel/s")
			b.ReportMetric(over/within, "ratio")
		})
	}
}

// crowd lets all callers do something n times in all, and returns how often that was in a second.
func crowd(b *testing.B, n int, do func() error) float64 {
	b.Helper()
	begun := time.Now()
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range n / callers {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return float64(n/callers*callers) / time.Since(begun).Seconds()
}

func (p *place) submitOne(client *http.Client) error {
	req, err := http.NewRequestWithContext(p.Context(), http.MethodPost, p.url+"/v1/tasks", bytes.NewReader([]byte(`{"kind":"k","queue":"nobody","args":1}`)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
