package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// Problem is an error as HTTP clients are told it: RFC 9457. A function that returns one, also wrapped, fails its task with
// it. A status of 4xx fails it at once, as no further attempt can mend the request; save 408, 425 and 429.
type Problem struct {
	Type     string // a URI; empty: about:blank
	Title    string // empty: the words of the status
	Status   int    // 0, and what is no status of an answer: 500
	Detail   string
	Instance string
	Code     string         // a word for machines
	More     map[string]any // further members

	brief bool // the status is not known here
}

// Error says what is wrong.
func (p *Problem) Error() string {
	filled := p.filled()
	if p.Detail == "" {
		return filled.Title
	}
	return p.Detail
}

// filled returns the problem with its defaults.
func (p *Problem) filled() Problem {
	f := *p
	if f.Status < 200 || f.Status > 599 {
		f.Status = http.StatusInternalServerError
	}
	if f.Type == "" {
		f.Type = "about:blank"
	}
	if f.Title == "" {
		f.Title = http.StatusText(f.Status)
	}
	return f
}

// MarshalJSON writes application/problem+json.
func (p *Problem) MarshalJSON() ([]byte, error) {
	f := p.filled()
	all := maps.Clone(f.More)
	if all == nil {
		all = map[string]any{}
	}
	for name, value := range map[string]string{"type": f.Type, "title": f.Title, "detail": f.Detail, "instance": f.Instance, "code": f.Code} {
		if value != "" {
			all[name] = value
		}
	}
	if !f.brief {
		all["status"] = f.Status
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads application/problem+json.
func (p *Problem) UnmarshalJSON(data []byte) error {
	all := map[string]any{}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*p = Problem{}
	for name, field := range map[string]*string{"type": &p.Type, "title": &p.Title, "detail": &p.Detail, "instance": &p.Instance, "code": &p.Code} {
		*field, _ = all[name].(string)
		delete(all, name)
	}
	status, _ := all["status"].(float64)
	p.Status = int(status)
	delete(all, "status")
	if len(all) > 0 {
		p.More = all
	}
	return nil
}

// lasting reports whether no further attempt can mend what the problem tells.
func (p *Problem) lasting() bool {
	switch p.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return p.Status >= 400 && p.Status < 500
}

// problem makes a Problem of this package's own.
func problem(status int, code, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// asProblem returns the problem in an error, or nil.
func asProblem(err error) *Problem {
	var p *Problem
	if errors.As(err, &p) {
		return p
	}
	return nil
}

// writeProblem is the usual writer of problems.
func writeProblem(w http.ResponseWriter, _ *http.Request, p *Problem) {
	body, err := json.Marshal(p)
	if err != nil { // a member in More that is no JSON
		body, _ = json.Marshal(&Problem{Status: p.Status, Type: p.Type, Title: p.Title, Detail: p.Detail, Code: p.Code}) // of strings alone
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.filled().Status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

// seconds writes a time as whole seconds, at least one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(int64((d+time.Second-1)/time.Second), 1), 10)
}
