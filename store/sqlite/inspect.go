package sqlite

import (
	"context"
	"fmt"
	"os"
)

// Found returns the schema that Open has found, before it brought it up to date; 0: there was none.
func (s *Store) Found() int { return s.found }

// Settings tells what of the file and of its engine decides how it goes, by name.
func (s *Store) Settings(ctx context.Context) (map[string]string, error) {
	m := map[string]string{"path": s.cfg.Path, "synchronous": "full"} // Open refuses any other
	err := s.read(ctx, func(v *view) error {
		for _, name := range []string{"journal_mode", "page_size", "page_count", "freelist_count"} {
			text, err := oneText(v.raw, "pragma "+name)
			if err != nil {
				return fmt.Errorf("pragma %s: %w", name, err)
			}
			m[name] = text
		}
		return nil
	})
	if info, failed := os.Stat(s.cfg.Path + "-wal"); failed == nil {
		m["wal_bytes"] = fmt.Sprint(info.Size())
	}
	return m, err
}
