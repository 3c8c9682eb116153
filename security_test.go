package outlast_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// production calls fn for each Go file that becomes part of a program of a user's.
func production(t *testing.T, fn func(path string, file *ast.File)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"bench", "test", "examples", "tools", "testdata", ".git"}, path) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			n++
			fn(filepath.ToSlash(path), file)
		}
		return err
	})
	if err != nil || n < 100 {
		t.Fatalf("%d files, %v", n, err)
	}
}

// No program of this module shows its inside to the network, reads types from bytes, runs what it is given, or trusts certificates that it did not check.
func TestNothingOpensTheProcess(t *testing.T) {
	t.Parallel()
	production(t, func(path string, file *ast.File) {
		for _, i := range file.Imports {
			switch name := strings.Trim(i.Path.Value, `"`); name {
			case "net/http/pprof", "expvar", "encoding/gob", "plugin":
				t.Errorf("%s imports %s", path, name)
			case "os/exec":
				if path != "cmd/outlast/demo.go" && !strings.HasPrefix(path, "internal/") {
					t.Errorf("%s imports %s", path, name)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.KeyValueExpr); ok {
				if name, ok := field.Key.(*ast.Ident); ok && name.Name == "InsecureSkipVerify" && path != "store/redis/url.go" {
					t.Errorf("%s trusts certificates that it does not check", path)
				}
			}
			return true
		})
	})
}

// Texts of tasks become markup nowhere: pages are made by html/template alone, and nothing is declared to be safe.
func TestNoTextBecomesMarkup(t *testing.T) {
	t.Parallel()
	production(t, func(path string, file *ast.File) {
		if !strings.HasPrefix(path, "web/") && !strings.HasPrefix(path, "api/") {
			return
		}
		for _, i := range file.Imports {
			if i.Path.Value == `"text/template"` {
				t.Errorf("%s imports text/template", path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if of, ok := call.Fun.(*ast.SelectorExpr); ok {
				if p, ok := of.X.(*ast.Ident); ok && p.Name == "template" && slices.Contains([]string{"HTML", "JS", "CSS", "URL", "HTMLAttr", "JSStr", "Srcset"}, of.Sel.Name) {
					if len(call.Args) == 1 {
						if _, fixed := call.Args[0].(*ast.BasicLit); fixed {
							return true
						}
					}
					t.Errorf("%s declares a text to be safe: template.%s", path, of.Sel.Name)
				}
			}
			return true
		})
	})
}

// A client that is slow on purpose holds no connection for ever.
func TestEveryServerHasTimeouts(t *testing.T) {
	t.Parallel()
	servers := 0
	production(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			kind, ok := lit.Type.(*ast.SelectorExpr)
			if !ok || kind.Sel.Name != "Server" {
				return true
			}
			if p, ok := kind.X.(*ast.Ident); !ok || p.Name != "http" {
				return true
			}
			servers++
			var fields []string
			for _, e := range lit.Elts {
				if field, ok := e.(*ast.KeyValueExpr); ok {
					fields = append(fields, field.Key.(*ast.Ident).Name)
				}
			}
			for _, want := range []string{"ReadHeaderTimeout", "ReadTimeout", "IdleTimeout", "MaxHeaderBytes"} {
				if !slices.Contains(fields, want) {
					t.Errorf("%s: a server without %s", path, want)
				}
			}
			return true
		})
	})
	if servers == 0 {
		t.Error("there is no server: is it made in another way?")
	}
}

// The unit of the daemon gives it what it needs, and no more.
func TestTheDaemonRunsWithFewRights(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile("deploy/outlast.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "PrivateDevices=yes",
		"ProtectKernelTunables=yes", "ProtectControlGroups=yes", "MemoryDenyWriteExecute=yes",
	} {
		if !strings.Contains(string(unit), "\n"+line+"\n") {
			t.Errorf("the unit does not say %s", line)
		}
	}
	image, err := os.ReadFile("deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^USER (nonroot|[1-9])`).Match(image) {
		t.Error("the image runs as root")
	}
}

var shownBy = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`")

// Every test that SECURITY.md names is there.
func TestTheListOfThreatsIsTrue(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	named := shownBy.FindAllStringSubmatch(string(list), -1)
	if len(named) < 60 {
		t.Errorf("SECURITY.md names %d tests", len(named))
	}
	for _, m := range named {
		dir := m[1]
		if dir == "outlast" {
			dir = "."
		}
		files, err := filepath.Glob(dir + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "\nfunc "+m[2]+"(")
		}) {
			t.Errorf("SECURITY.md names %s in %s, which is not there", m[2], m[1])
		}
	}
}
