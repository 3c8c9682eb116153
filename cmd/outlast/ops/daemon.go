package ops

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store"
)

// Daemon works on a store through the daemon that serves it. What is sealed is opened by the daemon, if it has the keys.
type Daemon struct {
	base    string // without a slash at its end
	token   string
	version string
	client  *http.Client
	limit   time.Duration
	info    api.Info
}

// DaemonConfig says how a daemon is spoken to.
type DaemonConfig struct {
	URL     string        // http://127.0.0.1:7070, or https
	Token   string        // empty: none
	CA      []byte        // PEM of who signed the daemon's certificate; nil: those that the system knows
	Version string        // of this program, for messages
	Limit   time.Duration // how long an answer may take
}

// NewDaemon makes one. Nothing is asked yet. ErrInvalid if the address is none.
func NewDaemon(cfg DaemonConfig) (*Daemon, error) {
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("%w: the address of a daemon is written as http://127.0.0.1:7070", store.ErrInvalid)
	case u.User != nil:
		return nil, fmt.Errorf("%w: the daemon at %s takes no user and password, but a token: set OUTLAST_TOKEN, or say --token-file", store.ErrInvalid, u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%w: the address of a daemon has no options; write it as %s://%s", store.ErrInvalid, u.Scheme, u.Host)
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: cfg.Limit}).DialContext, TLSHandshakeTimeout: cfg.Limit, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 16, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if cfg.CA != nil {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(cfg.CA) {
			return nil, fmt.Errorf("%w: the file of --ca has no certificate in PEM form", store.ErrInvalid)
		}
		transport.TLSClientConfig.RootCAs = pool
	}
	return &Daemon{
		base: strings.TrimRight(cfg.URL, "/"), token: cfg.Token, version: cfg.Version, limit: cfg.Limit,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Close lets go of the connections.
func (d *Daemon) Close() error {
	d.client.CloseIdleConnections()
	return nil
}

// Meet asks the daemon who it is. It needs a token that may read.
func (d *Daemon) Meet(ctx context.Context) (api.Info, error) {
	info, err := fetch[api.Info](ctx, d, "/v1/info", nil)
	if err == nil {
		d.info = info
	}
	return info, err
}

// Info tells what the store of the daemon is, as it said to Meet.
func (d *Daemon) Info() store.Info {
	return store.Info{Engine: d.info.Engine, Namespace: d.info.Namespace, Evidence: store.EvidenceKind(d.info.Evidence), Survives: d.info.Survives}
}

// Now reads the clock of the daemon's store.
func (d *Daemon) Now(ctx context.Context) (time.Time, error) {
	info, err := d.Meet(ctx)
	if err == nil && info.Now.IsZero() {
		err = fmt.Errorf("the daemon at %s is there, and its store does not answer it", d.base)
	}
	return info.Now, err
}

// refusal is what a daemon answered instead of what it was asked for: it counts as the error that it stands for.
type refusal struct {
	text string
	is   error // nil: none of the store's
}

func (r *refusal) Error() string { return r.text }

func (r *refusal) Unwrap() error { return r.is }

// sentinels are what the codes of refusals stand for.
var sentinels = map[string]error{
	"not_found": store.ErrNotFound, "fenced": store.ErrFenced, "dead": store.ErrDead, "duplicate": store.ErrDuplicate, "changed": store.ErrChanged,
	"state": store.ErrState, "invalid": store.ErrInvalid, "bad_query": store.ErrInvalid, "not_waiting": saga.ErrNotWaiting,
}

// fetch reads something.
func fetch[T any](ctx context.Context, d *Daemon, path string, query url.Values) (T, error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return send[T](ctx, d, http.MethodGet, path, nil)
}

// send makes a request, and reads its answer.
func send[T any](ctx context.Context, d *Daemon, method, path string, body any) (out T, err error) {
	return sendWithin[T](ctx, d, d.limit, request{method, path, body})
}

// request is what is asked of a daemon.
type request struct {
	method, path string
	body         any // nil: none
}

// patience is how often a request is made again that came too soon after others.
const patience = 10

// sendWithin is send for what may take longer.
func sendWithin[T any](ctx context.Context, d *Daemon, limit time.Duration, q request) (out T, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLate)
	defer cancel()
	var text []byte
	if q.body != nil {
		if text, err = json.Marshal(q.body); err != nil {
			return out, err
		}
	}
	for range patience {
		var again time.Duration
		if again, err = d.once(ctx, q, text, &out); again == 0 {
			return out, err
		}
		pause := time.NewTimer(again)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return out, err
		}
	}
	return out, err
}

