package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
)

// Where there is no terminal, top tells once what there is.
func TestTopTellsWhatThereIs(t *testing.T) {
	t.Parallel()
	for name, url := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failed, _ := world(t, url)
			out := ask(t, "top", "--store", url)
			for _, want := range []string{"outlast top", "submitted", "nobody", failed[0].String()} {
				if !strings.Contains(out, want) {
					t.Errorf("top does not say %q:\n%s", want, out)
				}
			}
			var v topView
			if err := json.Unmarshal([]byte(ask(t, "top", "--store", url, "--json")), &v); err != nil || len(v.Failed) != 5 || len(v.Queues) == 0 || len(v.Stats) == 0 {
				t.Errorf("top --json = %+v, %v", v, err)
			}
		})
	}
	refused(t, cli.Misuse, "top", "--every", "often")
}

func TestClipCountsWhatIsSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"abcdef", 3, "abc"},
		{"abc", 3, "abc"},
		{"\x1b[31mabc\x1b[0mdef", 4, "\x1b[31mabc\x1b[0md"},
		{"äöü", 2, "äö"},
		{"abc", 0, "abc"},
	} {
		if got := clip(c.line, c.width); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}
