package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/internal/safedial"
	"github.com/outlast-go/outlast/kernel"
)

// What a caller decides on, beside kernel.ErrDuplicate, ErrNotFound and ErrInDoubt.
var (
	// ErrRefused says that the egress guard does not let a host, port or address be called.
	ErrRefused = safedial.ErrRefused
	// ErrTooLarge says that a body is larger than what can be stored. It comes with an *InvalidError.
	ErrTooLarge = errors.New("too large")
	// ErrUnknownCallback says that no callback was defined under a name. It comes with an *InvalidError.
	ErrUnknownCallback = errors.New("no such callback")
	// ErrForgotten says that a request has ended, and that its answer was not kept: Retention was Forget, or the blob of
	// its body is gone.
	ErrForgotten = errors.New("the answer was not kept")
	// ErrNoHandler says that no process-wide handler was registered: see Register.
	ErrNoHandler = errors.New("no request handler is registered")
	// ErrRegistered says that there is a process-wide handler already.
	ErrRegistered = errors.New("a request handler is registered already")
)

// InvalidError says what of a configuration, a request or its options can never be sent. Nothing was stored. It is
// kernel.ErrInvalid, and also ErrTooLarge, ErrUnknownCallback or ErrRefused where that is the reason.
type InvalidError struct {
	Field   string // URL, Method, Header, Query, Body, Args, Timeouts, Callback, …
	Problem string // without what was given where that may be secret
	Err     error  // may be nil
}

// Error names the field and the problem.
func (e *InvalidError) Error() string { return "invalid call: " + e.Field + " " + e.Problem }

// Unwrap returns kernel.ErrInvalid and the reason.
func (e *InvalidError) Unwrap() []error {
	if e.Err == nil {
		return []error{kernel.ErrInvalid}
	}
	return []error{kernel.ErrInvalid, e.Err}
}

func invalid(field, format string, args ...any) error {
	return &InvalidError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Type is why a request has no answer, in a word for machines.
type Type string

// The types of errors.
const (
	TypeTimeout   Type = "timeout"   // Error.Phase tells which
	TypeDNS       Type = "dns"       // the name was not resolved
	TypeConnect   Type = "connect"   // nobody could be reached
	TypeTLS       Type = "tls"       // no secure connection
	TypeLost      Type = "lost"      // the connection broke, or what came was no HTTP
	TypeTooLarge  Type = "too_large" // the answer, its header, or what it decompresses to
	TypeDecode    Type = "decode"    // the answer does not decompress
	TypeRedirect  Type = "redirect"  // too many, a loop, or to where none may lead
	TypeHTTP      Type = "http"      // an answer that FailOnStatus makes an error; Error.Response has it
	TypeRefused   Type = "refused"   // by the egress guard
	TypeUnknown   Type = "unknown"   // it may have reached the server, and what came of it will never be known
	TypeCancelled Type = "cancelled" // Error.Reason tells why
	TypeExpired   Type = "expired"   // not started in time
	TypeCrashed   Type = "crashed"   // it took too many processes along
	TypeInvalid   Type = "invalid"   // the stored request cannot be read or sent
	TypeBody      Type = "body"      // a body is not where it was kept
)

// Phase is the part of a request that took too long.
type Phase string

// The phases.
const (
	PhaseConnect   Phase = "connect"
	PhaseTLS       Phase = "tls"
	PhaseSend      Phase = "send"
	PhaseFirstByte Phase = "first_byte" // until the header of the answer is complete
	PhaseIdle      Phase = "idle"       // between bytes of the body
	PhaseTotal     Phase = "total"
)

// Error is how a request ended that has no answer to give. Its text names the host and nothing else of the URL, as texts are logged.
type Error struct {
	ID       kernel.ID // of the request
	Type     Type
	Phase    Phase         // of a timeout
	Message  string        // for people
	Reason   string        // why its task ended: permanent, attempts, crashed, expired, the reason of a Cancel, …
	Method   string        // of the request, as it was started
	URL      string        // that was asked last
	Attempts int           // that have failed
	Crashes  int           // processes that died while they had it
	MaySent  bool          // the request, or a part of it, may have reached the server
	Duration time.Duration // of the last attempt
	// Redirects are the URLs that were left behind.
	Redirects []string
	// Response is the answer, if there was one: of TypeHTTP.
	Response *Response
	// Args are the callback's, as JSON: see ArgsOf.
	Args json.RawMessage

	final bool // no further attempt can mend it
}

// Error says what went wrong.
func (e *Error) Error() string {
	text := string(e.Type)
	if e.Phase != "" {
		text += " (" + string(e.Phase) + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

func (e *Error) arguments() json.RawMessage { return e.Args }

// Is makes an Error of TypeRefused ErrRefused.
func (e *Error) Is(target error) bool { return target == ErrRefused && e.Type == TypeRefused }
