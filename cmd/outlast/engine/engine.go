// Package engine opens the store that a URL names. It is the one place that knows all engines.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
)

// Lasting are the URLs of stores that outlive a process, for messages and for the help of flags.
const Lasting = "sqlite:path/to/file.db, postgres://user@host/database, redis://host:6379, rediss://host:6379 (TLS), " +
	"redis+sentinel://host1,host2/master"

// Forms are all URLs of stores.
const Forms = Lasting + ", or memory:"

// Options say what a URL leaves open. The zero value opens what the URL says, and makes it if need be.
type Options struct {
	Namespace string       // goes before that of the URL; empty: the URL's
	Existing  bool         // an SQLite file that is not there is an error, instead of being made
	Log       *slog.Logger // takes what the engine has to say. Default: slog.Default
}

// ErrNothing says that there is no store where the URL points to.
var ErrNothing = errors.New("there is no store")

// Open opens the store that a URL names. No message of it shows a password.
func Open(ctx context.Context, address string, options ...Options) (store.Store, error) {
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	scheme, _, ok := strings.Cut(address, ":")
	if !ok {
		return nil, fmt.Errorf("%w: the store %q has no scheme; write it as one of %s", store.ErrInvalid, address, Forms)
	}
	switch scheme {
	case "memory":
		return memory.New(memory.Config{}), nil
	case "sqlite":
		path := Path(address)
		if _, err := os.Stat(path); o.Existing && errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w at %s", ErrNothing, path)
		}
		return sqlite.Open(ctx, sqlite.Config{Path: path, Namespace: o.Namespace})
	case "postgres", "postgresql":
		return postgres.Open(ctx, address, postgres.Config{Namespace: o.Namespace})
	case "redis", "rediss", "redis+sentinel":
		return redis.Open(ctx, withNamespace(address, o.Namespace), redis.Config{Log: o.Log})
	case "http", "https":
		return nil, fmt.Errorf("%w: an address with %s: is that of a daemon, and this needs the store itself; name the daemon's store", store.ErrInvalid, scheme)
	}
	return nil, fmt.Errorf("%w: the scheme %q of the store is not known; write it as one of %s", store.ErrInvalid, scheme, Forms)
}

// Path is the file of an SQLite URL.
func Path(address string) string {
	_, rest, _ := strings.Cut(address, ":")
	return strings.TrimPrefix(rest, "//")
}

// withNamespace puts a namespace into the options of a URL, in the place of the one that is there.
func withNamespace(text, namespace string) string {
	if namespace == "" {
		return text
	}
	before, query, _ := strings.Cut(text, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return text // the engine says what is wrong with it
	}
	values.Set("namespace", namespace)
	return before + "?" + values.Encode()
}
