package endpoints_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/test/servers"
)

const benchBody = `{"item":"a pound of tea","count":21,"tags":["green","loose","organic"]}`

// timed tells how long the last Submit of a store took.
type timed struct {
	store.Store
	last atomic.Int64
}

func (s *timed) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	begin := time.Now()
	defer func() { s.last.Store(int64(time.Since(begin))) }()
	return s.Store.Submit(ctx, req)
}

// sample is what submits took, in all and beside the store's own Submit.
type sample struct{ whole, beside []time.Duration }

func (s *sample) add(took time.Duration, st *timed) {
	s.whole = append(s.whole, took)
	s.beside = append(s.beside, took-time.Duration(st.last.Load()))
}

// pair measures submits straight to the kernel and through the handler, in turn. What the handler adds is told apart from what the store
// takes, as that of a disk or a busy server differs more from one call to the next than the handler ever takes.
func pair(tb testing.TB, k *kernel.Kernel, st *timed, h http.Handler, rounds int) (direct, handled sample) {
	tb.Helper()
	args := []byte(`{"method":"POST","path":"/orders","header":{"Content-Type":["application/json"]},"type":"application/json","json":` + benchBody + `}`)
	for i := range rounds {
		sum := sha256.Sum256(fmt.Appendf(nil, "direct-%d-%d", rounds, i))
		key := base64.RawURLEncoding.EncodeToString(sum[:]) // as the handler's: the engine is to do the same for both
		begin := time.Now()
		if _, err := k.Submit(tb.Context(), kernel.Spec{
			Kind: "endpoint.orders", Args: args, Labels: map[string]string{"endpoint.principal": ""},
			Unique: kernel.Unique{Key: key, For: kernel.KeyStays}, Fingerprint: key,
		}); err != nil {
			tb.Fatal(err)
		}
		direct.add(time.Since(begin), st)
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(benchBody))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", fmt.Sprintf(`"handled-%d-%d"`, rounds, i))
		w := httptest.NewRecorder()
		begin = time.Now()
		h.ServeHTTP(w, r)
		handled.add(time.Since(begin), st)
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
	for _, e := range append(slices.Clone(engines), kind{name: "postgres that syncs nothing", open: openUnsynced}) {
		b.Run(e.name, func(b *testing.B) {
			k, st := benchKernel(b, e.open)
			h := Orders.Handler(k, endpoint.Config{MaxWaiting: 1 << 30})
			pair(b, k, st, h, 200)
			direct, handled := pair(b, k, st, h, max(b.N, 1000))
			b.ReportMetric(float64(median(direct.whole).Microseconds()), "submit-µs")
			b.ReportMetric(float64(median(handled.whole).Microseconds()), "handler-µs")
			b.ReportMetric(float64((median(handled.beside)-median(direct.beside)).Nanoseconds())/1000, "added-µs")
		})
	}
}

// openUnsynced is PostgreSQL without a disk to wait for: who waits for one finds the caches of the processor cold when it goes on, and
// that is not the handler's doing.
func openUnsynced(t testing.TB, timing store.Timing) func() store.Store {
	url := servers.StartPostgres(t, "fsync=off").URL("fsync=off-ok")
	return func() store.Store {
		st, err := postgres.Open(t.Context(), url, postgres.Config{Timing: timing, Conns: 4})
		return opened(t, st, err)
	}
}

func benchKernel(tb testing.TB, open func(testing.TB, store.Timing) func() store.Store) (*kernel.Kernel, *timed) {
	tb.Helper()
	st := &timed{Store: open(tb, store.Timing{})()}
	k, err := kernel.New(st, kernel.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(k.Close)
	return k, st
}
