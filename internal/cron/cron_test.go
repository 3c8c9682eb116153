package cron_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/internal/cron"
)

func parse(t *testing.T, rule, zone string) cron.Rule {
	t.Helper()
	r, err := cron.Parse(rule, zone)
	if err != nil {
		t.Fatalf("Parse(%q, %q) = %v", rule, zone, err)
	}
	return r
}

func when(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// ticks lists the first n ticks after a time.
func ticks(r cron.Rule, after time.Time, n int) string {
	var list []string
	for range n {
		if after = r.Next(after); after.IsZero() {
			list = append(list, "never")
			break
		}
		list = append(list, after.Format("02T15:04:05"))
	}
	return strings.Join(list, " ")
}

func TestTicksComeAsTheRuleSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, zone, after, want string }{
		{"every 5m", "", "2026-11-15T10:02:00Z", "15T10:05:00 15T10:10:00"},
		{"@every 90s", "", "2026-11-15T10:00:00Z", "15T10:01:30 15T10:03:00"},
		{"at 2026-11-15T10:00:00Z", "", "2026-11-15T09:00:00Z", "15T10:00:00 never"},
		{"at 2026-11-15T12:00:00+02:00", "", "2026-11-15T09:00:00Z", "15T10:00:00 never"},
		{"at 2026-11-15 10:00", "Europe/Berlin", "2026-11-15T08:00:00Z", "15T09:00:00 never"},
		{"at 2026-11-15T10:00:00Z", "", "2026-11-15T10:00:00Z", "never"},
		{"30 2 * * *", "", "2026-11-15T10:02:00Z", "16T02:30:00 17T02:30:00"},
		{"*/20 30 2 * * *", "", "2026-11-15T10:02:00Z", "16T02:30:00 16T02:30:20 16T02:30:40 17T02:30:00"},
		{"0 9 * * MON-FRI", "", "2026-11-13T10:00:00Z", "16T09:00:00 17T09:00:00"},
		{"0 9 * NOV sun", "", "2026-11-13T10:00:00Z", "15T09:00:00 22T09:00:00"},
		{"0 0 13 * FRI", "", "2026-11-12T00:00:00Z", "13T00:00:00 20T00:00:00"},
		{"@daily", "Asia/Tokyo", "2026-11-15T10:00:00Z", "15T15:00:00 16T15:00:00"},
		{"@hourly", "Asia/Kolkata", "2026-11-15T10:00:00Z", "15T10:30:00 15T11:30:00"},
		{"0 0 29 2 *", "", "2097-01-01T00:00:00Z", "29T00:00:00 29T00:00:00"}, // 2100 has none
		{"0 0 L * *", "", "2026-11-15T00:00:00Z", "30T00:00:00 31T00:00:00"},
		{"0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "29T22:00:00 30T10:00:00 30T22:00:00"}, // the 30th was left out
	} {
		if got := ticks(parse(t, c.rule, c.zone), when(t, c.after), strings.Count(c.want, " ")+1); got != c.want {
			t.Errorf("%s in %q after %s = %s, want %s", c.rule, c.zone, c.after, got, c.want)
		}
	}
}

