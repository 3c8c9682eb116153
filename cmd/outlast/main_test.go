package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/test/servers"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		out  string // part of what is printed; empty: nothing is
		errs string
	}{
		{nil, cli.OK, "usage: outlast <command>", ""},
		{[]string{"help"}, cli.OK, "print the version", ""},
		{[]string{"--help"}, cli.OK, "usage: outlast <command>", ""},
		{[]string{"version"}, cli.OK, "outlast ", ""},
		{[]string{"-v"}, cli.OK, " go1.", ""},
		{[]string{"help", "keys", "rotate"}, cli.OK, "usage: outlast keys rotate", ""},
		{[]string{"help", "kesy"}, cli.Misuse, "", `did you mean "keys"?`},
		{[]string{"version", "--json"}, cli.OK, `"go":"go1.`, ""},
		{[]string{"verison"}, cli.Misuse, "", `outlast: unknown command "verison"; did you mean "version"?`},
		{[]string{"HELP"}, cli.Misuse, "", `did you mean "help"?`},
		{[]string{"conquer"}, cli.Misuse, "", `outlast: unknown command "conquer"; "outlast --help" lists what there is`},
		{[]string{""}, cli.Misuse, "", `unknown command ""`},
		{[]string{"demo", "--taks", "5"}, cli.Misuse, "", "outlast demo: unknown flag --taks; did you mean --tasks?"},
		{[]string{"demo", "--tasks", "many"}, cli.Misuse, "", "outlast demo: --tasks is \"many\"; it must be a whole number"},
		{[]string{"demo", "--tasks", "0"}, cli.Misuse, "", "outlast demo: --tasks is 0; it must be at least 1"},
		{[]string{"demo", "now"}, cli.Misuse, "", `outlast demo: unexpected argument "now"`},
		{[]string{"demo", "--help"}, cli.OK, "--kills", ""},
		{[]string{"demo", "--store", "memory:"}, cli.Failed, "", "memory: is gone with its process"},
		{[]string{"demo", "--store", "nowhere"}, cli.Failed, "", "has no scheme"},
		{[]string{"demo", "--store", "oracle:x"}, cli.Failed, "", "not known"},
		{[]string{"version", "now"}, cli.Misuse, "", `outlast version: unexpected argument "now"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if code := run(t.Context(), c.args, &out, &errs); code != c.code {
				t.Errorf("run(%q) = %d, want %d", c.args, code, c.code)
			}
			for _, p := range []struct{ name, got, want string }{{"out", out.String(), c.out}, {"errs", errs.String(), c.errs}} {
				if !strings.Contains(p.got, p.want) || p.want == "" && p.got != "" {
					t.Errorf("run(%q) wrote %q to %s, want %q", c.args, p.got, p.name, p.want)
				}
			}
			if n := strings.Count(errs.String(), "\n"); n > 1 {
				t.Errorf("run(%q) complains in %d lines, want one", c.args, n)
			}
		})
	}
}

// TestMain lets the test's own program be the command: as the worker that the demo starts, and where the environment says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == workerCommand || os.Getenv(commandVar) != "" {
		main()
	}
	code := m.Run()
	servers.EndShared()
	os.Exit(code)
}

// commandVar makes the test's own program the command.
const commandVar = "OUTLAST_TEST_COMMAND"

// program is a process of the command.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandVar+"=1", "HOME="+t.TempDir(), "XDG_DATA_HOME=")
	return cmd
}

// ask runs a command line that must work, and returns what it prints.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), args, &out, &errs); code != cli.OK {
		t.Fatalf("outlast %s = %d: %s%s", strings.Join(args, " "), code, errs.String(), out.String())
	}
	return out.String()
}

// refused runs a command line that must not work, and returns what it complains of.
func refused(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := run(t.Context(), args, &out, &errs); got != code {
		t.Errorf("outlast %s = %d, want %d: %s%s", strings.Join(args, " "), got, code, errs.String(), out.String())
	}
	if n := strings.Count(errs.String(), "\n"); n != 1 {
		t.Errorf("outlast %s complains in %d lines, want one: %s", strings.Join(args, " "), n, errs.String())
	}
	return errs.String()
}

// update writes what the checked files should be, instead of comparing them.
var update = flag.Bool("update", false, "write testdata/help.txt and docs/commands.md anew")

// The help of each command is checked in: a change of it is seen.
func TestHelpIsAsItWas(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	root := tree()
	root.Walk(func(name string, c *cli.Command) {
		fmt.Fprintf(&b, "$ %s --help\n", name)
		cli.Help(&b, name, c, root)
		fmt.Fprintln(&b)
	})
	compare(t, filepath.Join("testdata", "help.txt"), b.String())
}

// The page of all commands is what the tree says.
func TestTheListOfCommandsIsTrue(t *testing.T) {
	t.Parallel()
	const begin = "<!-- What follows is written by the tree of commands. -->\n\n"
	path := filepath.Join("..", "..", "docs", "commands.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(page), begin)
	if !ok {
		t.Fatalf("%s has no line %q", path, begin)
	}
	var b strings.Builder
	cli.Markdown(&b, tree())
	compare(t, path, head+begin+strings.TrimRight(b.String(), "\n")+"\n")
}

func compare(t *testing.T, path, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the commands say (%v): look at the change, and run go test ./cmd/outlast -run %s -update", path, err, t.Name())
	}
}

// Each command that does something has an example, which is a command line that it understands as far as its flags go.
func TestEveryCommandHasHelpAndAnExample(t *testing.T) {
	t.Parallel()
	root := tree()
	root.Walk(func(name string, c *cli.Command) {
		if c.Run == nil || name == "outlast version" {
			return
		}
		if !strings.Contains(c.Example, name) {
			t.Errorf("%s has no example of itself", name)
		}
		var out, errs bytes.Buffer
		if code := run(t.Context(), append(strings.Fields(name)[1:], "--help"), &out, &errs); code != cli.OK || !strings.Contains(out.String(), "examples:") {
			t.Errorf("%s --help = %d: %s%s", name, code, errs.String(), out.String())
		}
	})
}
