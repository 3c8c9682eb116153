package main

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/endpoint"
)

// listen starts the example on a free port and returns its URL. It must end well when the test does.
func listen(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := serve(ctx, l, slog.New(slog.NewTextHandler(t.Output(), nil))); err != nil {
			t.Errorf("serve = %v", err)
		}
	})
	t.Cleanup(func() { stop(); serving.Wait() })
	return "http://" + l.Addr().String()
}

func TestTheExampleDoesWhatItSays(t *testing.T) {
	t.Parallel()
	url := listen(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type report struct{ Year, Sum int }
	client := &endpoint.Client[Order, report]{URL: url + "/reports"}
	op, err := client.Start(ctx, Order{Year: 2020}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := op.Wait(ctx); err != nil || got != (report{2020, 157560}) {
		t.Errorf("Wait = %+v, %v; want the report", got, err)
	}
}

var fence = regexp.MustCompile("(?s)```console\n(.*?)```")

// session is one command of a transcript, and what it printed.
type session struct{ command, want string }

// transcripts reads the console blocks of a page. They are one session in one shell.
func transcripts(t *testing.T, page string) []session {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []session
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		for _, line := range strings.SplitAfter(block[1], "\n") {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				list = append(list, session{command: command})
			} else if n := len(list) - 1; n >= 0 && strings.HasSuffix(list[n].command, "\\\n") && list[n].want == "" {
				list[n].command += line
			} else if n >= 0 {
				list[n].want += line
			}
		}
	}
	return list
}

// The transcripts of the guide are run as they stand, with this example at $URL. In what they print, … stands for whatever came.
func TestTheTranscriptsOfTheGuideAreTrue(t *testing.T) {
	t.Parallel()
	list := transcripts(t, "../../docs/endpoints.md")
	if len(list) < 10 {
		t.Fatalf("the guide has %d commands, want at least 10", len(list))
	}
	const mark = "\x01end of command\x01\n"
	var script strings.Builder
	for _, s := range list {
		script.WriteString(s.command + "printf '" + mark + "'\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script.String()) //nolint:gosec // of our own page
	cmd.Env = append(os.Environ(), "URL="+listen(t), "no_proxy=127.0.0.1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, &errs)
	}
	parts := strings.Split(strings.ReplaceAll(string(out), "\r\n", "\n"), mark)
	for i, s := range list {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(s.want)), "…", ".*?")
		if got := strings.TrimSpace(parts[i]); !regexp.MustCompile(`^(?s:` + pattern + `)$`).MatchString(got) {
			t.Errorf("$ %s\nprinted\n%s\nthe guide says\n%s", s.command, got, s.want)
		}
	}
}
