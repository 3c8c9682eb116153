package call

import (
	"net/http"
	"time"
)

// Unknown says what becomes of a request that may have reached the server without an answer having come back: its process died or
// lost it, or the connection broke after it was sent.
type Unknown string

// The policies.
const (
	// AutoUnknown sends it again if its method is idempotent by RFC 9110, or an Idempotency-Key goes along, and fails otherwise.
	AutoUnknown Unknown = "auto"
	// RetryUnknown sends it again.
	RetryUnknown Unknown = "retry"
	// FailUnknown never sends it again: the error is of TypeUnknown if its process died, else of what went wrong.
	FailUnknown Unknown = "fail"
)

func (u Unknown) valid() bool {
	return u == "" || u == AutoUnknown || u == RetryUnknown || u == FailUnknown
}

// resends reports whether a request whose fate is unknown is sent again.
func (u Unknown) resends(method string, keyed bool) bool {
	switch u {
	case RetryUnknown:
		return true
	case FailUnknown:
		return false
	}
	return keyed || idempotent(method)
}

func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

func idempotent(method string) bool {
	return safe(method) || method == http.MethodPut || method == http.MethodDelete
}

// NoRedirects as MaxRedirects follows none.
const NoRedirects = -1

// NoTimeout as a timeout waits as long as it takes.
const NoTimeout time.Duration = -1

// Timeouts bound the phases of one attempt. 0 is the client's; NoTimeout is none.
type Timeouts struct {
	Connect   time.Duration // to resolve the name and connect, once the turn to dial has come
	TLS       time.Duration // to make the connection secure
	Send      time.Duration // to send header and body. Default: none
	FirstByte time.Duration // from there to the complete header of the answer. Default: none
	Idle      time.Duration // between bytes of the body
	Total     time.Duration // of the whole attempt, redirects and body
}

func (t Timeouts) or(d Timeouts) Timeouts {
	pick := func(a, b time.Duration) time.Duration {
		if a != 0 {
			return a
		}
		return b
	}
	return Timeouts{
		Connect: pick(t.Connect, d.Connect), TLS: pick(t.TLS, d.TLS), Send: pick(t.Send, d.Send),
		FirstByte: pick(t.FirstByte, d.FirstByte), Idle: pick(t.Idle, d.Idle), Total: pick(t.Total, d.Total),
	}
}

// validate refuses what is a mistake in a unit.
func (t Timeouts) validate() error {
	const most = 30 * 24 * time.Hour
	for field, d := range map[string]time.Duration{
		"Connect": t.Connect, "TLS": t.TLS, "Send": t.Send, "FirstByte": t.FirstByte, "Idle": t.Idle, "Total": t.Total,
	} {
		if d > most {
			return invalid("Timeouts", "%s is %v; more than thirty days is a mistake", field, d)
		}
		if d < 0 && d != NoTimeout {
			return invalid("Timeouts", "%s is %v; it must be positive, 0 for the default, or NoTimeout", field, d)
		}
	}
	return nil
}

// limit returns a bound, 0 for none.
func limit(d time.Duration) time.Duration { return max(d, 0) }
