package cli

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// parse finds the command, and reads its flags and arguments. The Line is there also if there is an error: for its name and world.
func (c *Command) parse(args []string, w World) (*Line, error) {
	l := &Line{World: w, Root: c, Command: c, Name: c.Name}
	rest, err := l.descend(args)
	if err != nil {
		return l, err
	}
	if l.Command.Plain {
		l.Args = rest
		return l, nil
	}
	given, err := l.split(rest)
	if err != nil {
		return l, err
	}
	if err := l.take(given); err != nil {
		return l, err
	}
	if l.values["help"].on || l.Command.Run == nil {
		return l, nil
	}
	return l, l.checkArgs()
}

// descend follows the words of commands, and returns what remains. Flags may stand before them.
func (l *Line) descend(args []string) (rest []string, err error) {
	var before []string
	for len(args) > 0 && len(l.Command.Sub) > 0 {
		word := args[0]
		if strings.HasPrefix(word, "-") && word != "-" && word != "--" {
			n := l.width(word)
			before, args = append(before, args[:min(n, len(args))]...), args[min(n, len(args)):]
			continue
		}
		next := l.Command.find(word)
		if next == nil {
			if l.Command.Run == nil {
				return nil, unknownCommand(l.Command, word, l.Name)
			}
			break
		}
		l.Command, l.Name, args = next, l.Name+" "+next.Name, args[1:]
	}
	return append(before, args...), nil
}

// width is how many words a flag takes that stands before its command.
func (l *Line) width(word string) int {
	name, short := strings.TrimLeft(word, "-"), !strings.HasPrefix(word, "--")
	if strings.Contains(name, "=") {
		return 1
	}
	n := 1
	l.Command.Walk(func(_ string, c *Command) {
		for _, f := range c.flags(l.Root) {
			if f.Kind != Switch && (f.Name == name || short && f.Short == name) {
				n = 2
			}
		}
	})
	return n
}

// setting is one flag as it was given.
type setting struct {
	flag Flag
	text string
	by   string // as it was written
}

// split parts flags from arguments.
func (l *Line) split(args []string) (given []setting, err error) {
	known := l.Command.flags(l.Root)
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			l.Args = append(l.Args, args[i+1:]...)
			break
		}
		if !strings.HasPrefix(word, "-") || word == "-" {
			l.Args = append(l.Args, word)
			continue
		}
		f, text, has, err := l.lookUp(known, word)
		if err != nil {
			return nil, err
		}
		by, _, _ := strings.Cut(word, "=")
		switch {
		case has:
		case f.Kind == Switch:
			text = "true"
		case i+1 < len(args):
			i++
			text = args[i]
		default:
			return nil, Misused("%s needs a value: %s %s", by, by, f.word())
		}
		given = append(given, setting{f, text, by})
	}
	return given, nil
}

// lookUp finds the flag of a word, and the value if it is in the same word.
func (l *Line) lookUp(known []Flag, word string) (f Flag, text string, has bool, err error) {
	long := strings.HasPrefix(word, "--")
	name, text, has := strings.Cut(strings.TrimLeft(word, "-"), "=")
	for _, f := range known {
		if f.Name == name || !long && f.Short != "" && f.Short == name {
			return f, text, has, nil
		}
	}
	if !long { // -XPOST
		for _, f := range known {
			if f.Short != "" && f.Kind != Switch && strings.HasPrefix(word[1:], f.Short) {
				return f, word[1+len(f.Short):], true, nil
			}
		}
	}
	var names []string
	for _, f := range known {
		names = append(names, f.Name)
	}
	if near, ok := nearest(strings.ToLower(name), names); ok {
		return f, "", false, Misused("unknown flag --%s; did you mean --%s?", name, near)
	}
	return f, "", false, Misused("unknown flag --%s; %q lists the flags", name, l.Name+" --help")
}

// take sets the values of all flags: as given, from the environment, by default.
func (l *Line) take(given []setting) error {
	l.values = map[string]value{}
	for _, f := range l.Command.flags(l.Root) {
		v := value{text: f.Default}
		var from []setting
		for _, s := range given {
			if s.flag.Name == f.Name {
				from = append(from, s)
			}
		}
		if env := l.env(f); len(from) == 0 && env != "" {
			from = append(from, setting{f, env, "the environment variable " + f.Env})
		}
		v.given = len(from) > 0
		if !v.given && f.Default != "" {
			from = append(from, setting{f, f.Default, "--" + f.Name})
		}
		for _, s := range from {
			if err := v.set(f, s, v.given); err != nil {
				return err
			}
		}
		l.values[f.Name] = v
	}
	return nil
}

func (l *Line) env(f Flag) string {
	if f.Env == "" || l.Getenv == nil {
		return ""
	}
	return l.Getenv(f.Env)
}

// set reads one value.
func (v *value) set(f Flag, s setting, given bool) (err error) {
	v.text = s.text
	if len(f.Words) > 0 && !slices.Contains(f.Words, s.text) {
		if near, ok := nearest(strings.ToLower(s.text), f.Words); ok {
			return Misused("%s is %q; did you mean %s?", s.by, s.text, near)
		}
		return Misused("%s is %q; it can be %s", s.by, s.text, strings.Join(f.Words, ", "))
	}
	switch f.Kind {
	case Switch:
		if v.on, err = strconv.ParseBool(s.text); err != nil {
			return Misused("%s is %q; it is on or off, without a value", s.by, s.text)
		}
	case Number:
		if v.number, err = strconv.Atoi(s.text); err != nil {
			return Misused("%s is %q; it must be a whole number", s.by, s.text)
		}
		if given && v.number < f.Min {
			return Misused("%s is %d; it must be at least %d", s.by, v.number, f.Min)
		}
	case Span:
		if v.span, err = time.ParseDuration(s.text); err != nil {
			return Misused("%s is %q; it must be a duration as 30s, 5m or 2h", s.by, s.text)
		}
		if given && v.span < 0 {
			return Misused("%s is %v; it must not be negative", s.by, v.span)
		}
	case Many:
		v.many = append(v.many, s.text)
	}
	return nil
}

// checkArgs counts what is neither a command nor a flag.
func (l *Line) checkArgs() error {
	a := l.Command.Args
	switch n := len(l.Args); {
	case n < a.Min:
		return Misused("it needs %s; write it as: %s", a.Usage, l.usage())
	case a.Max >= 0 && n > a.Max && a.Max == 0:
		return Misused("unexpected argument %q; it takes none: %s", l.Args[0], l.usage())
	case a.Max >= 0 && n > a.Max:
		return Misused("unexpected argument %q; write it as: %s", l.Args[a.Max], l.usage())
	}
	if len(a.Words) > 0 {
		for _, word := range l.Args {
			if slices.Contains(a.Words, word) {
				continue
			}
			if near, ok := nearest(strings.ToLower(word), a.Words); ok {
				return Misused("%q is not known; did you mean %q?", word, near)
			}
			return Misused("%q is not known; it can be %s", word, strings.Join(a.Words, ", "))
		}
	}
	return nil
}
