package upgrade_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/store/sqlite"
	"github.com/outlast-go/outlast/test/servers"
	"github.com/outlast-go/outlast/test/upgrade/fill"
)

// A store that this version has filled can be put away as those in testdata were: OUTLAST_UPGRADE_KEEP names the folder. Run it with the
// source of a version whose schema is about to change.
func TestAStoreCanBePutAway(t *testing.T) {
	dir := os.Getenv("OUTLAST_UPGRADE_KEEP")
	if dir == "" {
		dir = t.TempDir()
	}
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "old.db")
	st, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	filled(t, st, err)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, dir, st, data)

	server := servers.StartPostgres(t)
	pg, err := postgres.Open(ctx, server.URL(), postgres.Config{})
	filled(t, pg, err)
	keep(t, dir, pg, dumpPostgres(t, server.URL()))

	cache := servers.NewRedis(t, servers.RedisConfig{})
	rd, err := redis.Open(ctx, cache.URL(), redis.Config{})
	filled(t, rd, err)
	keep(t, dir, rd, dumpRedis(ctx, t, cache.URL()))
}

func filled(t *testing.T, st store.Store, err error) {
	t.Helper()
	if err == nil {
		err = fill.Fill(t.Context(), st)
	}
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func keep(t *testing.T, dir string, st store.Store, data []byte) {
	t.Helper()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(data)
	}
	if err == nil {
		err = z.Close()
	}
	info := st.Info()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.gz", info.Engine, info.Schema)), packed.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// dumpPostgres writes the schema as statements that need no psql.
func dumpPostgres(t *testing.T, url string) []byte {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	program := "pg_dump"
	if err == nil && len(found) > 0 {
		program = found[len(found)-1]
	}
	out, err := exec.CommandContext(t.Context(), program, "--schema=outlast", "--inserts", "--no-owner", "--no-privileges", url).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(out), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "\\") || strings.HasPrefix(line, "--") || strings.TrimSpace(line) == ""
	})
	return []byte(strings.Join(lines, ""))
}

// dumpRedis writes a line for each key: its name and its value, as the server packs it.
func dumpRedis(ctx context.Context, t *testing.T, url string) []byte {
	t.Helper()
	c := connect(t, url)
	keys, err := c.Do(ctx, c.B().Keys().Pattern("outlast:*").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	var lines bytes.Buffer
	for _, key := range keys {
		value, err := c.Do(ctx, c.B().Dump().Key(key).Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s %s\n", base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte(value)))
	}
	return lines.Bytes()
}

func connect(t *testing.T, url string) rueidis.Client {
	t.Helper()
	option, err := rueidis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	option.DisableCache = true
	c, err := rueidis.NewClient(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
