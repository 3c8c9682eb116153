package postgres

import (
	"context"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// Found returns the schema that Open has found, before it brought it up to date; 0: there was none.
func (s *Store) Found() int { return s.q.found }

// Settings tells what of the server decides what survives, and who is cut off, by name.
func (s *Store) Settings(ctx context.Context) (map[string]string, error) {
	m := map[string]string{}
	err := s.read(ctx, func(ctx context.Context, c querier) error {
		rows, err := c.Query(ctx, s.q.get("settings"))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			m[name] = value
		}
		return rows.Err()
	})
	return m, err
}

// Drop removes the namespace with all that is in it, for those who have made one for a while. It must be named, so that no other goes by
// mistake; no handle on it can be used afterwards but to be closed.
func (s *Store) Drop(ctx context.Context, namespace string) error {
	if namespace != s.cfg.Namespace {
		return fmt.Errorf("%w: the namespace is %s, not %s", store.ErrInvalid, s.cfg.Namespace, namespace)
	}
	_, err := s.pool.Exec(ctx, s.q.get("drop_schema"))
	return err
}
