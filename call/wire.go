package call

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// wireRequest is a request as it is stored: JSON, and behind a newline the bytes of the body.
type wireRequest struct {
	Method       string      `json:"method"`
	URL          string      `json:"url"`
	Header       http.Header `json:"header,omitempty"`
	Ref          *kernel.Ref `json:"ref,omitempty"` // the body is a blob
	Timeouts     Timeouts    `json:"timeouts"`
	MaxRedirects int         `json:"max_redirects,omitempty"`
	MaxResponse  int64       `json:"max_response,omitempty"`
	OnUnknown    Unknown     `json:"on_unknown,omitempty"`
	NoKey        bool        `json:"no_key,omitempty"`
	Sign         string      `json:"sign,omitempty"`
	FailOnStatus bool        `json:"fail_on_status,omitempty"`
}

// wireCallback is what a callback's task carries: enough for a callback whose request left nothing behind.
type wireCallback struct {
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Args   json.RawMessage `json:"args,omitempty"`
}

// wireOutcome is how a request ended, as it is stored: JSON, and behind a newline the bytes of the body unless it is kept elsewhere.
type wireOutcome struct {
	Response *wireResponse `json:"response,omitempty"`
	Error    *wireError    `json:"error,omitempty"`
}

type wireResponse struct {
	Status    int           `json:"status"`
	Header    http.Header   `json:"header,omitempty"`
	URL       string        `json:"url"`
	Proto     string        `json:"proto,omitempty"`
	Redirects []string      `json:"redirects,omitempty"`
	Duration  time.Duration `json:"duration"`
	Size      int64         `json:"size,omitempty"`
	Entry     bool          `json:"entry,omitempty"` // the body is an entry of the task's checkpoint
	Ref       *kernel.Ref   `json:"ref,omitempty"`   // the body is a blob
}

type wireError struct {
	Type      Type          `json:"type"`
	Phase     Phase         `json:"phase,omitempty"`
	Message   string        `json:"message,omitempty"`
	URL       string        `json:"url,omitempty"`
	Redirects []string      `json:"redirects,omitempty"`
	Duration  time.Duration `json:"duration,omitempty"`
	MaySent   bool          `json:"may_sent,omitempty"`
}

// frame puts bytes behind JSON, which has no newline of its own.
func frame(head any, body []byte) ([]byte, error) {
	data, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return data, nil
	}
	framed := make([]byte, 0, len(data)+1+len(body))
	return append(append(append(framed, data...), '\n'), body...), nil
}

var errFrame = errors.New("what is stored is no record of a call")

// unframe takes a frame apart. The body shares the memory of data. The error repeats nothing of it.
func unframe(data []byte, head any) (body []byte, err error) {
	text, body, _ := bytes.Cut(data, []byte{'\n'})
	if err := json.Unmarshal(text, head); err != nil {
		return nil, errFrame
	}
	return body, nil
}
