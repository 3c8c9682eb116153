package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// sample is a tree with one of everything.
func sample() *Command {
	echo := func(_ context.Context, l *Line) error {
		l.Say("%v %q %v %d %v %q %v", l.Args, l.Text("word"), l.On("loud"), l.Number("count"), l.Span("wait"), l.Many("header"), l.Given("word"))
		return nil
	}
	return &Command{
		Name: "tool", Short: "does things", Flags: []Flag{{Name: "json", Kind: Switch, Help: "JSON"}},
		Sub: append(Completion(),
			&Command{Name: "group", Short: "has more", Sub: []*Command{{
				Name: "echo", Short: "says what it heard", Args: Args{Usage: "[WORD ...]", Max: 2}, Run: echo, Flags: []Flag{
					{Name: "word", Short: "w", Env: "TOOL_WORD", Default: "none", Help: "a word"},
					{Name: "colour", Words: []string{"red", "green"}, Help: "a colour"},
					{Name: "loud", Kind: Switch, Help: "louder"},
					{Name: "count", Kind: Number, Min: 1, Default: "0", Help: "how many"},
					{Name: "wait", Kind: Span, Help: "how long"},
					{Name: "header", Short: "H", Kind: Many, Help: "a header"},
				},
			}}},
			&Command{Name: "fail", Short: "fails", Run: func(context.Context, *Line) error {
				return errors.Join(errors.New("open postgres://ann:geheim@host/db?password=offen: no"), errors.New("second\x1b[31m"))
			}},
			&Command{Name: "quiet", Short: "fails without a word", Run: func(context.Context, *Line) error { return Told }},
			&Command{Name: "one", Short: "needs one", Args: Args{Usage: "ID", Min: 1, Max: 1}, Run: func(context.Context, *Line) error { return nil }},
		),
	}
}

func TestLinesAreUnderstood(t *testing.T) {
	t.Parallel()
	const nothing = `[] "none" false 0 0s [] false`
	for _, c := range []struct {
		line string
		env  string
		code int
		want string // in what is printed, or in the complaint
	}{
		{"group echo", "", OK, nothing},
		{"group echo", "env", OK, `[] "env" false 0 0s [] true`},
		{"group echo --word flag", "env", OK, `[] "flag"`},
		{"group echo a --word=x b -H 1 -H2 --loud --count 3 --wait 5m", "", OK, `[a b] "x" true 3 5m0s ["1" "2"] true`},
		{"--word x group echo a", "", OK, `[a] "x"`},
		{"-w x group echo", "", OK, `[] "x"`},
		{"group --loud echo", "", OK, `"none" true`},
		{"group echo --loud=false", "", OK, nothing},
		{"group echo -- --word", "", OK, `[--word]`},
		{"group echo -", "", OK, `[-]`},
		{"", "", OK, "usage: tool <command>"},
		{"group", "", OK, "says what it heard"},
		{"group echo --help", "", OK, "a word (default none; environment TOOL_WORD)"},
		{"group echo a b c", "", Misuse, `unexpected argument "c"`},
		{"group ehco", "", Misuse, `tool group: unknown command "ehco"; did you mean "echo"?`},
		{"gruop echo", "", Misuse, `tool: unknown command "gruop"; did you mean "group"?`},
		{"conquer", "", Misuse, `"tool --help" lists what there is`},
		{"group echo --wrod x", "", Misuse, "unknown flag --wrod; did you mean --word?"},
		{"group echo --zzzzzzz", "", Misuse, `unknown flag --zzzzzzz; "tool group echo --help" lists the flags`},
		{"group echo --count many", "", Misuse, `--count is "many"; it must be a whole number`},
		{"group echo --count 0", "", Misuse, `--count is 0; it must be at least 1`},
		{"group echo --wait long", "", Misuse, `--wait is "long"; it must be a duration as 30s, 5m or 2h`},
		{"group echo --wait -1s", "", Misuse, "it must not be negative"},
		{"group echo --colour gren", "", Misuse, `--colour is "gren"; did you mean green?`},
		{"group echo --colour blue", "", Misuse, `it can be red, green`},
		{"group echo --word", "", Misuse, "--word needs a value: --word TEXT"},
		{"one", "", Misuse, "it needs ID; write it as: tool one ID [flags]"},
		{"fail", "", Failed, "tool fail: open postgres://ann:***@host/db?password=*** no; second�[31m"},
		{"completion fihs", "", Misuse, `did you mean "fish"?`},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			w := Plain(&out, &errs)
			w.Getenv = func(name string) string { return map[string]string{"TOOL_WORD": c.env}[name] }
			code := sample().Main(t.Context(), strings.Fields(c.line), w)
			said := out.String()
			if c.code != OK {
				said = errs.String()
			}
			if code != c.code || !strings.Contains(said, c.want) || c.code != OK && strings.Count(said, "\n") != 1 {
				t.Errorf("Main = %d, %q, want %d, %q", code, said, c.code, c.want)
			}
		})
	}
}

