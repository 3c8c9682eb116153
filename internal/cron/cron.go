// Package cron reads rules of time and computes their ticks. It knows no clock: what has come is for its caller to say.
//
// A rule is one of
//
//	every 5m                      the multiples of a duration since 1970, in UTC
//	at 2026-11-15T10:00:00Z       once; without an offset the time is of the rule's zone
//	30 2 * * MON-FRI              cron: minute, hour, day of month, month, day of week; with six fields seconds come first
//	@daily                        @yearly, @monthly, @weekly, @daily, @hourly
//
// In cron rules names (JAN, MON), lists, ranges, steps and L, W, # work as elsewhere. If both kinds of day are named, either
// is enough, as cron has always had it.
//
// # Clocks that jump
//
// A cron rule means the clock on the wall of its zone. A time that the clock leaps over ticks once, at the moment of the leap; a
// time that it shows twice ticks once, the first time. A rule of every hour (its hour field is *) goes by the time that has passed
// instead: it neither pauses in a doubled hour nor makes up for a skipped one.
package cron

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a machine without zones of its own knows them all the same

	cron "github.com/netresearch/go-cron"
)

// ErrNever says that a rule has no tick.
var ErrNever = errors.New("it never comes")

// years is how far a tick is looked for: the 29th of February can be eight years away.
const years = 12

// Rule computes ticks. Make one with Parse.
type Rule struct {
	every  time.Duration
	at     time.Time
	spec   *cron.SpecSchedule
	hourly bool
	zone   *time.Location
}

// parser reads cron rules. Times are looked for in UTC, where no clock jumps: Rule maps them to its zone.
var parser = cron.MustNewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow |
	cron.Descriptor | cron.Extended | cron.DowOrDom).WithMaxSearchYears(years)

// Parse reads a rule. An empty zone is UTC. The error says what is wrong and how to write it.
func Parse(text, zone string) (Rule, error) {
	loc, err := loadZone(zone)
	if err != nil {
		return Rule{}, err
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	switch word {
	case "every", "@every":
		return parseEvery(text, rest)
	case "at":
		return parseAt(rest, loc)
	}
	return parseCron(text, loc)
}

func loadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	if name == "Local" {
		return nil, errors.New(`the zone "Local" is another one on every machine; name one, as in "Europe/Berlin"`)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the zone %.60q is not known; write it as in \"Europe/Berlin\": %w", name, err)
	}
	return loc, nil
}

func parseEvery(text, rest string) (Rule, error) {
	d, err := time.ParseDuration(strings.TrimSpace(rest))
	if err != nil || d < time.Second || d > years*366*24*time.Hour {
		return Rule{}, fmt.Errorf("the rule %.80q needs a duration of at least 1s and at most %d years, as in \"every 5m\"", text, years)
	}
	return Rule{every: d, zone: time.UTC}, nil
}

func parseAt(rest string, loc *time.Location) (Rule, error) {
	rest = strings.TrimSpace(rest)
	if t, err := time.Parse(time.RFC3339Nano, rest); err == nil {
		return Rule{at: t.UTC(), zone: loc}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if wall, err := time.Parse(layout, rest); err == nil {
			return Rule{at: instant(wall, loc).UTC(), zone: loc}, nil
		}
	}
	return Rule{}, fmt.Errorf("the time %.60q is not understood; write it as in \"at 2026-11-15T10:00:00Z\", or \"at 2026-11-15 10:00\" in the zone", rest)
}

func parseCron(text string, loc *time.Location) (Rule, error) {
	if strings.Contains(text, "TZ=") {
		return Rule{}, fmt.Errorf("the rule %.80q names a zone; say it apart from the rule", text)
	}
	parsed, err := parser.Parse(strings.TrimSpace(text))
	if err != nil {
		return Rule{}, fmt.Errorf("the rule %.80q is not understood: %w; write it as \"every 5m\", \"at 2026-11-15T10:00:00Z\" or in cron's five or six fields", text, err)
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return Rule{}, fmt.Errorf("the rule %.80q is not known", text)
	}
	spec.Location = time.UTC
	const allHours = 1<<24 - 1
	r := Rule{spec: spec, hourly: spec.Hour&allHours == allHours, zone: loc}
	if r.wall(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Rule{}, fmt.Errorf("the rule %.80q: %w", text, ErrNever)
	}
	return r, nil
}