// once makes a request once. It tells when to come again, if the daemon wants that.
func (d *Daemon) once(ctx context.Context, q request, text []byte, into any) (again time.Duration, err error) {
	res, err := d.do(ctx, q, text)
	if err != nil {
		return 0, err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, d.away(ctx, err)
	}
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch {
	case res.StatusCode == http.StatusNoContent:
		return 0, nil
	case res.StatusCode < 300 && media == "application/json":
		if err := json.Unmarshal(answer, into); err != nil {
			return 0, fmt.Errorf("the daemon at %s answers otherwise than this version of outlast (%s) understands: %w", d.base, d.version, err)
		}
		return 0, nil
	case media == "application/problem+json":
		return d.refused(res, answer)
	}
	return 0, fmt.Errorf("what answers at %s is no Outlast daemon: it says %d to %s %s", d.base, res.StatusCode, q.method, q.path)
}

// do makes a request; what comes back is the caller's to read and to close.
func (d *Daemon) do(ctx context.Context, q request, text []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, q.method, d.base+q.path, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%w: the address of a daemon is written as http://127.0.0.1:7070", store.ErrInvalid)
	}
	req.Header.Set("Accept", "application/json, */*")
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	res, err := d.client.Do(req)
	if err != nil {
		return nil, d.away(ctx, err)
	}
	return res, nil
}

// stream reads something long as it comes.
func (d *Daemon) stream(ctx context.Context, path string) (io.ReadCloser, error) {
	res, err := d.do(ctx, request{method: http.MethodGet, path: path}, nil)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, d.away(ctx, err)
	}
	_, err = d.refused(res, answer)
	return nil, err
}

// away says why there is no answer.
func (d *Daemon) away(ctx context.Context, err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // it repeats the address
	}
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(context.Cause(ctx), errLate):
		return fmt.Errorf("the daemon at %s has not answered within %v", d.base, d.limit)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of the daemon at %s is not trusted: %w; --ca names the file of who signed it", d.base, certificate.Err)
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("the daemon at %s speaks no TLS; write its address with http", d.base)
	}
	return fmt.Errorf("no daemon answers at %s: %w", d.base, err)
}

// refused makes an error of a refusal.
func (d *Daemon) refused(res *http.Response, answer []byte) (again time.Duration, err error) {
	var p struct{ Code, Detail string }
	if json.Unmarshal(answer, &p) != nil || p.Code == "" {
		return 0, fmt.Errorf("what answers at %s is no Outlast daemon: it says %d", d.base, res.StatusCode)
	}
	switch p.Code {
	case "unauthenticated":
		return 0, fmt.Errorf("the daemon at %s wants a token: set OUTLAST_TOKEN, or say --token-file; \"outlast token create\" makes one", d.base)
	case "bad_token":
		return 0, fmt.Errorf("the daemon at %s refuses the token: %s; \"outlast token create\" makes another", d.base, p.Detail)
	case "no_scope", "no_namespace", "not_local":
		return 0, fmt.Errorf("the daemon at %s does not allow it: %s", d.base, p.Detail)
	case "no_path", "bad_method":
		return 0, d.other()
	case "too_many":
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 1)) * time.Second, fmt.Errorf("the daemon at %s: %s", d.base, p.Detail)
	}
	if is := sentinels[p.Code]; is != nil {
		return 0, &refusal{p.Detail, is}
	}
	return 0, fmt.Errorf("the daemon at %s: %s", d.base, p.Detail)
}

// other says that the daemon does not know a request of this version.
func (d *Daemon) other() error {
	return fmt.Errorf("the daemon at %s, of version %s, does not know this request; outlast is of version %s: use the same", d.base, cmp.Or(d.info.Version, "unknown"), d.version)
}
