package file_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/file"
)

// The test that kills a process runs this binary again, as one that puts into the folder that the environment names.
const putVar = "OUTLAST_TEST_PUT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(putVar); dir != "" {
		fmt.Println("error:", putForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const blobSize = 3 << 20

func content() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), blobSize) }

// putForEver puts one blob after the other, and writes the key of each that was accepted.
func putForEver(dir string) error {
	s, err := file.Open(dir)
	if err != nil {
		return err
	}
	for {
		key := blob.NewKey("owner", task)
		if err := s.Put(context.Background(), key, content()); err != nil {
			return err
		}
		fmt.Println(key)
	}
}

// A process that dies in the middle of a put leaves what it was told is durable, and nothing that looks whole and is not.
func TestABlobIsWholeOrAbsentAfterKill(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "blobs")
	var accepted []string
	for round := range 8 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), putVar+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			accepted = append(accepted, lines.Text())
		}
		kill := time.AfterFunc(time.Duration(3*round)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for lines.Scan() {
			accepted = append(accepted, lines.Text())
		}
		kill.Stop()
		_ = cmd.Wait() // it was killed
	}
	s := open(t, dir)
	list, err := s.List(t.Context(), "", 100_000)
	if err != nil || len(list.Items) < len(accepted) || len(accepted) < 8 {
		t.Fatalf("%d blobs of %d that were accepted, %v; want at least those", len(list.Items), len(accepted), err)
	}
	there := map[string]bool{}
	for _, b := range list.Items {
		there[b.Key] = true
		r, err := s.Get(t.Context(), b.Key)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		want, _ := io.ReadAll(content())
		if _ = r.Close(); err != nil || string(got) != string(want) {
			t.Errorf("a blob of %d bytes that is not what was put, %v", len(got), err)
		}
	}
	for _, key := range accepted {
		if !there[key] {
			t.Errorf("%s was accepted, and is not there", key)
		}
	}
	if n, err := s.Tidy(t.Context(), 0); err != nil || n == 0 {
		t.Errorf("Tidy = %d, %v, want what the killed ones have left", n, err)
	}
}
