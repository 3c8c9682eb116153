package servers

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// one is a server that all tests of one program use that need no restart.
type one struct {
	once sync.Once
	url  string
}

var (
	sharedRedis, sharedPostgres one

	endMu     sync.Mutex
	sharedEnd []func()
)

// sharedT starts a shared server; what it cleans up is done by EndShared.
type sharedT struct{ T }

func (sharedT) Cleanup(end func()) {
	endMu.Lock()
	defer endMu.Unlock()
	sharedEnd = append(sharedEnd, end)
}

// SharedRedis returns the address of one server for all tests of the program: OUTLAST_TEST_REDIS where that is set, otherwise a
// private one, which TestMain must end with EndShared. Tests keep apart by their namespaces.
func SharedRedis(t T) string {
	t.Helper()
	return sharedRedis.at(t, "OUTLAST_TEST_REDIS", func(t T) string {
		return NewRedis(t, RedisConfig{Args: []string{"--databases", "1"}}).URL()
	})
}

// SharedPostgres is the same for PostgreSQL and OUTLAST_TEST_POSTGRES.
func SharedPostgres(t T) string {
	t.Helper()
	return sharedPostgres.at(t, "OUTLAST_TEST_POSTGRES", func(t T) string { return StartPostgres(t).URL() })
}

// PostgresSpace returns the address of an empty namespace of the shared server. On a server that OUTLAST_TEST_POSTGRES names it is removed with the test.
func PostgresSpace(t T) string {
	t.Helper()
	url, name := SharedPostgres(t), space()
	if os.Getenv("OUTLAST_TEST_POSTGRES") != "" {
		t.Cleanup(func() { dropSchema(t, url, name) })
	}
	return Within(url, name)
}

// RedisSpace is the same for Redis, where nothing is removed.
func RedisSpace(t T) string {
	t.Helper()
	return Within(SharedRedis(t), space())
}

// Within adds a namespace to the address of a server.
func Within(url, namespace string) string {
	url = strings.TrimRight(url, "?&")
	if strings.Contains(url, "?") {
		return url + "&namespace=" + namespace
	}
	return url + "?namespace=" + namespace
}

// space is a name that nobody else on a server has.
func space() string { return "t" + strings.ToLower(rand.Text()[:20]) }

func dropSchema(t T, url, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own is over
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err == nil {
		_, err = conn.Exec(ctx, "drop schema if exists "+name+" cascade")
		_ = conn.Close(ctx) // it has done what it was for
	}
	if err != nil {
		t.Fatalf("drop %s: %v", name, err)
	}
}

// at starts the server when it is first asked for.
func (s *one) at(t T, variable string, start func(T) string) string {
	t.Helper()
	s.once.Do(func() {
		if s.url = os.Getenv(variable); s.url == "" {
			s.url = start(sharedT{t})
		}
	})
	if s.url == "" {
		t.Fatalf("the shared server did not start; see the first test that needed it")
	}
	return s.url
}

// EndShared ends the shared servers that were started, the last one first.
func EndShared() {
	endMu.Lock()
	defer endMu.Unlock()
	for i := range sharedEnd {
		sharedEnd[len(sharedEnd)-1-i]()
	}
	sharedEnd = nil
}
