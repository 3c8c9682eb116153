package upgrade_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/test/servers"
)

// restore makes a store of a file in testdata, and returns its address.
func restore(t *testing.T, file string) string {
	t.Helper()
	data := unpacked(t, file)
	switch {
	case strings.Contains(file, "sqlite"):
		path := filepath.Join(t.TempDir(), "old.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + path
	case strings.Contains(file, "postgres"):
		return restorePostgres(t, data)
	}
	return restoreRedis(t, data)
}

func unpacked(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var databases atomic.Int64

func restorePostgres(t *testing.T, data []byte) string {
	t.Helper()
	ctx, server := t.Context(), servers.SharedPostgres(t)
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	name := fmt.Sprintf("upgrade_%d_%d", os.Getpid(), databases.Add(1))
	if _, err := conn.Exec(ctx, "create database "+name); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	into, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer into.Close(ctx)
	if _, err := into.PgConn().Exec(ctx, string(data)).ReadAll(); err != nil {
		t.Fatal(err)
	}
	return u.String()
}

// restoreRedis has a server of its own: the namespace is part of every key.
func restoreRedis(t *testing.T, data []byte) string {
	t.Helper()
	server := servers.NewRedis(t, servers.RedisConfig{})
	c := connect(t, server.URL())
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), " ")
		k, err1 := base64.StdEncoding.DecodeString(key)
		v, err2 := base64.StdEncoding.DecodeString(value)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if err := c.Do(t.Context(), c.B().Restore().Key(string(k)).Ttl(0).SerializedValue(string(v)).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	return server.URL()
}
