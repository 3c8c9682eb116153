// Command outlast is the command line of Outlast.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// Exit codes.
const (
	exitOK    = 0
	exitFail  = 1 // it was understood, and did not work
	exitUsage = 2 // the command line was not understood; nothing was done
)

// command is one word that outlast understands.
type command struct {
	name string
	what string // empty: not listed
	run  func(ctx context.Context, args []string, out, errs io.Writer) int
}

// commands returns all of them, in the order in which help lists them.
func commands() []command {
	return []command{
		{"demo", "kill workers under load, and see that nothing is lost", demo},
		{"help", "print this list", bare(help)},
		{"version", "print the version of outlast and of Go", bare(version)},
		{workerCommand, "", demoWorker},
	}
}

// bare is a command without arguments.
func bare(tell func(io.Writer)) func(context.Context, []string, io.Writer, io.Writer) int {
	return func(_ context.Context, args []string, out, errs io.Writer) int {
		if len(args) > 0 {
			fmt.Fprintf(errs, "outlast: this command takes no arguments, got %q\n", args[0])
			return exitUsage
		}
		tell(out)
		return exitOK
	}
}

// flags are the usual other spellings of commands.
var flags = map[string]string{
	"-h": "help", "-help": "help", "--help": "help",
	"-v": "version", "-version": "version", "--version": "version",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does what the arguments say and returns the exit code. Without arguments it helps.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
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
		return c.run(ctx, args[1:], out, errs)
	}
	fmt.Fprintf(errs, "outlast: unknown command %q; %s\n", name, hint(name))
	return exitUsage
}

// hint says what to type instead of a command that there is not.
func hint(name string) string {
	var names []string
	for _, c := range commands() {
		if c.what != "" {
			names = append(names, c.name)
		}
	}
	if near, ok := nearest(strings.ToLower(name), names); ok {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return `"outlast help" lists what there is`
}

func help(out io.Writer) {
	fmt.Fprint(out, "usage: outlast <command>\n\n")
	for _, c := range commands() {
		if c.what != "" {
			fmt.Fprintf(out, "  %-8s %s\n", c.name, c.what)
		}
	}
}

func version(out io.Writer) {
	v := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	fmt.Fprintf(out, "outlast %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
