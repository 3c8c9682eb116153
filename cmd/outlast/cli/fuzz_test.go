package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// A line of any words runs the command it names or is misused, and nothing else; what follows -- is never a flag.
func FuzzParse(f *testing.F) {
	f.Add("send\x00--count=3\x00-n\x00x\x00--\x00--count=4")
	f.Add("--wide\x00send")
	f.Add("sned")
	f.Add("send\x00--every\x001y")
	f.Add("send\x00-nX\x00--wide=maybe")
	f.Add("help\x00send")
	f.Add("completion\x00bash")
	f.Fuzz(func(t *testing.T, words string) {
		if len(words) > 4000 {
			return
		}
		args := strings.Split(words, "\x00")
		ran := false
		root := &Command{Name: "tool", Short: "a tool", Flags: []Flag{{Name: "wide", Kind: Switch, Help: "wide"}}}
		root.Sub = []*Command{{
			Name: "send", Short: "sends", Args: Args{Usage: "WORD", Min: 0, Max: -1},
			Flags: []Flag{
				{Name: "count", Kind: Number, Value: "N", Min: 1, Help: "count"},
				{Name: "name", Short: "n", Value: "TEXT", Help: "name"},
				{Name: "every", Kind: Span, Value: "TIME", Help: "every"},
				{Name: "label", Kind: Many, Value: "A=B", Help: "label"},
				{Name: "form", Value: "FORM", Words: []string{"a", "b"}, Help: "form"},
			},
			Run: func(_ context.Context, l *Line) error {
				ran = true
				if l.Given("count") && l.Number("count") < 1 || l.Span("every") < 0 || l.Given("form") && l.Text("form") != "a" && l.Text("form") != "b" {
					t.Errorf("%q: count %d, every %v, form %q", args, l.Number("count"), l.Span("every"), l.Text("form"))
				}
				if _, after, ok := strings.Cut(words, "\x00--\x00"); ok && !strings.HasSuffix(strings.Join(l.Args, "\x00"), after) {
					t.Errorf("%q: arguments %q; want what is behind --", args, l.Args)
				}
				return nil
			},
		}}
		var out, errs bytes.Buffer
		code := root.Main(t.Context(), args, World{Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		if code != OK && code != Misuse || code == Misuse && (ran || errs.Len() == 0) {
			t.Errorf("%q: code %d, ran %v, said %q", args, code, ran, errs.String())
		}
	})
}