func TestWhoHasToldIsNotRepeated(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	if code := sample().Main(t.Context(), []string{"quiet"}, Plain(&out, &errs)); code != Failed || errs.Len() > 0 {
		t.Errorf("Main = %d, %q, want %d and nothing", code, errs.String(), Failed)
	}
}

func TestMaskHidesPasswordsAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"redis://h:6379/0":                                  "redis://h:6379/0",
		"redis://:pw@h:6379/0":                              "redis://:***@h:6379/0",
		"x postgres://a:p@w:d@h/db?a=b end":                 "x postgres://a:***@h/db?a=b end",
		"redis+sentinel://a,b/m?sentinel_password=pw&tls=1": "redis+sentinel://a,b/m?sentinel_password=***&tls=1",
		"sqlite:/tmp/a.db":                                  "sqlite:/tmp/a.db",
	} {
		if got := Mask(text); got != want {
			t.Errorf("Mask(%q) = %q, want %q", text, got, want)
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
		{"hepl", "help", 1},
		{"nwe", "new", 1},
		{"hlp", "help", 1},
		{"helpp", "help", 1},
		{"kitten", "sitting", 3},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestCompleteKnowsTheTree(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                        {"completion", "group", "fail", "quiet", "one"},
		"gr":                      {"group"},
		"group ":                  {"echo"},
		"group echo --w":          {"--word", "--wait"},
		"group echo --colour ":    {"red", "green"},
		"group echo --colour g":   {"green"},
		"group echo --word ":      nil,
		"group echo --loud --hea": {"--header"},
		"completion ":             {"bash", "zsh", "fish"},
		"nonsense ":               nil,
	} {
		var got []string
		for _, c := range sample().Complete(strings.Split(line, " ")) {
			got = append(got, c[0])
		}
		if !slices.Equal(got, want) {
			t.Errorf("Complete(%q) = %q, want %q", line, got, want)
		}
	}
}

// The script is read by a real bash, which asks a program in its path.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	var script bytes.Buffer
	if code := sample().Main(t.Context(), []string{"completion", "bash"}, Plain(&script, &script)); code != OK {
		t.Fatalf("completion = %d, %s", code, script.String())
	}
	test := fmt.Sprintf("tool() { printf '%%s\\n' \"$*\" >&2; printf 'echo\\tsays\\nelse\\tnot\\n'; }\n%s\nCOMP_WORDS=(tool group e) COMP_CWORD=2\n_tool_complete\nprintf '<%%s>' \"${COMPREPLY[@]}\"", script.String())
	cmd := exec.CommandContext(t.Context(), "bash", "-c", test)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	if err != nil || string(out) != "<echo><else>" {
		t.Errorf("bash = %q, %v", out, err)
	}
}

func TestTablesFitAndAreClean(t *testing.T) {
	t.Parallel()
	w := World{Width: 16}
	rows := w.Rows([]string{"NAME", "N", "TEXT"}, [][]Cell{
		{C("ann"), N(12345), C("a \x1b[31mlong text")},
		{C("bob\n"), N(1), In(Red, "x")},
	})
	want := []string{"NAME       N  T…", "ann   12,345  a…", "bob        1  x"}
	if !slices.Equal(rows, want) {
		t.Errorf("Rows = %q, want %q", rows, want)
	}
	w.Colour = true
	if got := w.Paint(Red, "x\x1b"); got != "\x1b[31mx�\x1b[0m" {
		t.Errorf("Paint = %q", got)
	}
}

func TestTimesAreCoarse(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		250 * time.Millisecond: "250ms ago", 1500 * time.Millisecond: "1.5s ago", 42 * time.Second: "42s ago",
		90 * time.Second: "1m30s ago", 90 * time.Minute: "1h30m ago", 72 * time.Hour: "3d ago", -time.Minute: "in 1m00s",
	} {
		if got := Ago(now, now.Add(-d)); got != want {
			t.Errorf("Ago(%v) = %q, want %q", d, got, want)
		}
	}
	if got := Ago(now, time.Time{}); got != "-" {
		t.Errorf("Ago(never) = %q", got)
	}
	if a, b := Thousands(-1234567), Thousands(999); a != "-1,234,567" || b != "999" {
		t.Errorf("Thousands = %q, %q", a, b)
	}
}
