// Package engine opens the store that a URL names. It is the one place that knows all engines.
package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
)

// Forms are the URLs of stores, for messages and for the help of flags.
const Forms = "sqlite:path/to/file.db, postgres://user@host/database, redis://host:6379, rediss://host:6379 (TLS), " +
	"redis+sentinel://host1,host2/master, or memory:"

// Open opens the store that a URL names. No message of it shows a password.
func Open(ctx context.Context, url string) (store.Store, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok {
		return nil, fmt.Errorf("%w: the store %q has no scheme; write it as one of %s", store.ErrInvalid, url, Forms)
	}
	switch scheme {
	case "memory":
		return memory.New(memory.Config{}), nil
	case "sqlite":
		return sqlite.Open(ctx, sqlite.Config{Path: strings.TrimPrefix(rest, "//")})
	case "postgres", "postgresql":
		return postgres.Open(ctx, url, postgres.Config{})
	case "redis", "rediss", "redis+sentinel":
		return redis.Open(ctx, url, redis.Config{})
	}
	return nil, fmt.Errorf("%w: the scheme %q of the store is not known; write it as one of %s", store.ErrInvalid, scheme, Forms)
}
