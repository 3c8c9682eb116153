package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Main does what the arguments say, with c as the root, and returns the exit code. Without a command it helps.
func (c *Command) Main(ctx context.Context, args []string, w World) int {
	l, err := c.parse(args, w)
	if err == nil && l.values["help"].on || err == nil && l.Command.Run == nil {
		if len(l.Args) > 0 && !l.values["help"].on {
			err = unknownCommand(l.Command, l.Args[0], l.Name)
		} else {
			l.help()
			return OK
		}
	}
	if err == nil {
		err = l.Command.Run(ctx, l)
	}
	return report(ctx, l, err)
}

// report tells in one line what went wrong, and returns the exit code.
func report(ctx context.Context, l *Line, err error) int {
	if err == nil {
		return OK
	}
	code := Failed
	var e exit
	if errors.As(err, &e) {
		code = e.code
	}
	if ctx.Err() != nil && code == Failed && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		err = errors.New("interrupted")
	}
	if text := OneLine(err.Error()); text != "" {
		fmt.Fprintf(l.Err, "%s: %s\n", l.Name, Mask(text))
	}
	return code
}

var (
	userPart = regexp.MustCompile(`([a-z][a-z0-9+]*://[^:/@\s"]*:)[^\s"]*@`)
	option   = regexp.MustCompile(`((?:password|passwd|secret|token)=)[^&\s"]+`)
)

// Mask hides the passwords of all URLs in a text: between the user and the host, and among the options.
func Mask(text string) string {
	return option.ReplaceAllString(userPart.ReplaceAllString(text, "${1}***@"), "${1}***")
}

// OneLine makes one line of a text: for errors that bring several, and for whatever came from elsewhere and is shown on a terminal.
func OneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return Clean(strings.Join(parts, "; "))
}

// Clean replaces what could move the cursor of a terminal or change its colours.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069':
			return '�'
		}
		return r
	}, text)
}

func unknownCommand(c *Command, word, name string) error {
	if near, ok := nearest(strings.ToLower(word), c.words()); ok {
		return Misused("unknown command %q; did you mean %q?", word, near)
	}
	return Misused("unknown command %q; %q lists what there is", word, strings.TrimSpace(name+" --help"))
}
