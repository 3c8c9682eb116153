package call

import "time"

// Again reports whether another attempt may bring a better answer, by the rules of Verdict, and how long the server wants to be left alone
// first; 0: it does not say. For who tries again by other means than a kernel's: see ClientConfig.Inline.
func (r *Response) Again() (again bool, after time.Duration) {
	return retryable(r.Status), retryAfter(r, time.Now())
}

// Again reports whether another attempt may bring an answer, by the rules of Verdict.
func (e *Error) Again() bool { return e.retryable() }
