// Command outlast is the command line of Outlast.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
)

// tree is every command that outlast understands, in the order in which help lists them.
func tree() *cli.Command {
	root := &cli.Command{
		Name:  "outlast",
		Short: "background work that outlasts crashes",
		Long: "The commands work on a store, which --store or OUTLAST_STORE names; without either, on an SQLite file in the user's data folder.\n" +
			"Exit codes: 0 it worked; 1 it did not; 2 the command line was not understood, and nothing was done.",
		Flags: []cli.Flag{{Name: "json", Kind: cli.Switch, Help: "print JSON: one object, or one object per line for lists"}},
	}
	root.Sub = slices.Concat(
		[]*cli.Command{demoCommand(), serveCommand()},
		[]*cli.Command{callCommand(), batchCommand()},
		[]*cli.Command{tasksCommand(), showCommand()},
		bulkCommands(),
		laneCommands(),
		fleetCommands(),
		[]*cli.Command{topCommand()},
		[]*cli.Command{schedulesCommand(), groupsCommand(), sagaCommand()},
		[]*cli.Command{keysCommand(), tokenCommand()},
		careCommands(),
		[]*cli.Command{benchCommand()},
		cli.Completion(),
		[]*cli.Command{
			{Name: "help", Short: "print the help of a command", Args: cli.Args{Usage: "[command ...]", Max: -1}, Example: "outlast help keys rotate", Run: help},
			{Name: "version", Short: "print the version of outlast and of Go", Run: version},
			{Name: workerCommand, Plain: true, Run: demoWorker},
		},
	)
	return root
}

// spellings are the usual other spellings of commands.
var spellings = map[string]string{"-v": "version", "-version": "version", "--version": "version"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := runIn(ctx, os.Args[1:], cli.Real())
	stop()
	os.Exit(code)
}

// run does what the arguments say, without a terminal, and returns the exit code.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	return runIn(ctx, args, cli.Plain(out, errs))
}

func runIn(ctx context.Context, args []string, w cli.World) int {
	if len(args) > 0 && spellings[args[0]] != "" {
		args = slices.Concat([]string{spellings[args[0]]}, args[1:])
	}
	return tree().Main(ctx, args, w)
}

// help prints the help of whatever command its arguments name.
func help(ctx context.Context, l *cli.Line) error {
	args := slices.Concat(l.Args, []string{"--help"})
	if l.AsJSON() {
		args = append(args, "--json")
	}
	if code := l.Root.Main(ctx, args, l.World); code != cli.OK {
		return cli.Code(code)
	}
	return nil
}

func version(_ context.Context, l *cli.Line) error {
	v := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v = info.Main.Version
	}
	if l.AsJSON() {
		return l.JSON(map[string]string{"version": v, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
	}
	l.Say("outlast %s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
