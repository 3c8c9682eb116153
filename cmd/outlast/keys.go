package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/cmd/outlast/ops"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/seal"
)

func keysCommand() *cli.Command {
	file := cli.Flag{Name: "file", Value: "FILE", Help: "key file"}
	return &cli.Command{
		Name: "keys", Short: "make, list and rotate the keys that seal what is stored",
		Long: "A ring of keys is a file (--keys) or the environment variable " + keysVar + ". The first key seals, all of them open.\n" +
			"To rotate: add a key (keys new --file), restart all processes, make it the first (keys use), restart them again, then keys rotate.",
		Sub: []*cli.Command{
			{
				Name: "new", Short: "make a key: print a new key file, or add a key to a file",
				Long: "With --file a file that is not there is made, readable by its owner alone; to one that is there the key is added below the others: it opens,\n" +
					"and seals once \"outlast keys use\" has made it the first.",
				Flags:   []cli.Flag{file},
				Example: "outlast keys new --file /etc/outlast/keys\noutlast keys new > keys && chmod 600 keys",
				Run:     keysNew,
			},
			{
				Name: "list", Short: "list the ids of the keys, the one that seals first",
				Flags: []cli.Flag{keysFlag}, Example: "outlast keys list --keys /etc/outlast/keys", Run: keysList,
			},
			{
				Name: "use", Short: "make a key the first of its file: the one that seals", Args: cli.Args{Usage: "KEY-ID", Min: 1, Max: 1},
				Flags: []cli.Flag{file}, Example: "outlast keys use 3b1fd23c68c0a3f7 --file /etc/outlast/keys", Run: keysUse,
			},
			{
				Name: "rotate", Short: "seal anew under the first key whatever is stored under another",
				Long: "Everything else may go on meanwhile. It may be stopped or killed at any moment, and run again: what is done is done, each record by itself.\n" +
					"Once nothing is left, and no process seals under an old key any more, the old key opens nothing that is stored.",
				Flags:   storeFlags(),
				Example: "outlast keys rotate --store postgres://user@host/database --keys /etc/outlast/keys",
				Run:     keysRotate,
			},
		},
	}
}

func keysNew(_ context.Context, l *cli.Line) error {
	path := l.Text("file")
	if path == "" {
		text := seal.NewFile()
		if l.AsJSON() {
			ring, err := seal.Parse(text)
			if err != nil {
				return err
			}
			return l.JSON(map[string]string{"id": ring.IDs()[0], "file": text})
		}
		_, err := fmt.Fprint(l.Out, text)
		return err
	}
	line, first := seal.NewKey(), false
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text := seal.NewFile()
		line, first = text[strings.LastIndex(strings.TrimSpace(text), "\n")+1:], true
		err = writeFile(path, text, 0o600, true)
	case err == nil:
		err = rewrite(path, func(lines []string) ([]string, error) { return append(lines, line), nil })
	}
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(line, ":")
	role := map[bool]string{true: "seals", false: "opens"}[first]
	if l.AsJSON() {
		return l.JSON(map[string]string{"id": id, "file": path, "role": role})
	}
	if first {
		l.Say("%s has the key %s, which seals. Whoever loses the file loses what is sealed: keep a copy elsewhere.", path, id)
		return nil
	}
	l.Say("%s also has the key %s, which opens. Restart all processes; then \"outlast keys use %s --file %s\" lets it seal.", path, id, id, path)
	return nil
}

func keysList(_ context.Context, l *cli.Line) error {
	ring, err := keyRing(l)
	if err != nil {
		return err
	}
	if ring == nil {
		return cli.Misused("say which: --keys FILE, or set %s", keysVar)
	}
	var rows [][]cli.Cell
	for i, id := range ring.IDs() {
		role := "opens"
		if i == 0 {
			role = "seals"
		}
		if l.AsJSON() {
			if err := l.JSON(map[string]string{"id": id, "role": role}); err != nil {
				return err
			}
		}
		rows = append(rows, []cli.Cell{cli.C(id), cli.C(role)})
	}
	if !l.AsJSON() {
		l.Table([]string{"KEY", "ROLE"}, rows)
	}
	return nil
}

func keysUse(_ context.Context, l *cli.Line) error {
	path, id := l.Text("file"), l.Args[0]
	if path == "" {
		return cli.Misused("say which file: --file FILE")
	}
	err := rewrite(path, func(lines []string) ([]string, error) {
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), id+":") })
		if at < 0 {
			return nil, cli.Misused("there is no key %q in %s; \"outlast keys list --keys %s\" lists them", id, path, path)
		}
		line := lines[at]
		lines = slices.Delete(lines, at, at+1)
		first := slices.IndexFunc(lines, func(line string) bool {
			return strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimSpace(line), "#")
		})
		return slices.Insert(lines, max(first, 0), line), nil
	})
	if err != nil {
		return err
	}
	if l.AsJSON() {
		return l.JSON(map[string]string{"id": id, "file": path, "role": "seals"})
	}
	l.Say("%s seals now. Restart all processes; then \"outlast keys rotate\" seals anew what is stored.", id)
	return nil
}

// rewrite changes the lines of a key file in one step: whoever reads it finds the old ones or the new ones.
func rewrite(path string, change func([]string) ([]string, error)) error {
	if _, err := seal.FromFile(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines, err := change(strings.Split(strings.TrimRight(string(text), "\n"), "\n"))
	if err != nil {
		return err
	}
	after := strings.Join(lines, "\n") + "\n"
	if _, err := seal.Parse(after); err != nil {
		return fmt.Errorf("key file %s: %w", path, err)
	}
	return writeFile(path, after, info.Mode().Perm(), false)
}

// writeFile writes a file so that it is there as a whole or not at all, and stays so when the power goes.
func writeFile(path, text string, mode fs.FileMode, fresh bool) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".keys-*") // its mode is 600 from the beginning
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // where it was renamed there is nothing to remove
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if fresh {
		if err := os.Link(f.Name(), path); err != nil { // unlike Rename it does not replace what came meanwhile
			return err
		}
	} else if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// rotation is how far a rotation is, as it is printed for programs.
type rotation struct {
	Resealed int    `json:"resealed"`
	Left     int    `json:"left"`
	Seen     int    `json:"seen"`
	Done     bool   `json:"done"`
	Problem  string `json:"problem,omitempty"`
}

func keysRotate(ctx context.Context, l *cli.Line) error {
	return withStore(ctx, l, want{sealer: true}, func(d *ops.Direct) error {
		last := l.Now()
		report, err := d.Kernel().Reseal(ctx, func(r kernel.ResealReport) {
			if now := l.Now(); now.Sub(last) >= progressEvery {
				last = now
				fmt.Fprintf(l.Err, "%s looked at, %s sealed anew\n", number(r.Seen), number(r.Resealed))
			}
		})
		if err != nil {
			return fmt.Errorf("%w; %s records were sealed anew: run it again to go on", err, number(report.Resealed))
		}
		r := rotation{Resealed: report.Resealed, Left: report.Left, Seen: report.Seen, Done: report.Left == 0}
		if report.Err != nil {
			r.Problem = cli.OneLine(report.Err.Error())
		}
		if l.AsJSON() {
			err = l.JSON(r)
		} else if r.Done {
			l.Say("%s records were sealed anew; nothing is left under an old key.", number(r.Resealed))
		}
		if err == nil && !r.Done {
			err = fmt.Errorf("%s records were sealed anew, %s could not be; the first: %s", number(r.Resealed), number(r.Left), r.Problem)
		}
		return err
	})
}
