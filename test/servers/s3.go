package servers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// S3 is a private S3 server: the gateway of Versity over a folder. Its module file is tools/s3/go.mod, so that it is a
// dependency of the tests alone; the first test of a machine builds it.
type S3 struct {
	Endpoint             string
	Access, Secret       string
	Folder               string // a bucket is a folder in it
	t                    T
	program, dir, listen string
	running              *process
}

// StartS3 starts a server without buckets. It ends with the test.
func StartS3(t T) *S3 {
	t.Helper()
	s := &S3{t: t, Access: "outlast", Secret: "outlast-secret", dir: folder(t, ""), listen: fmt.Sprintf("127.0.0.1:%d", port(t)), program: gateway(t)}
	s.Endpoint, s.Folder = "http://"+s.listen, filepath.Join(s.dir, "data")
	if err := os.Mkdir(s.Folder, 0o700); err != nil {
		t.Fatalf("%v", err)
	}
	s.Start()
	t.Cleanup(s.Stop)
	return s
}

// Start starts the server again after Stop, on the same port and data.
func (s *S3) Start() {
	s.t.Helper()
	s.running = launch(s.t, "", s.dir, s.program, "--access", s.Access, "--secret", s.Secret, "--port", s.listen, "--quiet", "posix", "--sidecar", sidecar(s.t, s.dir), s.Folder)
	s.running.ready(s.t, "versitygw", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		return res.Body.Close() // that it refuses who has not signed is an answer
	})
}

// Stop ends the server as kill -9 does. Stopping twice has no effect.
func (s *S3) Stop() { s.running.signal(syscall.SIGKILL) }

// sidecar is where the gateway keeps what it knows of objects: not every file system has attributes for that.
func sidecar(t T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "about")
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatalf("%v", err)
	}
	return path
}

// gateway builds the server, or finds it built.
func gateway(t T) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	modules := filepath.Join(filepath.Dir(here), "..", "..", "tools", "s3", "go.mod")
	out, err := exec.CommandContext(context.Background(), "go", "tool", "-n", "-modfile="+modules, "versitygw").Output()
	if err != nil {
		t.Fatalf("build the S3 server of %s: %v %s", modules, err, out)
	}
	return strings.TrimSpace(string(out))
}
