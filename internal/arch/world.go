package arch

import (
	"go/ast"
	"go/token"
	"slices"
)

// owners are the files that may start goroutines with a bare go statement: each says in it who waits for them. All others use
// a group that waits: the kernel's own, sync.WaitGroup.Go, errgroup.
var owners = []string{
	"kernel/env.go",
}

// env is where the kernel meets the world.
const env = "kernel/env.go"

func checkGoroutines(t *Tree, report Report) {
	for _, f := range t.Files {
		if slices.Contains(owners, f.Path) {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				report(f, g.Pos(), "a go statement outside the places that own one; use a group that waits")
			}
			return true
		})
	}
}

func checkSleep(t *Tree, report Report) {
	for _, f := range t.Files {
		f.uses("time", func(at token.Pos, name string) {
			if name == "Sleep" {
				report(f, at, "time.Sleep; wait for what is meant, or let time pass in testing/synctest")
			}
		})
	}
}

// clocks are the functions that read or wait for real time.
var clocks = map[string][]string{
	"time":    {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
}

func checkClock(t *Tree, report Report) {
	for _, f := range t.Files {
		if !simulated(f) {
			continue
		}
		for pkg, names := range clocks {
			f.uses(pkg, func(at token.Pos, name string) {
				if slices.Contains(names, name) {
					report(f, at, pkg+"."+name+" in the kernel; ask its Env")
				}
			})
		}
	}
}

func checkChance(t *Tree, report Report) {
	for _, f := range t.Files {
		if !simulated(f) {
			continue
		}
		f.Imports(func(spec *ast.ImportSpec, path string) {
			if within("math/rand/...", path) || path == "crypto/rand" {
				report(f, spec.Pos(), path+" in the kernel; ask its Env")
			}
		})
	}
}

// simulated reports whether a file holds code that must be the same run for the same seed.
func simulated(f *File) bool { return f.Room() == "kernel" && !f.Test() && f.Path != env }

// uses calls fn for each use of a name of a package of the standard library in the file, under whatever name it was
// imported.
func (f *File) uses(pkg string, fn func(at token.Pos, name string)) {
	local := ""
	f.Imports(func(spec *ast.ImportSpec, p string) {
		switch {
		case p != pkg:
		case spec.Name != nil:
			local = spec.Name.Name
		default:
			local = pkg
		}
	})
	if local == "" {
		return
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == local {
				fn(s.Pos(), s.Sel.Name)
			}
		}
		return true
	})
}
