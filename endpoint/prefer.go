package endpoint

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// preference is what of a Prefer header (RFC 7240) is understood here. What is not, is ignored.
type preference struct {
	async   bool
	waits   bool // a wait was named
	wait    time.Duration
	applied []string
}

// preferences reads the Prefer headers of a request. The first of a name counts.
func preferences(r *http.Request) preference {
	var p preference
	for _, header := range r.Header.Values("Prefer") {
		for _, part := range strings.Split(header, ",") {
			part, _, _ = strings.Cut(part, ";") // parameters of a preference
			name, value, _ := strings.Cut(part, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "respond-async":
				if !p.async {
					p.async = true
					p.applied = append(p.applied, "respond-async")
				}
			case "wait":
				n, err := strconv.Atoi(value)
				if err != nil || n < 0 || p.waits {
					continue
				}
				p.waits, p.wait = true, time.Duration(min(n, 1<<20))*time.Second
				p.applied = append(p.applied, "wait="+strconv.Itoa(n))
			}
		}
	}
	return p
}

// noWait takes back a wait that is not granted.
func (p *preference) noWait() {
	p.waits = false
	p.applied = slices.DeleteFunc(p.applied, func(text string) bool { return strings.HasPrefix(text, "wait=") })
}

// tell sets the headers by which a client sees what was applied.
func (p *preference) tell(w http.ResponseWriter) {
	w.Header().Add("Vary", "Prefer")
	if len(p.applied) > 0 {
		w.Header().Set("Preference-Applied", strings.Join(p.applied, ", "))
	}
}

// waitOf returns how long a client wants to wait: by ?wait=, a duration or seconds, or else by Prefer.
func waitOf(r *http.Request) (time.Duration, *Problem) {
	text := r.URL.Query().Get("wait")
	if text == "" {
		return preferences(r).wait, nil
	}
	d, err := time.ParseDuration(text)
	if n, bad := strconv.Atoi(text); bad == nil {
		d, err = time.Duration(min(max(n, -1), 1<<20))*time.Second, nil
	}
	if err != nil || d < 0 {
		return 0, problem(http.StatusBadRequest, "bad_wait", "wait is %.40q; give seconds, or a time such as 30s", text)
	}
	return d, nil
}