// Berlin: 2026-03-29 02:00 is 03:00 (01:00 UTC), and 2026-10-25 03:00 is 02:00 (01:00 UTC).
func TestASkippedHourRunsOnceAndADoubledOneOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, zone, after, want string }{
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29T01:00:00 30T00:30:00"},
		{"*/20 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29T01:00:00 30T00:00:00 30T00:20:00"},
		{"0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "29T01:00:00 30T00:00:00 30T01:00:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "25T00:30:00 26T01:30:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z", "26T01:30:00"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T01:15:00Z", "26T01:30:00"},
		{"*/30 1-3 * * *", "Europe/Berlin", "2026-10-24T22:00:00Z", "24T23:00:00 24T23:30:00 25T00:00:00 25T00:30:00 25T02:00:00 25T02:30:00"},
		{"30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "29T00:30:00 29T01:30:00 29T02:30:00"},
		{"30 * * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "24T23:30:00 25T00:30:00 25T01:30:00 25T02:30:00"},
		{"30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", "01T05:30:00 02T06:30:00"},
		{"30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", "08T07:00:00 09T06:30:00"},
		{"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "03T15:30:00 04T15:15:00"}, // half an hour
		{"0 0 * * *", "Africa/Cairo", "2026-04-23T00:00:00Z", "23T22:00:00 24T21:00:00"},         // midnight is left out
		{"at 2026-03-29 02:30", "Europe/Berlin", "2026-03-28T12:00:00Z", "29T01:00:00 never"},
		{"at 2026-10-25 02:30", "Europe/Berlin", "2026-10-24T12:00:00Z", "25T00:30:00 never"},
	} {
		if got := ticks(parse(t, c.rule, c.zone), when(t, c.after), strings.Count(c.want, " ")+1); got != c.want {
			t.Errorf("%s in %q after %s = %s, want %s", c.rule, c.zone, c.after, got, c.want)
		}
	}
}

// A rule that names hours ticks once for each time on the wall that it names, whatever the clocks do.
func TestEveryNamedTimeTicksOnceAYear(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kolkata", "Africa/Casablanca"} {
		for _, rule := range []string{"30 2 * * *", "0 0 * * *", "15 1 * * *", "45 3 * * *", "0 3 * * *"} {
			r := parse(t, rule, zone)
			n, at := 0, when(t, "2026-01-01T12:00:00Z")
			for until := at.AddDate(1, 0, 0); ; n++ {
				next := r.Next(at)
				if !next.After(at) {
					t.Fatalf("%s in %s: %v comes after %v", rule, zone, next, at)
				}
				if at = next; at.After(until) {
					break
				}
			}
			if n != 365 {
				t.Errorf("%s in %s ticks %d times in a year, want 365", rule, zone, n)
			}
		}
	}
}

func TestTheLastTickIsFoundWithoutGoingThroughAll(t *testing.T) {
	t.Parallel()
	since := when(t, "2020-01-01T00:00:00Z")
	for _, c := range []struct{ rule, at, want string }{
		{"every 1s", "2026-11-15T10:02:00Z", "2026-11-15T10:02:00Z"},
		{"* * * * * *", "2026-11-15T10:02:00Z", "2026-11-15T10:02:00Z"},
		{"0 3 1 1 *", "2026-11-15T10:02:00Z", "2026-01-01T03:00:00Z"},
		{"at 2026-11-15T10:00:00Z", "2026-11-15T10:02:00Z", "2026-11-15T10:00:00Z"},
	} {
		if got := parse(t, c.rule, "").Last(since, when(t, c.at)); !got.Equal(when(t, c.want)) {
			t.Errorf("Last(%s) = %v, want %s", c.rule, got, c.want)
		}
	}
	if got := parse(t, "at 2026-11-15T10:00:00Z", "").Last(since, since.Add(time.Hour)); !got.IsZero() {
		t.Errorf("Last before the only tick = %v, want none", got)
	}
}

func TestABadRuleSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, zone, want string }{
		{"", "", "not understood"},
		{"every blue moon", "", "at least 1s"},
		{"every 10ms", "", "at least 1s"},
		{"every -5m", "", "at least 1s"},
		{"at noon", "", "at 2026-11-15T10:00:00Z"},
		{"0 0 30 2 *", "", "never comes"},
		{"0 0 31 4,6,9,11 *", "", "never comes"},
		{"61 * * * *", "", "not understood"},
		{"* * *", "", "not understood"},
		{"* * * * * * *", "", "not understood"},
		{"TZ=Asia/Tokyo 0 0 * * *", "", "apart from the rule"},
		{"@daily", "Mars/Olympus", `zone "Mars/Olympus" is not known`},
		{"@daily", "Local", "another one on every machine"},
		{"@fortnightly", "", "not understood"},
	} {
		_, err := cron.Parse(c.rule, c.zone)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q, %q) = %v, want it to say %q", c.rule, c.zone, err, c.want)
		}
	}
	if _, err := cron.Parse("0 0 30 2 *", ""); !errors.Is(err, cron.ErrNever) {
		t.Errorf("Parse = %v, want ErrNever", err)
	}
}
