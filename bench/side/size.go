package side

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/bench/part"
	"github.com/outlast-go/outlast/cmd/outlast/engine"
)

const mebi = 1 << 20

// size tells how large a store is in MiB: its files, its tables and indexes, or its memory; and what it consists of.
func size(ctx context.Context, o part.Order) (float64, []string, error) {
	switch scheme, _, _ := strings.Cut(o.URL, ":"); scheme {
	case "sqlite":
		return sizeSQLite(engine.Path(o.URL))
	case "postgres":
		return sizePostgres(ctx, o.URL)
	default:
		return sizeRedis(ctx, o.URL)
	}
}

func sizeSQLite(path string) (sum float64, notes []string, err error) {
	for _, part := range []struct{ name, suffix string }{{"file", ""}, {"write-ahead log", "-wal"}} {
		info, err := os.Stat(path + part.suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		sum += float64(info.Size()) / mebi
		notes = append(notes, fmt.Sprintf("%s: %.1f MiB", part.name, float64(info.Size())/mebi))
	}
	return sum, notes, nil
}

// largest are the tables and indexes of all schemas but the server's own, those without a page left out. What a table keeps out of line is
// part of it.
const largest = `
select c.relname, case c.relkind when 'i' then 'index' else 'table' end,
	case c.relkind when 'i' then pg_relation_size(c.oid) else pg_table_size(c.oid) end as size
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'i') and n.nspname not like 'pg\_%' and n.nspname <> 'information_schema' and c.relpages > 0
order by size desc, c.relname`

func sizePostgres(ctx context.Context, url string) (sum float64, notes []string, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, largest)
	if err != nil {
		return 0, nil, err
	}
	var name, kind string
	var bytes int64
	named := 0.0
	_, err = pgx.ForEachRow(rows, []any{&name, &kind, &bytes}, func() error {
		one := float64(bytes) / mebi
		if sum += one; one >= 0.1 {
			named += one
			notes = append(notes, fmt.Sprintf("%s %s: %.1f MiB", kind, name, one))
		}
		return nil
	})
	return sum, append(notes, fmt.Sprintf("all others: %.1f MiB", sum-named)), err
}

func sizeRedis(ctx context.Context, text string) (float64, []string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return 0, nil, err
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{u.Host}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	info, err := c.Do(ctx, c.B().Info().Section("memory").Build()).ToString()
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			bytes, err := strconv.ParseFloat(value, 64)
			return bytes / mebi, []string{fmt.Sprintf("used_memory: %.1f MiB", bytes/mebi)}, err
		}
	}
	return 0, nil, errors.New("the server does not tell its memory")
}

// tidyUp has PostgreSQL do at once what its autovacuum does in its own time: after a sudden filling its plans would be those of an empty
// table, and what it measured its vacuum.
func tidyUp(ctx context.Context, o part.Order) error {
	if !strings.HasPrefix(o.URL, "postgres:") {
		return nil
	}
	conn, err := pgx.Connect(ctx, o.URL)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "vacuum analyze")
	return errors.Join(err, conn.Close(ctx))
}
