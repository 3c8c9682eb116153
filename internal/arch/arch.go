// Package arch checks by machine what reviews forget: which package may import which, how long functions and files are, what
// has a comment, who starts goroutines, who reads the clock. It reads source text alone and knows nothing of types; the test
// at the root of the module runs it over the tree. Test files are held to the same, save for comments and for the kernel's Env.
package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the import path of the tree that is checked.
const Module = "github.com/outlast-go/outlast"

// Rule is one thing that holds for the whole tree.
type Rule struct {
	Name  string
	Why   string
	Check func(t *Tree, report Report)
}

// Report takes one finding: the file, a position in it or token.NoPos, and what is wrong there.
type Report func(f *File, at token.Pos, text string)

// Rules are all that Check applies.
var Rules = []Rule{
	{"arrow", "each import goes down; a wrong one makes two rooms into one", checkArrows},
	{"testing", "a program that imports the library must not carry the testing package", checkTesting},
	{"function", "a function too long to see at once hides a missing noun", checkFunctions},
	{"file", "a file too long to scroll through hides a missing file", checkFiles},
	{"package comment", "a package says what it is, what it promises, what it leaves to others", checkPackageComments},
	{"exported comment", "an exported name says what it is and tells its edge", checkExportedComments},
	{"goroutine", "who starts a goroutine waits for it; so few places start one", checkGoroutines},
	{"sleep", "a sleep is a guess; wait for what is meant", checkSleep},
	{"clock", "the kernel's time and waiting come from its Env, so that one seed decides a simulated run", checkClock},
	{"chance", "the kernel's randomness comes from its Env, so that one seed decides a simulated run", checkChance},
}

// Finding is one place that breaks a rule. Line is 0 if it is the file as a whole.
type Finding struct {
	Rule string
	Why  string
	Path string
	Line int
	Text string
}

// String writes the finding as path:line: rule: text (why).
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s (%s)", f.Path, f.Line, f.Rule, f.Text, f.Why)
}

// Tree is the parsed source of a module.
type Tree struct {
	Set   *token.FileSet
	Files []*File
}

// File is one Go file.
type File struct {
	Path   string // from the root of the module, with slashes
	Syntax *ast.File
	Lines  int
}

// Room is the folder of the file, from the root of the module; the root itself is ".".
func (f *File) Room() string { return path.Dir(f.Path) }

// Test reports whether the file is compiled for tests only.
func (f *File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Imports calls fn with the path of each import.
func (f *File) Imports(fn func(spec *ast.ImportSpec, path string)) {
	for _, spec := range f.Syntax.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			fn(spec, p)
		}
	}
}

// Load parses all Go files below the root, whatever their build tags. Folders that the go command leaves out (testdata, a
// leading dot or underscore) and other modules are skipped. A file that does not parse is an error.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{Set: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && skipped(fsys, name):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		return t.add(fsys, name)
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	return t, nil
}

func skipped(fsys fs.FS, dir string) bool {
	base := path.Base(dir)
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return true
	}
	_, err := fs.Stat(fsys, path.Join(dir, "go.mod"))
	return err == nil
}

func (t *Tree) add(fsys fs.FS, name string) error {
	src, err := fs.ReadFile(fsys, name)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(t.Set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(syntax) {
		return nil
	}
	t.Files = append(t.Files, &File{Path: name, Syntax: syntax, Lines: strings.Count(string(src), "\n")})
	return nil
}

// Check applies all Rules and returns what they find, by path and line.
func (t *Tree) Check() []Finding {
	var found []Finding
	for _, r := range Rules {
		r.Check(t, func(f *File, at token.Pos, text string) {
			found = append(found, Finding{r.Name, r.Why, f.Path, t.line(at), text})
		})
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, strings.Compare(a.Text, b.Text))
	})
	return found
}

// line returns the line of a position, 0 for none.
func (t *Tree) line(at token.Pos) int {
	if !at.IsValid() {
		return 0
	}
	return t.Set.Position(at).Line
}
