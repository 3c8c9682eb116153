package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The table of options of the page is the table of the code.
func TestTheTableOfOptionsIsTrue(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- What follows is written by the table of options. -->\n", "\n<!-- End of the table. -->"
	path := filepath.Join("..", "..", "docs", "serve.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatalf("%s has no place for the table", path)
	}
	var b strings.Builder
	b.WriteString("| flag | environment | key | what it does |\n|---|---|---|---|\n")
	for _, f := range serveFlags() {
		key := strings.ReplaceAll(f.Name, "-", "_")
		if f.Name == "config" {
			key = ""
		} else {
			key = "`" + key + "`"
		}
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n", f.Name, f.Env, key, f.Help)
	}
	compare(t, path, head+begin+"\n"+b.String()+end+tail)
}

// What is wrong is told in one line before anything is opened.
func TestServeRefusesWhatCannotWork(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_DATA_HOME", dir)
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	store := "sqlite:" + filepath.Join(dir, "x.db")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "did you mean --listen", []string{"--lisen", "x"}},
		{2, "there are no tokens", []string{"--listen", "0.0.0.0:0"}},
		{2, "host:port", []string{"--listen", "nowhere"}},
		{1, "is another daemon running", []string{"--store", store, "--listen", busy.Addr().String()}},
		{2, `did you mean "listen"`, []string{"--config", file("a.yaml", "lisen: x\n")}},
		{2, "is no YAML", []string{"--config", file("b.yaml", "a: [\n")}},
		{2, "takes one value", []string{"--config", file("c.yaml", "listen: [a, b]\n")}},
		{2, "cannot be read", []string{"--config", filepath.Join(dir, "none.yaml")}},
		{2, "must be a number from 1", []string{"--config", file("d.yaml", "slots: {default: many}\n")}},
		{2, "http://localhost:4318", []string{"--otlp-endpoint", "localhost:4318"}},
		{2, "belong together", []string{"--tls-cert", "x"}},
		{2, "10.0.0.0/8", []string{"--allow-net", "x"}},
		{2, "1 to 65535", []string{"--allow-port", "0"}},
		{2, "KIND=URL", []string{"--push", "x"}},
		{1, "refused by the egress guard", []string{"--store", store, "--push", "k=http://127.0.0.1:80/"}},
		{1, "scheme", []string{"--store", "odd:x"}},
		{1, "can be read by others", []string{"--tokens", readable(t, dir)}},
	} {
		if got := refused(t, c.code, append([]string{"serve"}, c.args...)...); !strings.Contains(got, c.want) {
			t.Errorf("serve %v = %q, want it to say %q", c.args, got, c.want)
		}
	}
	if got := refused(t, 1, "serve", "--store", "postgres://u:hidden@127.0.0.1:1/x"); strings.Contains(got, "hidden") {
		t.Errorf("the password is shown: %s", got)
	}
}

func readable(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "tokens-for-all")
	if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil { //nolint:gosec // that is what is refused
		t.Fatal(err)
	}
	return path
}
