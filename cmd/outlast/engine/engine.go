// Package engine opens the store that a URL names. It is the one place that knows all engines.
package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/sqlite"
)

// Forms are the URLs of stores, for messages and for the help of flags.
const Forms = "sqlite:path/to/file.db or memory:"

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
	}
	return nil, fmt.Errorf("%w: the scheme %q of the store is not known; write it as one of %s", store.ErrInvalid, scheme, Forms)
}
