package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheProgramRuns(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), filepath.Join(t.TempDir(), "app.db")); err != nil {
		t.Errorf("run = %v", err)
	}
}

// What the README shows is this program, to the letter.
func TestTheREADMEShowsThisProgram(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(program), "package main\n")
	if !strings.Contains(string(readme), body) {
		t.Error("the README does not show examples/first/main.go as it is")
	}
}
