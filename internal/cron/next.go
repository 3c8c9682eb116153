package cron

import "time"

// searched bounds how many times of one rule are looked at for one tick: more than the seconds of a doubled hour.
const searched = 20_000

// Next returns the first tick after t; zero: there is none any more.
func (r Rule) Next(t time.Time) time.Time {
	switch {
	case r.every > 0:
		return r.multiple(t).Add(r.every)
	case !r.at.IsZero():
		if r.at.After(t) {
			return r.at
		}
		return time.Time{}
	case r.hourly:
		return r.passing(t)
	}
	return r.walled(t)
}

// Last returns the last of the ticks after since that is not after t; zero: there is none. It does not go through all of them.
func (r Rule) Last(since, t time.Time) time.Time {
	if r.every > 0 {
		if at := r.multiple(t); at.After(since) {
			return at
		}
		return time.Time{}
	}
	// Look back over a span that grows until it holds a tick, then go on to the last one in it: of a dense rule the
	// first span is enough.
	for span := time.Minute; ; span *= 4 {
		from := t.Add(-span)
		all := !from.After(since)
		if all {
			from = since
		}
		at := r.Next(from)
		if at.IsZero() || at.After(t) {
			if all {
				return time.Time{}
			}
			continue
		}
		for next := r.Next(at); !next.IsZero() && !next.After(t); next = r.Next(next) {
			at = next
		}
		return at
	}
}

// Once reports whether the rule has one tick alone.
func (r Rule) Once() bool { return !r.at.IsZero() }

// multiple returns the last multiple of every that is not after t.
func (r Rule) multiple(t time.Time) time.Time {
	n := t.UnixNano()
	rest := n % int64(r.every)
	if rest < 0 {
		rest += int64(r.every)
	}
	return time.Unix(0, n-rest).UTC()
}

// wall returns the first time after w that the rule names, on a clock that never jumps.
func (r Rule) wall(w time.Time) time.Time { return r.spec.Next(w) }

// walled goes by the clock on the wall. Later times on the wall are never earlier instants, so that the first instant after t is
// the tick: what lies in a gap is one instant with the leap, and what is shown twice is the first showing.
func (r Rule) walled(t time.Time) time.Time {
	w := face(t, r.zone)
	for range searched {
		if w = r.wall(w); w.IsZero() {
			return time.Time{}
		}
		if at := instant(w, r.zone); at.After(t) {
			return at.UTC()
		}
	}
	return time.Time{}
}

// passing goes by the time that passes: from one jump of the clock to the next the wall is a clock that does not jump.
func (r Rule) passing(t time.Time) time.Time {
	w, from := face(t, r.zone), t
	for range searched {
		_, end := from.In(r.zone).ZoneBounds()
		next := r.wall(w)
		if next.IsZero() {
			return time.Time{}
		}
		at := next.Add(-offset(from, r.zone))
		if end.IsZero() || at.Before(end) {
			return at.UTC()
		}
		w, from = face(end, r.zone).Add(-1), end
	}
	return time.Time{}
}

func offset(t time.Time, zone *time.Location) time.Duration {
	_, seconds := t.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// face is what the clock on the wall shows at an instant, as a time in UTC.
func face(t time.Time, zone *time.Location) time.Time { return t.UTC().Add(offset(t, zone)) }

// instant is when the clock on the wall shows w: the first time if it does so twice, the moment of the leap if never.
func instant(w time.Time, zone *time.Location) time.Time {
	t := time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), zone)
	start, end := t.ZoneBounds()
	switch shown := face(t, zone); {
	case shown.After(w):
		return start // t lies after a gap
	case shown.Before(w):
		return end // t lies before it
	}
	if start.IsZero() {
		return t
	}
	if first := w.Add(-offset(start.Add(-1), zone)); first.Before(start) && face(first, zone).Equal(w) {
		return first
	}
	return t
}
