package postgres

import "context"

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
