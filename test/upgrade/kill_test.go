package upgrade_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/internal/failpoint"
)

// A child opens the store that the environment names, and kills itself before the statement of that number.
const (
	childStore = "OUTLAST_UPGRADE_STORE"
	childDies  = "OUTLAST_UPGRADE_DIES"
)

func openAndDie(url string) {
	at, err := strconv.Atoi(os.Getenv(childDies))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	n := 0
	failpoint.Set(func(string) {
		if n++; n == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	st, err := engine.Open(context.Background(), url)
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// killed opens a store in a child that dies at its nth place; false: there are fewer.
func killed(t *testing.T, url string, n int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childStore+"="+url, childDies+"="+strconv.Itoa(n))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false
	case errors.As(err, &exit) && !exit.Exited():
		return true
	}
	t.Fatalf("the child that should die at %d: %v\n%s", n, err, out)
	return false
}

// A program that is killed before any statement of a migration, before its commit or after it leaves a store that opens, with everything in it.
func TestAProgramKilledInAMigrationOfSQLiteLosesNothing(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"", "testdata/sqlite-1.gz", "testdata/sqlite-2.gz", "testdata/sqlite-3.gz"} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			n := 1
			for ; n < 200; n++ {
				url := "sqlite:" + filepath.Join(t.TempDir(), "new.db")
				if file != "" {
					url = restore(t, file)
				}
				if !killed(t, url, n) {
					break
				}
				st := opened(t, url)
				if file != "" {
					asLeft(t, st)
				}
				clean(t, st)
				if err := st.Close(); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("killed at %d places", n-1)
			if n < 4 || n == 200 {
				t.Errorf("there were %d places to die at", n-1)
			}
		})
	}
}

// The same on PostgreSQL, where it may happen again and again: all of a migration is one transaction, so a death before its commit leaves the schema
// that was there.
func TestAProgramKilledInAMigrationOfPostgresLosesNothing(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/postgres-1.gz")
	n, seen := 1, map[string]bool{}
	for ; n < 200 && killed(t, url, n); n++ {
		seen[schemaOf(t, url)] = true
	}
	t.Logf("killed at %d places", n-1)
	if n < 10 || n == 200 {
		t.Errorf("there were %d places to die at", n-1)
	}
	st := opened(t, url)
	asLeft(t, st)
	clean(t, st)
	for version := range seen {
		if version != "1" && version != strconv.Itoa(st.Info().Schema) {
			t.Errorf("after a death the schema was %s", version)
		}
	}
}

func schemaOf(t *testing.T, url string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var text string
	if err := conn.QueryRow(t.Context(), "select number::text from outlast.version").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text)
}
