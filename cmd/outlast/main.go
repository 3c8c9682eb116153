// Command outlast is the command line of Outlast. It reads no configuration and talks to no store: it tells its version and
// what it can do.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Exit codes.
const (
	exitOK    = 0
	exitUsage = 2 // the command line was not understood; nothing was done
)

// command is one word that outlast understands.
type command struct {
	name string
	what string
	run  func(out io.Writer)
}

// commands returns all of them, in the order in which help lists them.
func commands() []command {
	return []command{
		{"help", "print this list", help},
		{"version", "print the version of outlast and of Go", version},
	}
}

// flags are the usual other spellings of commands.
var flags = map[string]string{
	"-h": "help", "-help": "help", "--help": "help",
	"-v": "version", "-version": "version", "--version": "version",
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run does what the arguments say and returns the exit code. Without arguments it helps.
func run(args []string, out, errs io.Writer) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	name := args[0]
	if full, ok := flags[name]; ok {
		name = full
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		if len(args) > 1 {
			fmt.Fprintf(errs, "outlast %s: takes no arguments, got %q\n", name, args[1])
			return exitUsage
		}
		c.run(out)
		return exitOK
	}
	fmt.Fprintf(errs, "outlast: unknown command %q; %s\n", name, hint(name))
	return exitUsage
}

// hint says what to type instead of a command that there is not.
func hint(name string) string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	if near, ok := nearest(strings.ToLower(name), names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return `"outlast help" lists what there is`
}

func help(out io.Writer) {
	fmt.Fprint(out, "usage: outlast <command>\n\n")
	for _, c := range commands() {
		fmt.Fprintf(out, "  %-8s %s\n", c.name, c.what)
	}
}

func version(out io.Writer) {
	v := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	fmt.Fprintf(out, "outlast %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
