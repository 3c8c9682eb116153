// Package cli is the tree of commands that a command line is made of: words, flags, help, completion and the list of all of them
// come from one declaration. What goes wrong is told in one line that says what to do, and in the exit code.
package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Exit codes.
const (
	OK     = 0
	Failed = 1 // it was understood, and did not work
	Misuse = 2 // the command line was not understood; nothing was done
)

// Command is a word that is understood, with what may follow it.
type Command struct {
	Name    string
	Short   string // what it does, in one line; empty: it is not listed
	Long    string // more about it, for its help; may be empty
	Args    Args
	Flags   []Flag // those of the root are understood by all commands
	Example string // command lines, one per line
	Sub     []*Command
	Plain   bool // its arguments are handed over as they are: no flags
	Run     func(ctx context.Context, l *Line) error
}

// Args says how many words may follow the command and its flags. The zero value is none.
type Args struct {
	Usage    string // how they are written in the help: ID, [ID ...]
	Min, Max int    // a negative Max: any number
	Words    []string
}

// Kind is what the value of a flag is.
type Kind int

// The kinds of values.
const (
	Text   Kind = iota
	Switch      // has no value
	Number
	Span // a duration
	Many // text, and may be given again and again
)

// Flag is one flag of a command. Names are without dashes.
type Flag struct {
	Name    string
	Short   string // one letter, or empty
	Kind    Kind
	Value   string // what stands for the value in the help
	Default string
	Shown   string   // the default as the help tells it, where Default does not
	Env     string   // the environment variable that stands in for it
	Words   []string // the only values there are; empty: any
	Min     int      // of a Number that is given
	Help    string
	Common  bool // many commands have it: the page of all commands tells it once
}

// World is what a command works in.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Terminal bool // somebody sits there who can answer, and look at Out
	Colour   bool // Out takes colours
	Width    int  // of the terminal; 0: not known
	Now      func() time.Time
}

// Line is a command line that was understood.
type Line struct {
	World
	Root    *Command
	Command *Command
	Name    string // the command with those above it: "outlast keys new"
	Args    []string
	values  map[string]value
}

// value is what a flag was given.
type value struct {
	given  bool // by a flag or by the environment
	text   string
	many   []string
	number int
	span   time.Duration
	on     bool
}

func (l *Line) value(name string) value {
	v, ok := l.values[name]
	if !ok {
		panic("cli: " + l.Name + " has no flag --" + name)
	}
	return v
}

// Given reports whether a flag was given, or its environment variable set.
func (l *Line) Given(name string) bool { return l.value(name).given }

// Text is the value of a flag of kind Text.
func (l *Line) Text(name string) string { return l.value(name).text }

// On is the value of a Switch.
func (l *Line) On(name string) bool { return l.value(name).on }

// Number is the value of a flag of that kind.
func (l *Line) Number(name string) int { return l.value(name).number }

// Span is the value of a flag of that kind.
func (l *Line) Span(name string) time.Duration { return l.value(name).span }

// Many is the values of a flag of that kind, in their order.
func (l *Line) Many(name string) []string { return l.value(name).many }

// Has reports whether the command knows a flag.
func (l *Line) Has(name string) bool {
	_, ok := l.values[name]
	return ok
}

// exit is an error that brings its exit code.
type exit struct {
	code int
	text string
}

func (e exit) Error() string { return e.text }

// Misused is an error of who typed the command: exit code 2.
func Misused(format string, args ...any) error {
	return exit{Misuse, fmt.Sprintf(format, args...)}
}

// Told is the end of a command that has said itself what is wrong: exit code 1, and nothing more is printed.
var Told error = exit{code: Failed}

// Code is an end with an exit code of the command's own, of which nothing is printed.
func Code(code int) error { return exit{code: code} }

// flags lists those that a command understands: its own and the root's.
func (c *Command) flags(root *Command) []Flag {
	if c.Plain {
		return nil
	}
	list := slices.Clone(c.Flags)
	if c != root {
		for _, f := range root.Flags {
			if !slices.ContainsFunc(list, func(own Flag) bool { return own.Name == f.Name }) {
				list = append(list, f)
			}
		}
	}
	return append(list, Flag{Name: "help", Short: "h", Kind: Switch, Help: "print this help"})
}

// find returns the sub-command of a name.
func (c *Command) find(name string) *Command {
	for _, s := range c.Sub {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// words are the names of the sub-commands that are listed.
func (c *Command) words() []string {
	var list []string
	for _, s := range c.Sub {
		if s.Short != "" {
			list = append(list, s.Name)
		}
	}
	return list
}

// Walk calls fn for a command and all below it that are listed, with their full names.
func (c *Command) Walk(fn func(name string, c *Command)) { c.walk(c.Name, fn) }

func (c *Command) walk(name string, fn func(string, *Command)) {
	fn(name, c)
	for _, s := range c.Sub {
		if s.Short != "" {
			s.walk(name+" "+s.Name, fn)
		}
	}
}
