package cron_test

import (
	"testing"
	"time"

	"github.com/outlast-go/outlast/internal/cron"
)

// A rule that is read has ticks that come after one another, each after the time asked for; one that is not is told in a short text.
func FuzzParse(f *testing.F) {
	f.Add("every 5m", "", int64(1_800_000_000))
	f.Add("at 2026-11-15 10:00", "Europe/Berlin", int64(0))
	f.Add("30 2 * * MON-FRI", "America/Sao_Paulo", int64(1_541_300_000))
	f.Add("0 0 29 2 *", "Australia/Lord_Howe", int64(951_782_400))
	f.Add("0 0 0 L * 5#3", "", int64(-1))
	f.Add("@daily", "Pacific/Apia", int64(1_325_200_000))
	f.Add("TZ=UTC * * * * *", "Local", int64(1))
	f.Add("0 0 30 2 *", "", int64(1))
	f.Add("every 9223372036854775807ns", "", int64(9_000_000_000))
	f.Fuzz(func(t *testing.T, text, zone string, unix int64) {
		rule, err := cron.Parse(text, zone)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("Parse(%q, %q) tells it in %d bytes", text, zone, len(err.Error()))
			}
			return
		}
		const year2200 = 7_258_118_400
		at := time.Unix(unix%year2200, 0)
		for range 3 {
			next := rule.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("Parse(%q, %q): after %v comes %v", text, zone, at, next)
			}
			at = next
		}
	})
}
