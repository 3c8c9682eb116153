package redis

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/outlast-go/outlast/store"
)

// Found returns the schema that Open has found; 0: there was none.
func (s *Store) Found() int { return s.found }

// Settings tells what of the server decides what survives, and who is cut off, by name. Where CONFIG may not be read, only what INFO tells
// is there.
func (s *Store) Settings(ctx context.Context) (map[string]string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	all, err := info(ctx, s.client, "server", "clients", "memory", "persistence", "replication")
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, name := range []string{
		"aof_enabled", "aof_last_write_status", "aof_last_bgrewrite_status", "maxmemory", "maxmemory_policy", "used_memory", "connected_clients",
		"connected_slaves", "role",
	} {
		if value, ok := all[name]; ok {
			m[name] = value
		}
	}
	config, err := s.client.Do(ctx, s.client.B().ConfigGet().Parameter("appendfsync", "timeout", "min-replicas-to-write", "maxclients").Build()).AsStrMap()
	if err == nil { // managed servers hide it
		maps.Copy(m, config)
	}
	return m, nil
}

// Drop removes the namespace with all that is in it, for those who have made one for a while. It must be named, so that no other goes by
// mistake; no handle on it can be used afterwards but to be closed.
func (s *Store) Drop(ctx context.Context, namespace string) error {
	if s.prefix != prefixOf(namespace) {
		return fmt.Errorf("%w: %s is not the namespace of this handle", store.ErrInvalid, namespace)
	}
	for cursor := uint64(0); ; {
		found, err := s.client.Do(ctx, s.client.B().Scan().Cursor(cursor).Match(pattern(s.prefix)).Count(2000).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		if len(found.Elements) > 0 {
			if err := s.client.Do(ctx, s.client.B().Unlink().Key(found.Elements...).Build()).Error(); err != nil {
				return err
			}
		}
		if cursor = found.Cursor; cursor == 0 {
			return nil
		}
	}
}

// pattern matches what begins with a text, and nothing else.
func pattern(prefix string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(prefix) + "*"
}
