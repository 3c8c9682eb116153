package arch

import (
	"go/ast"
	"slices"
	"strings"
)

// room is a part of the tree and what its production code may import. Names end in /... if they mean all below as well.
type room struct {
	name string
	// ours are the rooms of this module it may import.
	ours []string
	// libs are the import paths of others it may import, with all below; "*" is any.
	libs []string
}

var (
	faces   = []string{"job", "call", "batch", "endpoint", "saga"}
	engines = []string{"store/memory", "store/sqlite", "store/postgres", "store/redis"}
)

// rooms says who may import whom: the first that matches a folder counts, and a folder that none matches may not exist. A
// new dependency of a room begins with a line here and one in ARCHITECTURE.md.
var rooms = slices.Concat(
	[]room{{name: "."}},
	each(faces, []string{"kernel", "internal/..."}),
	[]room{
		{name: "api", ours: outer},
		{name: "web", ours: outer},
		{name: "otlp", ours: []string{"kernel"}},
		{name: "saga/sagatest", ours: []string{"saga", "kernel", "store", "store/memory"}},
		{name: "kernel/kerneltest", ours: []string{"kernel", "store", "store/memory"}},
		{name: "kernel", ours: []string{"store", "seal", "blob", "internal/..."}},
		{name: "store/storetest", ours: []string{"store", "store/fsck", "store/memory"}, libs: []string{"pgregory.net/rapid"}},
		{name: "store/fsck", ours: []string{"store"}},
		{name: "store/memory", ours: []string{"store"}},
		{name: "store/sqlite", ours: []string{"store", "internal/failpoint"}, libs: []string{"zombiezen.com/go/sqlite"}},
		{name: "store/postgres", ours: []string{"store", "internal/failpoint"}, libs: []string{"github.com/jackc/pgx/v5"}},
		{name: "store/redis", ours: []string{"store"}, libs: []string{"github.com/redis/rueidis"}},
		{name: "store"},
		{name: "seal"},
		{name: "blob/instore", ours: []string{"blob", "store"}},
		{name: "blob/blobtest", ours: []string{"blob"}},
		{name: "blob/...", ours: []string{"blob", "seal"}},
		{name: "internal/...", ours: []string{"internal/..."}, libs: []string{"*"}},
		{name: "cmd/...", ours: all, libs: []string{"*"}},
		{name: "examples/...", ours: []string{"..."}, libs: []string{"*"}},
		{name: "test/...", ours: []string{"..."}, libs: []string{"*"}},
	},
)

var (
	// outer is what stands above the faces.
	outer = slices.Concat(faces, []string{"kernel", "internal/..."})
	// all is every room that a program may be made of; the demo is a trial of crashes that people watch.
	all = slices.Concat(outer, engines, []string{"api", "web", "otlp", "store", "store/fsck", "seal", "blob/...", "cmd/...", "test/crash"})
	// proving is what tests may import beside what their package may.
	proving = room{
		ours: []string{"store", "store/memory", "store/storetest", "store/fsck", "kernel", "kernel/kerneltest", "saga/sagatest", "blob/...", "internal/...", "test/mutant", "test/servers"},
		libs: []string{"pgregory.net/rapid"},
	}
)

func each(names, ours []string) []room {
	var list []room
	for _, n := range names {
		list = append(list, room{name: n, ours: ours})
	}
	return list
}

func checkArrows(t *Tree, report Report) {
	for _, f := range t.Files {
		i := slices.IndexFunc(rooms, func(r room) bool { return within(r.name, f.Room()) })
		if i < 0 {
			report(f, f.Syntax.Package, "the folder "+f.Room()+" is no room of the design; name it in internal/arch/arrows.go first")
			continue
		}
		f.Imports(func(spec *ast.ImportSpec, path string) {
			if rooms[i].allows(path) || f.Test() && (proving.allows(path) || path == Module+"/"+f.Room()) {
				return
			}
			report(f, spec.Pos(), f.Room()+" must not import "+path)
		})
	}
}

// allows reports whether an import is the standard library's or one that the room names.
func (r room) allows(path string) bool {
	if path == Module {
		return false
	}
	if dir, ok := strings.CutPrefix(path, Module+"/"); ok {
		return !within("bench/...", dir) && slices.ContainsFunc(r.ours, func(name string) bool { return within(name, dir) })
	}
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return true
	}
	return slices.ContainsFunc(r.libs, func(lib string) bool { return lib == "*" || within(lib+"/...", path) })
}

// within reports whether dir is what a name means: the folder itself, or with /... also all below it.
func within(name, dir string) bool {
	base, deep := strings.CutSuffix(name, "...")
	base = strings.TrimSuffix(base, "/")
	return dir == base || deep && (base == "" || strings.HasPrefix(dir, base+"/"))
}

// testers are the rooms made for tests.
var testers = []string{"store/storetest", "kernel/kerneltest", "blob/blobtest", "saga/sagatest", "test/..."}

func checkTesting(t *Tree, report Report) {
	for _, f := range t.Files {
		if f.Test() || slices.ContainsFunc(testers, func(name string) bool { return within(name, f.Room()) }) {
			continue
		}
		f.Imports(func(spec *ast.ImportSpec, path string) {
			if within("testing/...", path) {
				report(f, spec.Pos(), "production code imports "+path)
			}
		})
	}
}
