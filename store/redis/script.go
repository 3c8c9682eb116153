package redis

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed script/*.lua
var scriptFiles embed.FS

// shared is what all operations may use, in this order: each uses those before it. Others stand before the operations that
// name them: Lua bounds how many names one scope may have.
var shared = []string{"base", "task", "lane", "limit", "move", "end", "submit", "group", "settle", "pick", "claim", "flush"}

// library is all operations as the server keeps them: one library of functions, which it loads once. Its name and those of its
// functions are made of its text: programs of several versions can use one server, each its own library.
type library struct {
	text   string
	prefix string // of the names of functions
}

var functions = mustLibrary()

func mustLibrary() library {
	l, err := assemble()
	if err != nil {
		panic(err) // it is part of the program
	}
	return l
}

// assemble puts the library together: what operations share, then each operation as a function.
func assemble() (l library, err error) {
	var body strings.Builder
	for _, name := range shared {
		text, err := scriptFiles.ReadFile("script/lib_" + name + ".lua")
		if err != nil {
			return l, err
		}
		body.WriteString(strip(string(text)))
	}
	files, err := fs.Glob(scriptFiles, "script/*.lua")
	if err != nil {
		return l, err
	}
	for _, file := range slices.Sorted(slices.Values(files)) {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "script/"), ".lua")
		if strings.HasPrefix(name, "lib_") {
			continue
		}
		text, err := scriptFiles.ReadFile(file)
		if err != nil {
			return l, err
		}
		if err := operation(&body, name, string(text)); err != nil {
			return l, err
		}
	}
	sum := sha256.Sum256([]byte(body.String()))
	id := "outlast_" + hex.EncodeToString(sum[:6])
	l.prefix = id + "_"
	l.text = "#!lua name=" + id + "\n" + strings.ReplaceAll(body.String(), "PREFIX_", l.prefix)
	return l, nil
}

// operation writes an operation as a function of the library. Its first line says with which flags it runs, its second what it
// uses beside what all may use.
func operation(b *strings.Builder, name, text string) error {
	first, rest, _ := strings.Cut(text, "\n")
	flags, ok := strings.CutPrefix(first, "-- flags: ")
	if !ok {
		return fmt.Errorf("operation %s does not begin with its flags", name)
	}
	list := ""
	if flags != "none" {
		list = "'" + strings.Join(strings.Fields(flags), "', '") + "'"
	}
	b.WriteString("do\n")
	if second, _, _ := strings.Cut(rest, "\n"); strings.HasPrefix(second, "-- uses: ") {
		for lib := range strings.FieldsSeq(strings.TrimPrefix(second, "-- uses: ")) {
			text, err := scriptFiles.ReadFile("script/lib_" + lib + ".lua")
			if err != nil {
				return err
			}
			b.WriteString(strip(string(text)))
		}
	}
	fmt.Fprintf(b, "redis.register_function{function_name = 'PREFIX_%s', flags = {%s}, callback = function(keys, args)\nbegin(keys, args)\n", name, list)
	b.WriteString(strip(rest))
	b.WriteString("end}\nend\n")
	return nil
}

// strip takes comments of a line of their own and indentation out: the server keeps the text, and sends it to replicas.
func strip(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
