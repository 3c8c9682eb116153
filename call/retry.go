package call

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Verdict is what a Classify hook says of an attempt. The zero value leaves it to the rules: an answer with status 408, 425, 429, 500, 502,
// 503, 504 or 529 is tried again, and an error that another attempt may mend (timeout, dns, connect, lost, and tls unless a certificate is
// at fault). What is tried in vain for the last time is final: an answer is a completion then.
type Verdict struct {
	// Retry tries again, if attempts are left; Final does not.
	Retry, Final bool
	// After is how long to wait at least; 0: as the server says, or the retry policy.
	After time.Duration
}

// retryable are the statuses that another attempt may mend.
func retryable(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 529:
		return true
	}
	return false
}

func (e *Error) retryable() bool {
	switch e.Type {
	case TypeTimeout, TypeDNS, TypeConnect, TypeLost:
		return true
	case TypeBody:
		return !e.final // what keeps it may be away for a moment
	case TypeTLS:
		return !strings.Contains(e.Message, "certificate")
	}
	return false
}

// judge decides whether an attempt is to be followed by another, and after how long; 0: as the retry policy says.
func (c *Client) judge(resp *Response, e *Error) (again bool, after time.Duration) {
	v := c.ask(resp, e)
	switch {
	case v.Final:
		return false, 0
	case v.Retry:
		again = true
	case e != nil:
		again = e.retryable()
	default:
		again = retryable(resp.Status)
	}
	if after = v.After; after <= 0 && resp != nil {
		after = retryAfter(resp, time.Now())
	}
	return again, min(after, c.cfg.MaxRetryAfter)
}

// ask calls the user's hook. One that panics has said nothing.
func (c *Client) ask(resp *Response, e *Error) (v Verdict) {
	if c.cfg.Classify == nil {
		return v
	}
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("classifier panicked", "err", p)
			v = Verdict{}
		}
	}()
	return c.cfg.Classify(resp, e)
}

// retryAfter reads how long a server wants to be left alone; 0: it does not say. When a budget is renewed matters only if it is spent.
func retryAfter(resp *Response, now time.Time) time.Duration {
	h := resp.Header
	if d := waitText(h.Get("Retry-After"), now); d > 0 || resp.Status != http.StatusTooManyRequests {
		return d
	}
	longest := time.Duration(0)
	for _, name := range []string{
		"X-RateLimit-Reset", "RateLimit-Reset", "X-RateLimit-Reset-Requests", "X-RateLimit-Reset-Tokens",
	} {
		longest = max(longest, waitText(h.Get(name), now))
	}
	return longest
}

// waitText reads seconds, a time as a number of seconds since 1970, a date or a duration as Go writes it.
func waitText(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) {
		const year2001 = 1e9 // more seconds than anybody waits
		if n >= year2001 {
			n -= float64(now.UnixNano()) / 1e9
		}
		return time.Duration(min(max(n, 0), 1e8) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	if d, err := time.ParseDuration(text); err == nil {
		return max(d, 0)
	}
	return 0
}
