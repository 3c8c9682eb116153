package batch_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

// put writes a file into a folder.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree lists the files of a folder.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, " ")
}

func csvOf(in *batch.Incoming) (batch.Source[line], error) {
	in.Context = map[string]string{"from": in.Name}
	return batch.CSV[line](in, batch.CSVConfig{}), nil
}

// Files at rest become batches, once per content, and are moved with a report of the lines that were not good. AL-022, AL-023, AL-024, AL-025, AL-026
func TestFilesBecomeBatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	in := batch.Intake{Dir: dir, Rest: 1, Types: []batch.FileType{
		reading.FileType("/loose/**/*.csv", csvOf, batch.FileConfig{SkipBad: true}),
		reading.FileType("*.csv", csvOf, batch.FileConfig{}),
		reading.FileType("x.bad", func(*batch.Incoming) (batch.Source[line], error) {
			return batch.Source[line]{}, errors.New("not ours")
		}, batch.FileConfig{}),
	}}
	put(t, dir, "good.csv", "name,count\nann,1\nbob,2\n")
	put(t, dir, "loose/deep/some.csv", "name,count\nann,1\nbob,x\ncid,3\n")
	put(t, dir, "bad.csv", "name,count\nann,x\nbob,2\ncid\n")
	put(t, dir, "x.bad", "?")
	put(t, dir, "other.txt", "left alone")
	put(t, dir, ".hidden.csv", "left alone")
	taken, err := in.Look(t.Context(), k)
	if err != nil || len(taken) != 4 {
		t.Fatalf("Look = %+v, %v; want four files", taken, err)
	}
	want := ".hidden.csv done/good.csv done/loose/deep/some.csv done/loose/deep/some.csv.report failed/bad.csv failed/bad.csv.report failed/x.bad failed/x.bad.report other.txt"
	if got := tree(t, dir); got != want {
		t.Errorf("files: %s\nwant:  %s", got, want)
	}
	for name, texts := range map[string][]string{
		"failed/bad.csv.report":           {"nothing was submitted", "line 2: ", "line 4: "},
		"failed/x.bad.report":             {"not ours"},
		"done/loose/deep/some.csv.report": {"batch ", "line 3: "},
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		for _, part := range texts {
			if err != nil || !strings.Contains(string(text), part) {
				t.Errorf("%s = %q, %v; want %q in it", name, text, err, part)
			}
		}
	}
	put(t, dir, "good.csv", "name,count\nann,1\nbob,2\n") // the same again, as if a crash had come before the move
	again, err := in.Look(t.Context(), k)
	if err != nil || len(again) != 1 || !again[0].Existed || again[0].Batch.IsZero() || !strings.Contains(again[0].MovedTo, "good.") {
		t.Errorf("the same file again: %+v, %v; want the same batch", again, err)
	}
	all, err := batch.List(t.Context(), k, batch.ListOptions{})
	if err != nil || len(all) != 2 {
		t.Errorf("List = %+v, %v; want two batches", all, err)
	}
	for _, s := range all {
		if s.Rows != 2 || s.Labels["file"] == "" {
			t.Errorf("batch = %+v, want two rows and the name of its file", s)
		}
	}
}

func TestTypesOfFilesThatCannotBeMeantAreRefused(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	for _, patterns := range [][]string{{"*.csv", "*.csv"}, {"[x"}, {""}} {
		in := batch.Intake{Dir: t.TempDir()}
		for _, p := range patterns {
			in.Types = append(in.Types, reading.FileType(p, csvOf, batch.FileConfig{}))
		}
		if err := in.Run(context.Background(), k); !errors.Is(err, kernel.ErrInvalid) {
			t.Errorf("Run with %q = %v, want ErrInvalid", patterns, err)
		}
	}
}
