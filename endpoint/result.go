package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/outlast-go/outlast/internal/encode"
)

// Response as the result of an endpoint is what /result answers, as it stands: a file, a page, a resource that was made.
type Response struct {
	Status   int    // 0: 200
	Type     string // content type; empty: application/octet-stream
	Location string // of what was made; who asked to be redirected is sent there. Empty: nothing
	Body     []byte
}

// head is what is stored before the body of a Response. Such a result begins with a zero byte, and no JSON does.
type head struct {
	Status   int    `json:"status"`
	Type     string `json:"type"`
	Location string `json:"location,omitempty"`
}

// encodeResult writes a result as it is stored.
func encodeResult(v any) ([]byte, error) {
	switch r := v.(type) {
	case Response:
		return r.encode()
	case *Response:
		if r != nil {
			return r.encode()
		}
	case []byte:
		return Response{Body: r}.encode()
	}
	if t := reflect.TypeOf(v); t != nil && t.Kind() == reflect.Struct && t.NumField() == 0 {
		return nil, nil
	}
	return encode.JSON(v)
}

func (r Response) encode() ([]byte, error) {
	h := head{Status: r.Status, Type: r.Type, Location: r.Location}
	if h.Status == 0 {
		h.Status = http.StatusOK
	}
	if h.Status < 200 || h.Status > 599 {
		return nil, fmt.Errorf("has the status %d; give one of 200 to 599", h.Status)
	}
	if h.Type == "" {
		h.Type = "application/octet-stream"
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte(0)
	b.Write(text)
	b.WriteByte('\n')
	b.Write(r.Body)
	return b.Bytes(), nil
}

// decodeResult reads what encodeResult wrote. No result is 204.
func decodeResult(data []byte) (Response, error) {
	if len(data) == 0 {
		return Response{Status: http.StatusNoContent}, nil
	}
	if data[0] != 0 {
		return Response{Status: http.StatusOK, Type: "application/json", Body: data}, nil
	}
	text, body, _ := bytes.Cut(data[1:], []byte{'\n'})
	var h head
	if err := json.Unmarshal(text, &h); err != nil {
		return Response{}, fmt.Errorf("the stored result does not decode: a %T", err)
	}
	if h.Status < 200 || h.Status > 599 {
		return Response{}, fmt.Errorf("the stored result has the status %d", h.Status)
	}
	return Response{Status: h.Status, Type: h.Type, Location: h.Location, Body: body}, nil
}

// isJSON reports whether a result can stand inside a JSON document as it is.
func (r *Response) isJSON() bool {
	media, _, _ := strings.Cut(r.Type, ";")
	media = strings.TrimSpace(media)
	return (media == "application/json" || strings.HasSuffix(media, "+json")) && json.Valid(r.Body)
}
