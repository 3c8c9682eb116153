package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Shells are those that completion is written for.
var Shells = []string{"bash", "zsh", "fish"}

// scripts ask the program itself, which knows its tree, for what may come next.
var scripts = map[string]string{
	"bash": `_NAME_complete() {
    local IFS=$'\n' line
    COMPREPLY=()
    for line in $(NAME complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); do
        COMPREPLY+=("${line%%$'\t'*}")
    done
    if [ ${#COMPREPLY[@]} -eq 0 ]; then
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
complete -o filenames -F _NAME_complete NAME
`,
	"zsh": `#compdef NAME
_NAME() {
    local -a found
    local line
    for line in ${(f)"$(NAME complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
        found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( ${#found} )); then
        _describe 'NAME' found
    else
        _files
    fi
}
compdef _NAME NAME
`,
	"fish": `function __NAME_complete
    set -l words (commandline -opc) (commandline -ct)
    NAME complete -- $words[2..-1] 2>/dev/null
end
complete -c NAME -f -a '(__NAME_complete)'
`,
}

// Completion is the command that prints a script for a shell, and the hidden one that the scripts ask.
func Completion() []*Command {
	return []*Command{
		{
			Name: "completion", Short: "print a script that completes commands and flags in a shell",
			Args:    Args{Usage: strings.Join(Shells, "|"), Min: 1, Max: 1, Words: Shells},
			Example: "source <(outlast completion bash)\noutlast completion zsh > ~/.zfunc/_outlast\noutlast completion fish > ~/.config/fish/completions/outlast.fish",
			Run: func(_ context.Context, l *Line) error {
				script := strings.ReplaceAll(scripts[l.Args[0]], "NAME", l.Root.Name)
				if l.AsJSON() {
					return l.JSON(map[string]string{"shell": l.Args[0], "script": script})
				}
				_, err := fmt.Fprint(l.Out, script)
				return err
			},
		},
		{Name: "complete", Plain: true, Args: Args{Max: -1}, Run: func(_ context.Context, l *Line) error {
			words := l.Args
			if len(words) > 0 && words[0] == "--" {
				words = words[1:]
			}
			for _, c := range l.Root.Complete(words) {
				fmt.Fprintf(l.Out, "%s\t%s\n", c[0], c[1])
			}
			return nil
		}},
	}
}

// Complete lists what the last word may become, each with what it means.
func (c *Command) Complete(words []string) (list [][2]string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last, before := words[len(words)-1], words[:len(words)-1]
	l := &Line{Root: c, Command: c, Name: c.Name}
	rest, err := l.descend(before)
	if err != nil {
		return nil
	}
	add := func(word, meaning string) {
		if strings.HasPrefix(word, last) {
			list = append(list, [2]string{word, meaning})
		}
	}
	known := l.Command.flags(c)
	if n := len(rest); n > 0 && strings.HasPrefix(rest[n-1], "-") && !strings.Contains(rest[n-1], "=") {
		f, _, _, err := l.lookUp(known, rest[n-1])
		if err == nil && f.Kind != Switch {
			for _, w := range f.Words {
				add(w, f.Help)
			}
			return list
		}
	}
	if strings.HasPrefix(last, "-") {
		for _, f := range known {
			add("--"+f.Name, f.Help)
		}
		return list
	}
	for _, s := range l.Command.Sub {
		if s.Short != "" {
			add(s.Name, s.Short)
		}
	}
	for _, w := range l.Command.Args.Words {
		if !slices.Contains(rest, w) {
			add(w, "")
		}
	}
	return list
}
