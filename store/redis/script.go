package redis

import (
	"crypto/sha1" //nolint:gosec // the server names scripts by it
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed script/*.lua
var scriptFiles embed.FS

// bundles are libraries that are used together. Their order counts: a library uses those before it.
var bundles = map[string][]string{
	"base": {"base"},
	"read": {"base", "task"},
	"core": {"base", "task", "lane", "limit", "move", "end", "submit", "group"},
}

// libraryOrder is the order in which libraries stand in a script.
var libraryOrder = []string{
	"base", "task", "lane", "limit", "move", "end", "submit", "group", "derive", "settle", "pick", "promote", "claim", "fleet", "recover", "flush",
}

// script is one operation as the server runs it.
type script struct {
	text string
	sha  string
}

var scripts = mustScripts()

// mustScripts puts each operation together with the libraries that it names in its second line.
func mustScripts() map[string]script {
	entries, err := fs.ReadDir(scriptFiles, "script")
	if err != nil {
		panic(err) // they are part of the program
	}
	list := map[string]script{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".lua")
		if strings.HasPrefix(name, "lib_") {
			continue
		}
		text, err := assemble(name)
		if err != nil {
			panic(err)
		}
		sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
		list[name] = script{text, hex.EncodeToString(sum[:])}
	}
	return list
}

func assemble(name string) (string, error) {
	source, err := scriptFiles.ReadFile("script/" + name + ".lua")
	if err != nil {
		return "", err
	}
	shebang, rest, _ := strings.Cut(string(source), "\n")
	second, body, _ := strings.Cut(rest, "\n")
	names, ok := strings.CutPrefix(second, "-- libs: ")
	if !ok || !strings.HasPrefix(shebang, "#!lua") {
		return "", fmt.Errorf("script %s does not begin with its flags and its libraries", name)
	}
	wanted := map[string]bool{}
	for lib := range strings.FieldsSeq(names) {
		if bundle, ok := bundles[lib]; ok {
			for _, l := range bundle {
				wanted[l] = true
			}
			continue
		}
		wanted[lib] = true
	}
	var b strings.Builder
	b.WriteString(shebang + "\n")
	for _, lib := range libraryOrder {
		if !wanted[lib] {
			continue
		}
		text, err := scriptFiles.ReadFile("script/lib_" + lib + ".lua")
		if err != nil {
			return "", err
		}
		b.WriteString(strip(string(text)))
	}
	b.WriteString(strip(body))
	return b.String(), nil
}

// strip takes comments of a line of their own and indentation out: the server keeps the text of every script.
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
