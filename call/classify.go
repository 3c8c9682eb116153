package call

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/outlast-go/outlast/internal/safedial"
	"github.com/outlast-go/outlast/kernel"
)

// fail makes an Error of what went wrong with an attempt.
func (a *attempt) fail(ctx context.Context, err error) *Error {
	phase, sent := a.watch.state()
	e := &Error{
		ID: a.id, Method: a.request.Method, URL: a.request.URL, Attempts: a.number, MaySent: sent, Redirects: a.left,
		Duration: time.Since(a.begun),
	}
	host := ""
	if a.hop != nil {
		e.URL, host = a.hop.url.String(), a.hop.url.Host
	}
	e.final = kernel.IsPermanent(err)
	var late *phaseError
	if errors.As(context.Cause(ctx), &late) {
		e.Type, e.Phase, e.Message = TypeTimeout, late.phase, "nothing within "+late.after.String()
	} else {
		e.Type, e.Phase, e.Message = classify(err, phase)
	}
	if host != "" {
		e.Message = host + ": " + e.Message
	}
	return e
}

// classify names an error. The text is for logs: nothing of what was sent or came may be in it.
func classify(err error, phase Phase) (Type, Phase, string) {
	var body *bodyError
	var unsigned *signError
	switch {
	case errors.As(err, &body):
		return TypeBody, "", err.Error()
	case errors.As(err, &unsigned), errors.Is(err, errFrame):
		return TypeInvalid, "", err.Error()
	case errors.Is(err, errRedirect):
		return TypeRedirect, "", err.Error()
	case errors.Is(err, safedial.ErrRefused):
		return TypeRefused, "", refusal(err)
	case errors.Is(err, errTooLarge):
		return TypeTooLarge, "", err.Error()
	case errors.Is(err, errDecode):
		return TypeDecode, "", err.Error()
	case strings.Contains(err.Error(), "response headers exceeded"), strings.Contains(err.Error(), "header list larger"):
		return TypeTooLarge, "", "the header of the answer is too large" // net/http has no other way of saying so
	}
	return classifyNet(err, phase)
}

// classifyNet names an error of the connection.
func classifyNet(err error, phase Phase) (Type, Phase, string) {
	var dns *net.DNSError
	var op *net.OpError
	dialling := errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
	switch {
	case errors.As(err, &dns):
		return TypeDNS, "", "the name is not resolved: " + dns.Err
	case isTLS(err) || phase == PhaseTLS && !isTimeout(err):
		return TypeTLS, "", tlsText(err)
	case isTimeout(err) && (dialling || phase == PhaseConnect):
		return TypeTimeout, PhaseConnect, "no connection in time"
	case isTimeout(err) && phase == PhaseTLS:
		return TypeTimeout, PhaseTLS, "no secure connection in time"
	case dialling || phase == PhaseConnect:
		return TypeConnect, "", "no connection: " + systemText(err)
	}
	return TypeLost, "", "the connection was lost: " + systemText(err)
}

// refusal is the text of the guard, without what the dialler has wrapped around it.
func refusal(err error) string {
	_, text, found := strings.Cut(err.Error(), safedial.ErrRefused.Error())
	if !found {
		return safedial.ErrRefused.Error()
	}
	return safedial.ErrRefused.Error() + text
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded)
}

func isTLS(err error) bool {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		alert        tls.AlertError
		unknown      x509.UnknownAuthorityError
		hostname     x509.HostnameError
		certificate  x509.CertificateInvalidError
	)
	return errors.As(err, &verification) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &certificate)
}

// tlsText repeats what the library says of certificates and alerts, and nothing else.
func tlsText(err error) string {
	var verification *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.As(err, &verification):
		return verification.Error()
	case errors.As(err, &alert):
		return alert.Error()
	}
	return "no secure connection: " + systemText(err)
}

// systemText is the operating system's word for an error, or the kind of thing that it is.
func systemText(err error) string {
	var number syscall.Errno
	switch {
	case errors.As(err, &number):
		return number.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ended early"
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "invalid"):
		return "what came is no HTTP"
	case strings.Contains(err.Error(), "stream error"), strings.Contains(err.Error(), "GOAWAY"):
		return "the server has ended the stream"
	case strings.Contains(err.Error(), "closed"):
		return "it was closed"
	}
	return "for a reason that is not shown"
}
