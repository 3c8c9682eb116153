package api

import (
	"context"
	"io"
	"unicode/utf8"

	"github.com/outlast-go/outlast/call"
)

// bodyLimit is how much of an answer's body goes along with the end of a call.
const bodyLimit = 1 << 20

// answered is the end of a call that has an answer. A body that cannot be read is left out.
func answered(ctx context.Context, r *call.Response) CallEnd {
	end := CallEnd{
		ID: r.ID.String(), Method: r.Method, URL: r.URL, Status: r.Status, Header: r.Header, Attempts: r.Attempts, Crashes: r.Crashes,
		Seconds: r.Duration.Seconds(), Proto: r.Proto, Size: r.Size,
	}
	body, err := r.Open(ctx)
	if err != nil {
		return end
	}
	defer func() { _ = body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(body, bodyLimit))
	switch {
	case err != nil:
	case utf8.Valid(text):
		end.Body = string(text)
	default:
		end.BodyBase64 = text
	}
	return end
}

// lost is the end of a call that has none, or one that counts as an error.
func lost(ctx context.Context, e *call.Error) CallEnd {
	end := CallEnd{}
	if e.Response != nil {
		end = answered(ctx, e.Response)
	}
	end.ID, end.Method, end.URL, end.Attempts, end.Crashes, end.Seconds = e.ID.String(), e.Method, e.URL, e.Attempts, e.Crashes, e.Duration.Seconds()
	end.Error = &CallError{Type: string(e.Type), Phase: string(e.Phase), Message: e.Message, Reason: e.Reason, MaySent: e.MaySent}
	return end
}
