package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// Bounds on size, in lines.
const (
	FunctionLimit = 60
	FileLimit     = 500
)

func checkFunctions(t *Tree, report Report) {
	for _, f := range t.Files {
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			name := "a function literal"
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = n.Name.Name
			case *ast.FuncLit:
			default:
				return true
			}
			lines := t.line(n.End()) - t.line(n.Pos()) + 1
			if d, ok := n.(*ast.FuncDecl); ok {
				lines = t.line(d.End()) - t.line(d.Type.Pos()) + 1 // the comment above it is welcome to be long
			}
			if lines > FunctionLimit {
				report(f, n.Pos(), fmt.Sprintf("%s has %d lines; at most %d", name, lines, FunctionLimit))
			}
			return lines <= FunctionLimit // inside one that is too long, one finding is enough
		})
	}
}

func checkFiles(t *Tree, report Report) {
	for _, f := range t.Files {
		if f.Lines > FileLimit {
			report(f, token.NoPos, fmt.Sprintf("the file has %d lines; at most %d", f.Lines, FileLimit))
		}
	}
}

func checkPackageComments(t *Tree, report Report) {
	var order []string
	first := map[string]*File{}
	said := map[string]bool{}
	for _, f := range t.Files {
		if f.Test() {
			continue
		}
		if first[f.Room()] == nil {
			first[f.Room()] = f
			order = append(order, f.Room())
		}
		said[f.Room()] = said[f.Room()] || f.Syntax.Doc.Text() != ""
	}
	for _, room := range order {
		if !said[room] {
			report(first[room], first[room].Syntax.Package, "package "+first[room].Syntax.Name.Name+" has no comment")
		}
	}
}

func checkExportedComments(t *Tree, report Report) {
	for _, f := range t.Files {
		if f.Test() {
			continue
		}
		for _, d := range f.Syntax.Decls {
			for _, name := range uncommented(d) {
				report(f, name.Pos(), name.Name+" has no comment")
			}
		}
	}
}

// uncommented returns the exported names of a declaration that nothing speaks of. A comment on a group of constants or
// variables speaks of all of them, one on a group of types of none.
func uncommented(d ast.Decl) []*ast.Ident {
	var silent []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc.Text() == "" && exportedReceiver(d) {
			silent = append(silent, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				own := s.Doc.Text() != "" || !d.Lparen.IsValid() && d.Doc.Text() != ""
				if s.Name.IsExported() && !own {
					silent = append(silent, s.Name)
				}
			case *ast.ValueSpec:
				if d.Doc.Text()+s.Doc.Text()+s.Comment.Text() == "" {
					silent = append(silent, s.Names...)
				}
			}
		}
	}
	return slices.DeleteFunc(silent, func(n *ast.Ident) bool { return !n.IsExported() })
}

// exportedReceiver reports whether a function has no receiver, or one whose type others can name.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	exported := false
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			exported = id.IsExported() // the first identifier is the type's; what follows are its parameters
			return false
		}
		return true
	})
	return exported
}
