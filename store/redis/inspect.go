package redis

import (
	"context"
	"maps"
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
