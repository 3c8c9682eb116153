package arch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// lines returns n lines of statements.
func lines(n int) string { return strings.Repeat("\t_ = 0\n", n) }

// breaches holds one small tree per way to break a rule, and all that Check finds in it.
var breaches = []struct {
	name string
	path string
	src  string
	want string // rule and line
}{
	{"a face imports a face", "job/job.go", "// Package job.\npackage job\n\nimport _ \"" + Module + "/saga\"\n", "arrow 4"},
	{"a face imports the store", "call/a.go", "// Package call.\npackage call\n\nimport _ \"" + Module + "/store\"\n", "arrow 4"},
	{"the kernel imports an engine", "kernel/a.go", "// Package kernel.\npackage kernel\n\nimport _ \"" + Module + "/store/memory\"\n", "arrow 4"},
	{"the kernel imports a library", "kernel/a.go", "// Package kernel.\npackage kernel\n\nimport _ \"example.org/metrics\"\n", "arrow 4"},
	{"the store imports a library", "store/a.go", "// Package store.\npackage store\n\nimport _ \"example.org/uuid\"\n", "arrow 4"},
	{"an engine imports an engine", "store/redis/a.go", "// Package redis.\npackage redis\n\nimport _ \"" + Module + "/store/memory\"\n", "arrow 4"},
	{"an engine imports another's driver", "store/redis/a.go", "// Package redis.\npackage redis\n\nimport _ \"github.com/jackc/pgx/v5\"\n", "arrow 4"},
	{"the dashboard imports the store", "web/a.go", "// Package web.\npackage web\n\nimport _ \"" + Module + "/store\"\n", "arrow 4"},
	{"the command imports a test suite", "cmd/outlast/a.go", "// Command outlast.\npackage main\n\nimport _ \"" + Module + "/store/storetest\"\n", "arrow 4"},
	{"a leaf imports the kernel", "internal/cron/a.go", "// Package cron.\npackage cron\n\nimport _ \"" + Module + "/kernel\"\n", "arrow 4"},
	{"a test imports the measurements", "test/sim/a.go", "// Package sim.\npackage sim\n\nimport _ \"" + Module + "/bench\"\n", "arrow 4"},
	{"a face's test imports an engine", "job/a_test.go", "package job\n\nimport _ \"" + Module + "/store/redis\"\n", "arrow 3"},
	{"a folder that is no room", "util/a.go", "// Package util.\npackage util\n", "arrow 2"},
	{"production code imports testing", "kernel/a.go", "// Package kernel.\npackage kernel\n\nimport _ \"testing/synctest\"\n", "testing 4"},
	{"a long function", "job/a.go", "// Package job.\npackage job\n\nfunc f() {\n" + lines(59) + "}\n", "function 4"},
	{"a long function in a test", "job/a_test.go", "package job\n\nfunc f() {\n" + lines(59) + "}\n", "function 3"},
	{"a long literal", "job/a.go", "// Package job.\npackage job\n\nvar f = func() {\n" + lines(59) + "}\n", "function 4"},
	{"a long file", "job/a.go", "// Package job.\npackage job\n" + strings.Repeat("\n", 499), "file 0"},
	{"a package without a comment", "job/a.go", "package job\n", "package comment 1"},
	{"a program without a comment", "cmd/outlast/a.go", "package main\n\nfunc main() {}\n", "package comment 1"},
	{"a function without a comment", "job/a.go", "// Package job.\npackage job\n\nfunc F() {}\n", "exported comment 4"},
	{"a method without a comment", "job/a.go", "// Package job.\npackage job\n\n// T is.\ntype T[V any] struct{}\n\nfunc (t *T[V]) M() {}\n", "exported comment 7"},
	{"a type in a commented group", "job/a.go", "// Package job.\npackage job\n\n// Types.\ntype (\n\tT struct{}\n)\n", "exported comment 6"},
	{"a constant without a comment", "job/a.go", "// Package job.\npackage job\n\nconst C = 1\n", "exported comment 4"},
	{"a go statement", "job/a.go", "// Package job.\npackage job\n\nfunc f() {\n\tgo f()\n}\n", "goroutine 5"},
	{"a go statement in a test", "job/a_test.go", "package job\n\nfunc f() {\n\tgo f()\n}\n", "goroutine 4"},
	{"a sleep", "job/a.go", "// Package job.\npackage job\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n", "sleep 6"},
	{"a sleep under another name", "job/a_test.go", "package job\n\nimport t \"time\"\n\nvar f = t.Sleep\n", "sleep 5"},
	{"the kernel reads the clock", "kernel/a.go", "// Package kernel.\npackage kernel\n\nimport \"time\"\n\nvar now = time.Now\n", "clock 6"},
	{"the kernel waits for real time", "kernel/a.go", "// Package kernel.\npackage kernel\n\nimport \"time\"\n\nvar c = time.After(1)\n", "clock 6"},
	{"the kernel asks a context to wait", "kernel/a.go", "// Package kernel.\npackage kernel\n\nimport \"context\"\n\nvar f = context.WithTimeout\n", "clock 6"},
	{"the kernel draws lots", "kernel/a.go", "// Package kernel.\npackage kernel\n\nimport _ \"math/rand/v2\"\n", "chance 4"},
}

