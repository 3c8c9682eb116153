package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/sqlite"
)

// openStore opens the store that a URL names. It is the one place that knows all engines.
func openStore(ctx context.Context, url string) (store.Store, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	if !ok {
		return nil, fmt.Errorf("the store %q has no scheme; write it as sqlite:path/to/file.db", url)
	}
	switch scheme {
	case "memory":
		return memory.New(memory.Config{}), nil
	case "sqlite":
		return sqlite.Open(ctx, sqlite.Config{Path: strings.TrimPrefix(rest, "//")})
	}
	return nil, fmt.Errorf("the scheme of the store %q is not known; write it as sqlite:path/to/file.db", scheme+":…")
}
