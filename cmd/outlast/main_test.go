package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		out  string // part of what is printed; empty: nothing is
		errs string
	}{
		{nil, exitOK, "usage: outlast <command>", ""},
		{[]string{"help"}, exitOK, "print the version", ""},
		{[]string{"--help"}, exitOK, "usage: outlast <command>", ""},
		{[]string{"version"}, exitOK, "outlast ", ""},
		{[]string{"-v"}, exitOK, " go1.", ""},
		{[]string{"verison"}, exitUsage, "", `outlast: unknown command "verison"; did you mean "version"?`},
		{[]string{"HELP"}, exitUsage, "", `did you mean "help"?`},
		{[]string{"conquer"}, exitUsage, "", `outlast: unknown command "conquer"; "outlast help" lists what there is`},
		{[]string{""}, exitUsage, "", `unknown command ""`},
		{[]string{"demo", "--taks", "5"}, exitUsage, "", "outlast demo: unknown flag --taks; did you mean --tasks?"},
		{[]string{"demo", "--tasks", "many"}, exitUsage, "", "outlast demo: invalid value"},
		{[]string{"demo", "--tasks", "0"}, exitUsage, "", "outlast demo: --tasks is 0; it must be at least 1"},
		{[]string{"demo", "now"}, exitUsage, "", `outlast demo: unexpected argument "now"`},
		{[]string{"demo", "--help"}, exitOK, "--kills", ""},
		{[]string{"demo", "--store", "memory:"}, exitFail, "", "memory: is gone with its process"},
		{[]string{"demo", "--store", "nowhere"}, exitFail, "", "has no scheme"},
		{[]string{"demo", "--store", "oracle:x"}, exitFail, "", "not known"},
		{[]string{"version", "now"}, exitUsage, "", `outlast: this command takes no arguments, got "now"`},
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

func TestHelpListsEveryCommand(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	help(&out)
	for _, c := range commands() {
		if c.what != "" && !strings.Contains(out.String(), "  "+c.name+" ") {
			t.Errorf("help does not list %s:\n%s", c.name, out.String())
		}
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "help", 4},
		{"help", "", 4},
		{"help", "help", 0},
		{"hepl", "help", 2},
		{"hlp", "help", 1},
		{"helpp", "help", 1},
		{"kitten", "sitting", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
