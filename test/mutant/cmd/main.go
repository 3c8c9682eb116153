// Command prove plants one bug at a time and shows which suite finds it. It ends with one line: N of N found.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/outlast-go/outlast/test/mutant"
)

func main() {
	all := flag.Bool("all", false, "run every suite on every mutant, and not only until the first has found it")
	filter := flag.String("run", "", "only mutants whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	found, total, err := mutant.ProveAll(ctx, os.Stdout, ".", *filter, *all)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(2)
	}
	fmt.Printf("prove: %d of %d found\n", found, total)
	if found < total || total == 0 {
		os.Exit(1)
	}
}
