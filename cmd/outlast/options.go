package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
)

// serveFlags is the one table of the daemon's options: flags, environment variables, keys of the config file, help and docs come from it.
func serveFlags() []cli.Flag {
	own := []cli.Flag{
		{Name: "listen", Value: "ADDRESS", Default: "127.0.0.1:7070", Help: "address to listen on; beyond loopback it needs tokens, or --open"},
		{Name: "config", Value: "FILE", Help: "YAML file with options by the names of the flags; flags and the environment go before it"},
		{Name: "tokens", Value: "FILE", Shown: "tokens in the user's data folder, if it is there", Help: "file of the tokens that \"outlast token create\" makes"},
		{Name: "open", Kind: cli.Switch, Help: "let everybody who can reach the address do everything, without tokens"},
		{Name: "tls-cert", Value: "FILE", Help: "certificate, in PEM; serve HTTPS"},
		{Name: "tls-key", Value: "FILE", Help: "its key, in PEM"},
		{Name: "dashboard", Value: "BOOL", Default: "true", Words: []string{"true", "false"}, Help: "show the dashboard at /; with tokens it asks browsers to sign in by one"},
		{Name: "dashboard-read-only", Kind: cli.Switch, Help: "let nobody act there, whatever their token"},
		{Name: "spaces", Kind: cli.Many, Value: "NAME", Help: "a further namespace to serve, for tokens that name it; may be given again"},
		{Name: "slots", Kind: cli.Many, Value: "QUEUE=N", Shown: "default=100, calls=256, callbacks=64, batch-run=64", Help: "how many tasks of a queue run at once in the daemon; may be given again"},
		{Name: "push", Kind: cli.Many, Value: "KIND=URL", Help: "deliver the tasks of a kind to an HTTP endpoint; may be given again"},
		{Name: "push-silence", Kind: cli.Span, Value: "TIME", Default: "30s", Help: "how long an endpoint that answered 202 may say nothing of its task"},
		{Name: "secret-file", Value: "FILE", Help: "secrets (whsec_…), one per line, that sign callbacks and deliveries; the first signs first"},
		{Name: "allow-net", Kind: cli.Many, Value: "CIDR", Help: "a private network that calls, callbacks and deliveries may reach; may be given again"},
		{Name: "allow-port", Kind: cli.Many, Value: "PORT", Shown: "80 and 443", Help: "a port that they may reach; may be given again"},
		{Name: "no-guard", Kind: cli.Switch, Help: "let them reach every address: loopback, private networks, metadata services"},
		{Name: "rate", Kind: cli.Number, Value: "N", Shown: "no bound", Help: "requests per second that one token may make"},
		{Name: "max-body", Kind: cli.Number, Value: "BYTES", Default: "8388608", Min: 1, Help: "largest request"},
		{Name: "max-upload", Kind: cli.Number, Value: "BYTES", Default: "1073741824", Min: 1, Help: "largest batch that is uploaded; it is kept in a temporary file until its rows are stored"},
		{Name: "dead-after", Kind: cli.Span, Value: "TIME", Default: "15s", Help: "how long the daemon may be silent before others take its tasks"},
		{Name: "shutdown-timeout", Kind: cli.Span, Value: "TIME", Default: "30s", Help: "how long runs may go on after SIGTERM"},
		{Name: "log-format", Value: "FORMAT", Default: "text", Words: []string{"text", "json"}, Help: "of the log, which goes to the standard error"},
		{Name: "log-level", Value: "LEVEL", Default: "info", Words: []string{"debug", "info", "warn", "error"}, Help: "least level that is logged"},
	}
	for i := range own {
		own[i].Env = "OUTLAST_" + strings.ToUpper(strings.ReplaceAll(own[i].Name, "-", "_"))
	}
	return storeFlags(own...)
}

// fromFile reads the options of a config file, as flags. Keys are the names of the flags, with dashes or underscores.
func fromFile(path string, flags []cli.Flag) (map[string][]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.Misused("the config file cannot be read: %v", err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, cli.Misused("the config file %s is no YAML: %v", path, err)
	}
	options := map[string][]string{}
	for key, value := range file {
		name := strings.ReplaceAll(key, "_", "-")
		at := slices.IndexFunc(flags, func(f cli.Flag) bool { return f.Name == name && f.Name != "config" })
		if at < 0 {
			return nil, unknownKey(path, key, flags)
		}
		if options[name], err = texts(flags[at], value); err != nil {
			return nil, cli.Misused("the key %q of %s %v", key, path, err)
		}
	}
	return options, nil
}

func unknownKey(path, key string, flags []cli.Flag) error {
	var names []string
	for _, f := range flags {
		names = append(names, strings.ReplaceAll(f.Name, "-", "_"))
	}
	if near, ok := cli.Nearest(strings.ReplaceAll(strings.ToLower(key), "-", "_"), names); ok {
		return cli.Misused("unknown key %q in %s; did you mean %q?", key, path, near)
	}
	return cli.Misused("unknown key %q in %s; there are %s", key, path, strings.Join(names, ", "))
}

// texts makes of the value of a key what would stand on the command line.
func texts(f cli.Flag, value any) ([]string, error) {
	switch v := value.(type) {
	case string, int, bool, float64:
		return []string{fmt.Sprint(v)}, nil
	case []any:
		if f.Kind != cli.Many {
			return nil, fmt.Errorf("is a list; it takes one value")
		}
		var list []string
		for _, one := range v {
			list = append(list, fmt.Sprint(one))
		}
		return list, nil
	case map[string]any:
		if f.Kind != cli.Many {
			return nil, fmt.Errorf("is a map; it takes one value")
		}
		var list []string
		for name, one := range v {
			list = append(list, fmt.Sprintf("%s=%v", name, one))
		}
		slices.Sort(list)
		return list, nil
	}
	return nil, fmt.Errorf("has no value that can be read")
}

// withFile reads the command line again, with what the config file says where neither a flag nor the environment does.
func withFile(ctx context.Context, l *cli.Line, flags []cli.Flag, run func(context.Context, *cli.Line) error) error {
	path := l.Text("config")
	if path == "" {
		return run(ctx, l)
	}
	file, err := fromFile(path, flags)
	if err != nil {
		return err
	}
	var args []string
	for _, f := range flags {
		values := file[f.Name]
		if l.Given(f.Name) {
			values = l.Many(f.Name)
			if f.Kind != cli.Many {
				values = []string{l.Text(f.Name)}
			}
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	}
	again := &cli.Command{Name: l.Name, Flags: append(slices.Clone(flags), l.Root.Flags...), Run: run}
	if code := again.Main(ctx, args, l.World); code != cli.OK {
		return cli.Code(code)
	}
	return nil
}
