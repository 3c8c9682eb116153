package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/rowcall"
	"github.com/outlast-go/outlast/kernel"
)

// listener is a server that notes what was asked of it, and what it answered.
type listener struct {
	*httptest.Server
	mu       sync.Mutex
	answered map[string]int // times, by path
	keys     map[string]map[string]bool
	status   func(path string, n int) int // of the n-th request, from 1 on
	asked    map[string]int
}

func listen(t *testing.T, status func(path string, n int) int) *listener {
	t.Helper()
	s := &listener{answered: map[string]int{}, keys: map[string]map[string]bool{}, asked: map[string]int{}, status: status}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked[r.URL.Path]++
	n := s.asked[r.URL.Path]
	if s.keys[r.URL.Path] == nil {
		s.keys[r.URL.Path] = map[string]bool{}
	}
	s.keys[r.URL.Path][r.Header.Get("Idempotency-Key")] = true
	s.mu.Unlock()
	status := http.StatusOK
	if s.status != nil {
		status = s.status(r.URL.Path, n)
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"echo":%s,"auth":%q}`, body, r.Header.Get("Authorization"))
	if s.status == nil {
		_ = http.NewResponseController(w).Flush()
	}
	s.mu.Lock()
	s.answered[r.URL.Path]++
	s.mu.Unlock()
}

func (s *listener) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, k := range s.answered {
		n += k
	}
	return n
}

// sheet writes a CSV file of n rows.
func sheet(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("question,id\n")
	for i := range n {
		fmt.Fprintf(&b, "\"what, is \"\"%d\"\"?\",%d\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// results reads what was written.
func results(t *testing.T, path string) (lines []rowcall.Line) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for in := bufio.NewScanner(f); in.Scan(); {
		var l rowcall.Line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", in.Text(), err)
		}
		lines = append(lines, l)
	}
	return lines
}

// The command is killed half way, twice, and run again: each row is called to its end once, and the results are complete and in order.
func TestARunThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	for engine, url := range stores(t) {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			const rows, slots = 600, 10
			s := listen(t, func(string, int) int {
				<-time.After(10 * time.Millisecond) // so that there is a middle
				return http.StatusOK
			})
			in, out := sheet(t, rows), filepath.Join(t.TempDir(), "results.jsonl")
			args := []string{
				"batch", "run", "--store", url, "--rows", in, "--url", s.URL + "/{{.id}}", "--body", `{"q": {{.question}}}`,
				"--concurrency", fmt.Sprint(slots), "--out", out, "-H", "Authorization: Bearer t",
			}
			for _, at := range []int{rows / 4, rows / 2} {
				cmd := program(t, args...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for begin := time.Now(); s.total() < at; <-time.After(5 * time.Millisecond) {
					if time.Since(begin) > time.Minute {
						t.Fatalf("%d rows were answered within a minute, want %d", s.total(), at)
					}
				}
				_ = cmd.Process.Signal(syscall.SIGKILL)
				_ = cmd.Wait()
				if _, err := os.Stat(out); err == nil {
					t.Error("there are results before all rows have ended")
				}
			}
			before := s.total()
			if text, err := program(t, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			checkResults(t, s, results(t, out), rows)
			// A slot is free for the next row as soon as the end of the one before is on its way to the store.
			if again := s.total() - rows; again > 2*(slots+slots) || before >= rows {
				t.Errorf("%d requests were answered twice; at most those may be that were under way, or whose end was, when it was killed", again)
			}
			done := s.total()
			if text, err := program(t, args...).CombinedOutput(); err != nil || s.total() != done {
				t.Errorf("the same command after the end: %v, %d more requests: %s", err, s.total()-done, text)
			}
		})
	}
}

func checkResults(t *testing.T, s *listener, lines []rowcall.Line, rows int) {
	t.Helper()
	if len(lines) != rows {
		t.Fatalf("%d results, want %d", len(lines), rows)
	}
	for i, l := range lines {
		want := fmt.Sprintf(`{"echo":{"q":"what, is \"%d\"?"},"auth":"Bearer t"}`, i)
		var got bytes.Buffer
		if err := json.Compact(&got, l.Body); err != nil || l.Line != int64(i)+2 || l.Status != http.StatusOK || got.String() != want {
			t.Fatalf("result %d is %+v, want %s", i, l, want)
		}
	}
	for path, keys := range s.keys {
		if len(keys) != 1 || keys[""] {
			t.Errorf("%s was called under %d keys", path, len(keys))
		}
	}
}

// Ctrl-C says how to go on, and the same command does.
func TestARunThatIsInterruptedSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	s := listen(t, func(string, int) int {
		<-time.After(10 * time.Millisecond)
		return http.StatusOK
	})
	out := filepath.Join(t.TempDir(), "r.jsonl")
	args := []string{"batch", "run", "--store", fresh(t), "--rows", sheet(t, 300), "--url", s.URL + "/{{.id}}", "--concurrency", "3", "--out", out}
	cmd := program(t, args...)
	var told bytes.Buffer
	cmd.Stderr = &told
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); s.total() < 50 && time.Since(begin) < time.Minute; <-time.After(5 * time.Millisecond) {
		continue
	}
	_ = cmd.Process.Signal(os.Interrupt)
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != cli.Failed || !strings.Contains(told.String(), "the same command again goes on") {
		t.Fatalf("it ended with %v: %s", err, &told)
	}
	before := s.total()
	if text, err := program(t, args...).CombinedOutput(); err != nil || s.total() != 300 || before == 300 {
		t.Errorf("it went on with %v, %d requests in all, %d before: %s", err, s.total(), before, text)
	}
	if lines := results(t, out); len(lines) != 300 {
		t.Errorf("%d results, want 300", len(lines))
	}
}

// What another attempt may mend is tried again; what fails is in the results, and can be tried again.
func TestRowsThatFailAreToldAndTriedAgain(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	s := listen(t, func(path string, n int) int {
		switch {
		case path == "/1" && n == 1:
			return http.StatusServiceUnavailable
		case path == "/2" && !mended.Load():
			return http.StatusNotFound
		}
		return http.StatusOK
	})
	out := filepath.Join(t.TempDir(), "r.jsonl")
	args := []string{"batch", "run", "--json", "--store", fresh(t), "--rows", sheet(t, 4), "--url", s.URL + "/{{.id}}", "--out", out}
	var told, errs bytes.Buffer
	if code := run(t.Context(), args, &told, &errs); code != cli.Failed || !strings.Contains(told.String(), `"success":3,"failed":1`) {
		t.Fatalf("exit code %d: %s%s", code, &told, &errs)
	}
	lines := results(t, out)
	if len(lines) != 4 || lines[1].Attempts != 2 || lines[2].Status != http.StatusNotFound || lines[2].State != "failed" {
		t.Fatalf("results: %+v", lines)
	}
	mended.Store(true)
	if code := run(t.Context(), append(args, "--retry-failed"), &told, &errs); code != cli.OK {
		t.Fatalf("exit code %d: %s%s", code, &told, &errs)
	}
	if lines := results(t, out); lines[2].Status != http.StatusOK || s.asked["/0"] != 1 || s.asked["/2"] != 2 {
		t.Errorf("after the second run: %+v, asked %v", lines, s.asked)
	}
}

// Rows may come from the standard input; the answers then go to the standard output.
func TestARunBetweenPipes(t *testing.T) {
	t.Parallel()
	s := listen(t, nil)
	var out, errs bytes.Buffer
	w := cli.Plain(&out, &errs)
	w.In = strings.NewReader("{\"id\":1}\n{\"id\":\"a b/c\"}\n")
	code := runIn(t.Context(), []string{"batch", "run", "--store", fresh(t), "--rows", "-", "--form", "jsonl", "--url", s.URL + "/{{.id}}"}, w)
	if code != cli.OK || strings.Count(out.String(), "\n") != 2 || !strings.HasPrefix(out.String(), `{"line":1,"input":{"id":1},"state":"success","status":200`) {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
	if s.asked["/1"] != 1 || s.asked["/a b/c"] != 1 {
		t.Errorf("asked for %v", s.asked)
	}
}

// What is wrong is told in one line, and nothing is sent.
func TestARunWithBadInput(t *testing.T) {
	t.Parallel()
	s := listen(t, nil)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.csv", "id,q\n1,a\n2,b\n")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no rows", []string{"--url", s.URL}, cli.Misuse, "say --rows"},
		{"no url", []string{"--rows", good}, cli.Misuse, "say --url"},
		{"a file that is not there", []string{"--rows", "nowhere.csv", "--url", s.URL}, cli.Misuse, "nowhere.csv"},
		{"a form that nobody knows", []string{"--rows", write("a.txt", ""), "--url", s.URL}, cli.Misuse, "--form csv or --form jsonl"},
		{"a missing column", []string{"--rows", good, "--url", s.URL + "/{{.di}}"}, cli.Misuse, `names the column "di", which is not there; there are: id, q`},
		{"a template that is none", []string{"--rows", good, "--url", s.URL + "/{{.id"}, cli.Misuse, "--url: "},
		{"a body that is no JSON", []string{"--rows", good, "--url", s.URL, "--body", `{"q": "{{.q}}"}`}, cli.Misuse, "bring their own quotes"},
		{"a relative URL", []string{"--rows", good, "--url", "/x"}, cli.Misuse, "no absolute http or https URL"},
		{"a header that is none", []string{"--rows", good, "--url", s.URL, "-H", "Authorization"}, cli.Misuse, "Name: value"},
		{"a bad line of CSV", []string{"--rows", write("bad.csv", "id,q\n1,a\n2\n"), "--url", s.URL}, cli.Failed, "line 3"},
		{"a bad line of JSON", []string{"--rows", write("bad.jsonl", "{\"id\":1}\n{\"id\":\n"), "--url", s.URL}, cli.Failed, "line 2"},
		{"a line without the column", []string{"--rows", write("less.jsonl", "{\"id\":1}\n{\"x\":1}\n"), "--url", s.URL + "/{{.id}}"}, cli.Failed, "line 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"batch", "run", "--store", fresh(t)}, tt.args...), &out, &errs)
			if code != tt.code || !strings.Contains(errs.String(), tt.want) || strings.Count(strings.TrimSpace(errs.String()), "\n") != 0 {
				t.Errorf("exit code %d, want %d; it says %q, want one line with %q", code, tt.code, &errs, tt.want)
			}
		})
	}
	if s.total() != 0 {
		t.Errorf("%d requests were sent", s.total())
	}
	var out, errs bytes.Buffer
	skip := []string{"batch", "run", "--json", "--store", fresh(t), "--rows", filepath.Join(dir, "bad.csv"), "--url", s.URL + "/{{.id}}", "--skip-bad", "--out", filepath.Join(dir, "r")}
	if code := run(t.Context(), skip, &out, &errs); code != cli.OK || s.total() != 1 || !strings.Contains(errs.String(), "left out: line 3") {
		t.Errorf("with --skip-bad: exit code %d, %d requests: %s%s", code, s.total(), &out, &errs)
	}
}

// A folder is watched: good files become batches, bad ones are reported, the same content is one batch, and other files stay.
func TestAFolderIsWatched(t *testing.T) {
	t.Parallel()
	dir, url := t.TempDir(), fresh(t)
	for name, text := range map[string]string{
		"a.csv": "id,q\n1,x\n2,y\n", "b.csv": "id,q\n1,x\n2,y\n", "bad.csv": "id,q\n1,x\n2\n", "n.jsonl": "{\"id\":1}\n", "other.txt": "?",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"batch", "watch", dir, "--json", "--store", url, "--once", "--rest", "1ms", "--type", "*.csv=app/rows", "--type", "*.jsonl=app/notes"}
	var out, errs bytes.Buffer
	if code := run(t.Context(), args, &out, &errs); code != cli.Failed {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
	if !strings.Contains(out.String(), `"bad_lines":["line 3`) {
		t.Errorf("the bad line is not told: %s", &out)
	}
	for _, path := range []string{"done/a.csv", "done/b.csv", "done/n.jsonl", "failed/bad.csv", "other.txt"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	list := ask(t, "batch", "list", "--store", url, "--json")
	if strings.Count(list, `"name":"app/rows"`) != 1 || strings.Count(list, `"name":"app/notes"`) != 1 {
		t.Errorf("batches: %s", list)
	}
	for _, bad := range []string{"*.csv", "=x", "[=x", "*.csv=b ad"} {
		refused(t, cli.Misuse, "batch", "watch", dir, "--store", url, "--type", bad)
	}
	refused(t, cli.Misuse, "batch", "watch", filepath.Join(dir, "nowhere"), "--store", url, "--type", "*=x")
}

// Batches are told, aborted, released and tried again from the command line.
func TestBatchesFromTheCommandLine(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	k, _ := planted(t, url, kernel.Config{})
	op := batch.Define("app/op", batch.Processor[struct{}, int, int]{
		Row: func(context.Context, struct{}, batch.Row[int]) (batch.Result[int], error) {
			return batch.Result[int]{}, nil
		},
	}, batch.Config{})
	h, err := op.Submit(t.Context(), k, batch.Inputs(1, 2, 3), batch.Options{Hold: true})
	if err != nil {
		t.Fatal(err)
	}
	id := h.ID().String()
	for _, step := range []struct{ verb, want string }{
		{"status", `"state":"wait","rows":3`},
		{"release", `"rows":3`},
		{"status", `"unserved":true`},
		{"rows", `"line":2`},
		{"abort", `"aborted":3`},
		{"files", ""},
	} {
		if got := ask(t, "batch", step.verb, id, "--store", url, "--json"); !strings.Contains(got, step.want) {
			t.Errorf("batch %s = %s, want %s in it", step.verb, got, step.want)
		}
	}
	refused(t, cli.Failed, "batch", "retry", id, "--store", url)
	refused(t, cli.Misuse, "batch", "status", "nonsense", "--store", url)
	if got := refused(t, cli.Failed, "batch", "status", k.NewID().String(), "--store", url); !strings.Contains(got, "there is no batch") {
		t.Error(got)
	}
}
