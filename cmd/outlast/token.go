package main

import (
	"context"
	"strings"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/cmd/outlast/cli"
)

func tokenCommand() *cli.Command {
	file := cli.Flag{Name: "tokens", Value: "FILE", Env: "OUTLAST_TOKENS", Shown: "tokens in the user's data folder", Help: "file of the tokens"}
	return &cli.Command{
		Name: "token", Short: "make, list and revoke the tokens that let programs use the daemon",
		Long: "The file holds a hash of each token, never the token itself. A daemon that runs sees what changes.",
		Sub: []*cli.Command{
			{
				Name: "create", Short: "make a token, and print it: it is told once",
				Flags: []cli.Flag{
					file,
					{Name: "scope", Kind: cli.Many, Value: "SCOPE", Words: scopeWords(), Help: "what it allows; may be given again"},
					{Name: "name", Value: "TEXT", Help: "for whom it is"},
					{Name: "space", Value: "NAME", Shown: "the daemon's own", Help: "namespace that it is for, and no other"},
					{Name: "expires", Kind: cli.Span, Value: "TIME", Shown: "never", Help: "how long it is good for"},
				},
				Example: "outlast token create --scope work --name python-workers\noutlast token create --scope submit --scope read --expires 720h", Run: tokenCreate,
			},
			{Name: "list", Short: "list the tokens, without their secrets", Flags: []cli.Flag{file}, Example: "outlast token list", Run: tokenList},
			{
				Name: "revoke", Short: "end a token, by its id", Args: cli.Args{Usage: "ID", Min: 1, Max: 1}, Flags: []cli.Flag{file},
				Example: "outlast token revoke 3b1fd23c68c0", Run: tokenRevoke,
			},
		},
	}
}

func scopeWords() (list []string) {
	for _, s := range api.Scopes() {
		list = append(list, string(s))
	}
	return list
}

func openTokens(l *cli.Line) (*api.Tokens, string, error) {
	path := l.Text("tokens")
	if path == "" {
		path = tokensPath(l)
	}
	list, err := api.OpenTokens(path)
	return list, path, err
}

func tokenCreate(_ context.Context, l *cli.Line) error {
	if len(l.Many("scope")) == 0 {
		return cli.Misused("say what it allows: --scope %s", strings.Join(scopeWords(), "|"))
	}
	list, _, err := openTokens(l)
	if err != nil {
		return err
	}
	one := api.Token{Name: cli.OneLine(l.Text("name")), Namespace: l.Text("space")}
	for _, word := range l.Many("scope") {
		one.Scopes = append(one.Scopes, api.Scope(word))
	}
	if d := l.Span("expires"); d > 0 {
		one.ExpiresAt = l.Now().Add(d).UTC().Truncate(time.Second)
	}
	text, err := list.Create(one)
	if err != nil {
		return err
	}
	if l.AsJSON() {
		return l.JSON(map[string]any{"token": text, "scopes": one.Scopes, "name": one.Name})
	}
	l.Say("%s", text)
	return nil
}

func tokenList(_ context.Context, l *cli.Line) error {
	tokens, _, err := openTokens(l)
	if err != nil {
		return err
	}
	all, err := tokens.List()
	if err != nil {
		return err
	}
	var rows [][]cli.Cell
	for _, t := range all {
		if l.AsJSON() {
			if err := l.JSON(t); err != nil {
				return err
			}
			continue
		}
		var scopes []string
		for _, s := range t.Scopes {
			scopes = append(scopes, string(s))
		}
		expires := "never"
		if !t.ExpiresAt.IsZero() {
			expires = t.ExpiresAt.Format(time.RFC3339)
		}
		rows = append(rows, []cli.Cell{cli.C(t.ID), cli.C(strings.Join(scopes, ",")), cli.C(t.Namespace), cli.C(expires), cli.C(t.Name)})
	}
	if !l.AsJSON() {
		l.Table([]string{"TOKEN", "SCOPES", "NAMESPACE", "EXPIRES", "NAME"}, rows)
	}
	return nil
}

func tokenRevoke(_ context.Context, l *cli.Line) error {
	list, path, err := openTokens(l)
	if err != nil {
		return err
	}
	ok, err := list.Revoke(l.Args[0])
	if err != nil {
		return err
	}
	if !ok {
		return cli.Misused("there is no token %q in %s; \"outlast token list\" lists them", l.Args[0], path)
	}
	if l.AsJSON() {
		return l.JSON(map[string]string{"id": l.Args[0], "state": "revoked"})
	}
	l.Say("%s is revoked; daemons refuse it from now on.", l.Args[0])
	return nil
}
