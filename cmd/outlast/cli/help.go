package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// usage is how a command is written.
func (l *Line) usage() string { return usage(l.Name, l.Command) }

func usage(name string, c *Command) string {
	parts := []string{name}
	switch {
	case len(c.Sub) > 0 && c.Run != nil:
		parts = append(parts, "[command]")
	case len(c.Sub) > 0:
		parts = append(parts, "<command>")
	}
	if c.Args.Usage != "" {
		parts = append(parts, c.Args.Usage)
	}
	if c.Run != nil && !c.Plain {
		parts = append(parts, "[flags]")
	}
	return strings.Join(parts, " ")
}

// word is what stands for the value of a flag.
func (f Flag) word() string {
	switch {
	case f.Value != "":
		return f.Value
	case f.Kind == Number:
		return "N"
	case f.Kind == Span:
		return "TIME"
	}
	return "TEXT"
}

// spelled is how a flag is written.
func (f Flag) spelled() string {
	text := "--" + f.Name
	if f.Short != "" {
		text = "-" + f.Short + ", " + text
	}
	if f.Kind != Switch {
		text += " " + f.word()
	}
	return text
}

// meaning is all that the help says of a flag.
func (f Flag) meaning() string {
	text := f.Help
	if len(f.Words) > 0 {
		text += ": " + strings.Join(f.Words, ", ")
	}
	var notes []string
	if f.Kind == Many {
		notes = append(notes, "may be repeated")
	}
	switch {
	case f.Shown != "":
		notes = append(notes, "default "+f.Shown)
	case f.Default != "" && f.Kind != Switch:
		notes = append(notes, "default "+f.Default)
	}
	if f.Env != "" {
		notes = append(notes, "environment "+f.Env)
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, "; ") + ")"
	}
	return text
}

// help prints the help of the command.
func (l *Line) help() {
	if l.Has("json") && l.On("json") {
		_ = l.JSON(Describe(l.Name, l.Command, l.Root)) // what cannot be printed cannot be told either
		return
	}
	Help(l.Out, l.Name, l.Command, l.Root)
}

// Help prints the help of one command of a tree.
func Help(out io.Writer, name string, c, root *Command) {
	fmt.Fprintf(out, "usage: %s\n", usage(name, c))
	if c.Short != "" {
		fmt.Fprintf(out, "\n%s.\n", sentence(c.Short))
	}
	if c.Long != "" {
		fmt.Fprintf(out, "\n%s\n", strings.TrimSpace(c.Long))
	}
	if words := c.words(); len(words) > 0 {
		fmt.Fprint(out, "\ncommands:\n")
		wide := 0
		for _, w := range words {
			wide = max(wide, len(w))
		}
		for _, s := range c.Sub {
			if s.Short != "" {
				fmt.Fprintf(out, "  %-*s  %s\n", wide, s.Name, s.Short)
			}
		}
	}
	flags := c.flags(root)
	fmt.Fprint(out, "\nflags:\n")
	wide := 0
	for _, f := range flags {
		wide = max(wide, len(f.spelled()))
	}
	for _, f := range flags {
		pad := ""
		if f.Short == "" {
			pad = "    "
		}
		lead := fmt.Sprintf("  %-*s  ", wide+4, pad+f.spelled())
		for _, line := range wrap(f.meaning(), helpWidth-len(lead)) {
			fmt.Fprintln(out, lead+line)
			lead = strings.Repeat(" ", len(lead))
		}
	}
	if c.Example != "" {
		fmt.Fprint(out, "\nexamples:\n")
		for line := range strings.Lines(strings.TrimSpace(c.Example)) {
			fmt.Fprintf(out, "  %s\n", strings.TrimSpace(line))
		}
	}
}

// helpWidth is how long the lines of the help are at most.
const helpWidth = 110

// wrap breaks a text into lines.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > max(width, 40) {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// Description is a command as programs may read it.
type Description struct {
	Name     string            `json:"name"`
	About    string            `json:"about"`
	Usage    string            `json:"usage"`
	Flags    []FlagDescription `json:"flags"`
	Commands []Description     `json:"commands,omitempty"`
}

// FlagDescription is a flag as programs may read it.
type FlagDescription struct {
	Name    string   `json:"name"`
	Short   string   `json:"short,omitempty"`
	Value   string   `json:"value,omitempty"`
	Default string   `json:"default,omitempty"`
	Env     string   `json:"env,omitempty"`
	Words   []string `json:"words,omitempty"`
	About   string   `json:"about"`
}

// Describe tells a command and all below it.
func Describe(name string, c, root *Command) Description {
	d := Description{Name: name, About: c.Short, Usage: usage(name, c)}
	for _, f := range c.flags(root) {
		fd := FlagDescription{Name: f.Name, Short: f.Short, Default: f.Default, Env: f.Env, Words: f.Words, About: f.Help}
		if f.Kind != Switch {
			fd.Value = f.word()
		}
		d.Flags = append(d.Flags, fd)
	}
	for _, s := range c.Sub {
		if s.Short != "" {
			d.Commands = append(d.Commands, Describe(name+" "+s.Name, s, root))
		}
	}
	return d
}

// Markdown writes all commands of a tree as a page.
func Markdown(out io.Writer, root *Command) {
	root.Walk(func(name string, c *Command) {
		if c == root {
			return
		}
		fmt.Fprintf(out, "## %s\n\n%s.\n\n    %s\n\n", name, sentence(c.Short), usage(name, c))
		if c.Long != "" {
			fmt.Fprintf(out, "%s\n\n", strings.TrimSpace(c.Long))
		}
		if slices.ContainsFunc(c.Flags, func(f Flag) bool { return !f.Common }) {
			fmt.Fprint(out, "| flag | meaning |\n|---|---|\n")
			for _, f := range c.Flags {
				if f.Common {
					continue
				}
				fmt.Fprintf(out, "| `%s` | %s |\n", f.spelled(), strings.ReplaceAll(f.meaning(), "|", "\\|"))
			}
			fmt.Fprintln(out)
		}
		for line := range strings.Lines(strings.TrimSpace(c.Example)) {
			fmt.Fprintf(out, "    %s\n", strings.TrimSpace(line))
		}
		if c.Example != "" {
			fmt.Fprintln(out)
		}
	})
}
