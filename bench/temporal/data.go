package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/common/config"
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql" // a store of the server
	_ "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"     // another
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/tools/sql"
)

// stores are where the server keeps workflows, and what it lists them by.
type stores struct{ tasks, visibility *config.SQL }

// open makes the tables of the server in an empty store.
func open(ctx context.Context, text string) (stores, error) {
	if path, ok := strings.CutPrefix(text, "sqlite:"); ok {
		return openSQLite(path)
	}
	u, err := url.Parse(text)
	if err != nil {
		return stores{}, err
	}
	if u.Scheme != "postgres" {
		return stores{}, fmt.Errorf("it keeps nothing in %s", u.Scheme)
	}
	return openPostgres(ctx, u)
}

// openSQLite has one file and one connection, which is the server's default for SQLite: with four it was slower.
func openSQLite(path string) (stores, error) {
	cfg := &config.SQL{
		PluginName: "sqlite", DatabaseName: path,
		ConnectAttributes: map[string]string{"mode": "rwc", "journal_mode": "wal", "synchronous": "full", "busy_timeout": "5000"},
	}
	return stores{cfg, cfg}, sqlite.SetupSchema(cfg)
}

// role is a user of PostgreSQL whose password has no space: the server cannot send one.
const role = "temporal"

// openPostgres has two databases, as each has a table of its schema's version. The server has 20 connections for each, as in its guide.
func openPostgres(ctx context.Context, u *url.URL) (stores, error) {
	tasks := strings.TrimPrefix(u.Path, "/")
	visibility := tasks + "_visibility"
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return stores{}, err
	}
	defer func() { _ = conn.Close(ctx) }() // it was for two statements
	for _, statement := range []string{
		"do $$ begin create role " + role + " superuser login password '" + role + "'; exception when duplicate_object then null; end $$",
		"create database " + visibility,
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return stores{}, err
		}
	}
	for database, schema := range map[string]string{tasks: "temporal", visibility: "visibility"} {
		tool := []string{
			"temporal-sql-tool", "--plugin", "postgres12_pgx", "--endpoint", u.Hostname(), "--port", u.Port(), "--user", role, "--password", role,
			"--database", database,
		}
		if err := sql.RunTool(append(slices.Clone(tool), "setup-schema", "--version", "0.0")); err != nil {
			return stores{}, err
		}
		if err := sql.RunTool(append(slices.Clone(tool), "update-schema", "--schema-name", "postgresql/v12/"+schema)); err != nil {
			return stores{}, err
		}
	}
	at := func(database string) *config.SQL {
		return &config.SQL{
			PluginName: "postgres12_pgx", ConnectProtocol: "tcp", ConnectAddr: u.Host, DatabaseName: database, User: role, Password: role,
			MaxConns: 20, MaxIdleConns: 20,
		}
	}
	return stores{at(tasks), at(visibility)}, nil
}
