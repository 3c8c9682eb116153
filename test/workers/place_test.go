package workers_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/test/servers"
)

// binary is the command outlast, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "outlast-workers-*")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "outlast")
	out, err := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "../../cmd/outlast").CombinedOutput()
	code := 1
	if err != nil {
		fmt.Fprintf(os.Stderr, "build outlast: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	servers.EndShared()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// engines are the stores a daemon is tried on.
var engines = map[string]func(testing.TB) string{
	"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "outlast.db") },
	"postgres": func(t testing.TB) string { return servers.SharedPostgres(t) },
	"redis":    func(t testing.TB) string { return servers.SharedRedis(t) },
}

// place is a daemon and the token to use it.
type place struct {
	testing.TB
	dir, store string
	space      string // the namespace
	url, token string
	daemon     *process
}

// begin starts a daemon on a store.
func begin(t testing.TB, store string, flags ...string) *place {
	t.Helper()
	p := &place{TB: t, dir: t.TempDir(), store: store, space: "w" + strings.ToLower(rand.Text()[:10])}
	p.token = strings.TrimSpace(p.outlast("token", "create", "--scope", "admin", "--tokens", p.dir+"/tokens"))
	p.serve("127.0.0.1:0", flags...)
	return p
}

// serve starts the daemon, and waits until it listens.
func (p *place) serve(listen string, flags ...string) {
	p.Helper()
	args := append([]string{"serve", "--store", p.store, "--namespace", p.space, "--listen", listen, "--tokens", p.dir + "/tokens", "--dead-after", "3s"}, flags...)
	p.daemon = p.start(nil, binary, args...)
	p.url = p.daemon.find(regexp.MustCompile(`listening on (\S+)`))
}

// outlast runs a command to its end.
func (p *place) outlast(args ...string) string {
	p.Helper()
	out, err := exec.CommandContext(p.Context(), binary, args...).Output()
	if err != nil {
		p.Fatalf("outlast %v: %v", args, err)
	}
	return string(out)
}

// process is one that was started, in a group of its own.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func (c *process) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(b)
}

func (c *process) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

func (p *place) start(env []string, name string, args ...string) *process {
	p.Helper()
	c := &process{t: p.TB, cmd: exec.CommandContext(context.Background(), name, args...), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), append(env, "HOME="+p.dir)...)
	c.cmd.Stdout, c.cmd.Stderr = c, c
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.WaitDelay = 5 * time.Second
	if err := c.cmd.Start(); err != nil {
		p.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		_ = c.cmd.Wait() // how it ended is seen by what it did
		close(c.done)
	})
	p.Cleanup(func() {
		c.signal(syscall.SIGCONT)
		c.signal(syscall.SIGKILL)
		group.Wait()
		if p.Failed() {
			p.Logf("%s said:\n%s", filepath.Base(name), c)
		}
	})
	return c
}

// signal reaches the process and all that it has started.
func (c *process) signal(s syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, s) }

// kill ends it as a loss of power would.
func (c *process) kill() {
	c.signal(syscall.SIGKILL)
	<-c.done
}

// find waits for a line, and returns what is in its brackets.
func (c *process) find(line *regexp.Regexp) string {
	c.t.Helper()
	found := ""
	until(c.t, "a line like "+line.String(), func() bool {
		match := line.FindStringSubmatch(c.String())
		if match != nil {
			found = match[len(match)-1]
		}
		return match != nil
	})
	return found
}

func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	end := time.Now().Add(60 * time.Second)
	for time.Now().Before(end) {
		if is() {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
	t.Fatalf("%s did not come within a minute", what)
}

// env is what a worker needs to know.
func (p *place) env() []string {
	return []string{"OUTLAST_URL=" + p.url, "OUTLAST_TOKEN=" + p.token, "OUTLAST_DEAD_AFTER=3", "OUTLAST_BEAT=0.5"}
}

// ask makes a request that has to be answered well, and reads the answer.
func (p *place) ask(method, path string, body, into any) {
	p.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		p.Fatal(err)
	}
	req, err := http.NewRequestWithContext(p.Context(), method, p.url+path, bytes.NewReader(text))
	if err != nil {
		p.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+p.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		p.Fatalf("%s %s = %d %s, %v", method, path, res.StatusCode, answer, err)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			p.Fatal(err)
		}
	}
}

// submit submits n tasks that take a while each.
func (p *place) submit(kind string, n int, sleep float64) (ids []string) {
	p.Helper()
	var tasks []map[string]any
	for i := range n {
		args := map[string]any{"text": fmt.Sprintf("t%d", i), "sleep": sleep}
		tasks = append(tasks, map[string]any{"kind": kind, "args": args, "retry": map[string]any{"max": 20, "base": "100ms"}})
	}
	var got api.Answers
	p.ask("POST", "/v1/tasks/batch", map[string]any{"tasks": tasks}, &got)
	for _, one := range got.Tasks {
		if one.Error != "" {
			p.Fatalf("submit = %+v", one)
		}
		ids = append(ids, one.ID)
	}
	return ids
}

func (p *place) task(id string) (t api.Task) {
	p.Helper()
	p.ask("GET", "/v1/tasks/"+id, nil, &t)
	return t
}