func TestEachRuleFindsItsBreachAndNothingElse(t *testing.T) {
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) {
			tree, err := Load(fstest.MapFS{c.path: {Data: []byte(c.src)}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range tree.Check() {
				got = append(got, fmt.Sprint(f.Rule, " ", f.Line))
				if f.Path != c.path {
					t.Errorf("found in %s, want %s", f.Path, c.path)
				}
			}
			if !slices.Equal(got, []string{c.want}) {
				t.Errorf("Check found %q, want %q alone", got, c.want)
			}
		})
	}
}

func TestEachRuleHasABreach(t *testing.T) {
	for _, r := range Rules {
		if !slices.ContainsFunc(breaches, func(b struct{ name, path, src, want string }) bool { return strings.HasPrefix(b.want, r.Name+" ") }) {
			t.Errorf("no breach shows that rule %q can fail", r.Name)
		}
	}
}

func TestWhatIsAllowedPasses(t *testing.T) {
	tree, err := Load(fstest.MapFS{
		"doc.go":                   {Data: []byte("// Package outlast.\npackage outlast\n")},
		"kernel/env.go":            {Data: []byte("// Package kernel.\npackage kernel\n\nimport (\n\t_ \"crypto/rand\"\n\t\"time\"\n\n\t_ \"" + Module + "/store\"\n)\n\nfunc f() { go f(); time.Now() }\n")},
		"kernel/a_test.go":         {Data: []byte("package kernel\n\nimport (\n\t_ \"" + Module + "/store/memory\"\n\t_ \"math/rand\"\n\t_ \"testing\"\n)\n")},
		"kernel/kerneltest/k.go":   {Data: []byte("// Package kerneltest.\npackage kerneltest\n\nimport (\n\t_ \"testing\"\n\n\t_ \"" + Module + "/store/memory\"\n)\n")},
		"store/storetest/claim.go": {Data: []byte("// Package storetest.\npackage storetest\n\nimport (\n\t_ \"testing\"\n\n\t_ \"pgregory.net/rapid\"\n)\n")},
		"cmd/outlast/main.go":      {Data: []byte("// Command outlast.\npackage main\n\nimport _ \"" + Module + "/store/redis\"\n")},
		"test/sim/cmd/main.go":     {Data: []byte("// Command cmd.\npackage main\n\nimport _ \"" + Module + "/kernel\"\n")},
		"job/a.go":                 {Data: []byte("// Package job.\npackage job\n\n// The states.\nconst (\n\tA = 1\n\tB = 2\n)\n\ntype t struct{}\n\nfunc (t) M() {}\n\nfunc f() {\n" + lines(58) + "}\n")},
		"bench/go.mod":             {Data: []byte("module bench\n")},
		"bench/a.go":               {Data: []byte("package bench\n")},
		"job/testdata/a.go":        {Data: []byte("package broken\n")},
		"job/gen.go":               {Data: []byte("// Code generated by hand. DO NOT EDIT.\n\npackage job\n\nfunc F() {}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tree.Check() {
		t.Error(f)
	}
}

func TestLoadNamesTheFileThatDoesNotParse(t *testing.T) {
	_, err := Load(fstest.MapFS{"job/a.go": {Data: []byte("package")}})
	if err == nil || !strings.Contains(err.Error(), "job/a.go") {
		t.Errorf("Load = %v, want an error that names job/a.go", err)
	}
}
