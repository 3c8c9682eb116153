package servers

import (
	"os"
	"sync"
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
