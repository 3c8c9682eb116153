package endpoints_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

const benchBody = `{"item":"a pound of tea","count":21,"tags":["green","loose","organic"]}`

// pair measures submits straight to the kernel and through the handler, in turn, so that both meet the same disk.
func pair(tb testing.TB, k *kernel.Kernel, h http.Handler, rounds int) (direct, handled []time.Duration) {
	tb.Helper()
	args := []byte(`{"method":"POST","path":"/orders","header":{"Content-Type":["application/json"]},"type":"application/json","json":` + benchBody + `}`)
	for i := range rounds {
		sum := sha256.Sum256(fmt.Appendf(nil, "direct-%d", i))
		key := base64.RawURLEncoding.EncodeToString(sum[:]) // as the handler's: the engine is to do the same for both
		begin := time.Now()
		if _, err := k.Submit(tb.Context(), kernel.Spec{
			Kind: "endpoint.orders", Args: args, Labels: map[string]string{"endpoint.principal": ""},
			Unique: kernel.Unique{Key: key, For: kernel.KeyStays}, Fingerprint: key,
		}); err != nil {
			tb.Fatal(err)
		}
		direct = append(direct, time.Since(begin))
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(benchBody))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", fmt.Sprintf(`"handled-%d"`, i))
		w := httptest.NewRecorder()
		begin = time.Now()
		h.ServeHTTP(w, r)
		handled = append(handled, time.Since(begin))
		if w.Code != http.StatusAccepted {
			tb.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	return direct, handled
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// BenchmarkAccept tells what the handler adds at the median to the engine's Submit, with a key, a body and a bound on the queue.
func BenchmarkAccept(b *testing.B) {
	for _, e := range engines {
		b.Run(e.name, func(b *testing.B) {
			k := benchKernel(b, e.open)
			h := Orders.Handler(k, endpoint.Config{MaxWaiting: 1 << 30})
			pair(b, k, h, 200)
			direct, handled := pair(b, k, h, max(b.N, 1000))
			d, n := median(direct), median(handled)
			b.ReportMetric(float64(d.Microseconds()), "submit-µs")
			b.ReportMetric(float64(n.Microseconds()), "handler-µs")
			b.ReportMetric(float64((n-d).Nanoseconds())/1000, "added-µs")
		})
	}
}

func benchKernel(tb testing.TB, open func(testing.TB, store.Timing) func() store.Store) *kernel.Kernel {
	tb.Helper()
	k, err := kernel.New(open(tb, store.Timing{})(), kernel.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(k.Close)
	return k
}
