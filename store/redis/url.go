package redis

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
)

// address is where a store is, as its URL says.
type address struct {
	options   rueidis.ClientOption
	namespace string
	lossy     bool
	masked    string // the URL without its passwords
}

// known are the options of a URL, and what they say.
var known = []string{
	"namespace", "lossy", "ca", "cert", "key", "servername", "insecure", "tls", "sentinel_user", "sentinel_password", "dial_timeout",
}

// parseURL reads redis://, rediss:// and redis+sentinel:// URLs. No error of it tells a password.
func parseURL(text string) (address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || !slices.Contains([]string{"redis", "rediss", "redis+sentinel"}, scheme) {
		return address{}, invalid("the URL must begin with redis://, rediss:// or redis+sentinel://")
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 && strings.Contains(rest[i:], "@") {
		// What stands before it may be the end of a password with a / or ? in it: nothing of it is repeated.
		return address{}, invalid("the URL has an @ behind its first / or ?: in a password write a / as %%2F, a ? as %%3F, elsewhere an @ as %%40")
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	var a address
	user, hosts, found := cutLast(authority, "@")
	if !found {
		user, hosts = "", authority
	}
	name, password, _ := strings.Cut(user, ":")
	var err error
	if a.options.Username, err = url.PathUnescape(name); err != nil {
		return a, invalid("the user of the URL is not escaped as a URL needs it")
	}
	if a.options.Password, err = url.PathUnescape(password); err != nil {
		return a, invalid("the password of the URL is not escaped as a URL needs it: write a %% as %%25, an @ as %%40, a / as %%2F")
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, invalid("the options after the ? of the URL are not escaped as a URL needs it")
	}
	a.masked = mask(scheme, name, password, hosts, path, values)
	if err := a.hosts(scheme, hosts, path, values); err != nil {
		return a, err
	}
	return a, a.query(scheme, values)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func mask(scheme, name, password, hosts, path string, values url.Values) string {
	out := scheme + "://"
	if name != "" || password != "" {
		out += name
		if password != "" {
			out += ":xxxxx"
		}
		out += "@"
	}
	out += hosts
	if path != "" {
		out += "/" + path
	}
	shown := url.Values{}
	for k, v := range values {
		if strings.Contains(k, "password") {
			v = []string{"xxxxx"}
		}
		shown[k] = v
	}
	if len(shown) > 0 {
		out += "?" + shown.Encode()
	}
	return out
}

// hosts reads where the servers are: one, or the sentinels that know it, and the number of the database.
func (a *address) hosts(scheme, hosts, path string, values url.Values) error {
	port := "6379"
	if scheme == "redis+sentinel" {
		port = "26379"
	}
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return invalid("the URL names no host; write redis://localhost:6379")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		a.options.InitAddress = append(a.options.InitAddress, host)
	}
	db := strings.Trim(path, "/")
	if scheme == "redis+sentinel" {
		a.options.Sentinel.MasterSet, db, _ = strings.Cut(strings.Trim(path, "/"), "/")
		if a.options.Sentinel.MasterSet == "" {
			return invalid("the URL names no master; write redis+sentinel://host1,host2/mymaster")
		}
		a.options.Sentinel.Username, a.options.Sentinel.Password = values.Get("sentinel_user"), values.Get("sentinel_password")
	} else if len(a.options.InitAddress) > 1 {
		return invalid("the URL names %d hosts; several are for redis+sentinel:// only", len(a.options.InitAddress))
	}
	if db == "" {
		return nil
	}
	n, err := strconv.Atoi(db)
	if err != nil || n < 0 {
		return invalid("the database %q of the URL is no number; write redis://localhost:6379/0", db)
	}
	a.options.SelectDB = n
	return nil
}

// query reads the options of the URL.
func (a *address) query(scheme string, values url.Values) error {
	for name := range values {
		if !slices.Contains(known, name) {
			return invalid("the option %q of the URL is not known; known are %s", name, strings.Join(known, ", "))
		}
	}
	a.namespace, a.lossy = values.Get("namespace"), flag(values, "lossy")
	if text := values.Get("dial_timeout"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return invalid("dial_timeout is %q; write a time above 0, such as 5s", text)
		}
		a.options.Dialer.Timeout = d
	}
	if scheme != "rediss" && !flag(values, "tls") {
		for _, name := range []string{"ca", "cert", "key", "servername", "insecure"} {
			if values.Has(name) {
				return invalid("the option %q needs TLS: write rediss://, or tls=1 with redis+sentinel://", name)
			}
		}
		return nil
	}
	config, err := tlsConfig(values)
	a.options.TLSConfig, a.options.Sentinel.TLSConfig = config, config
	return err
}

func flag(values url.Values, name string) bool {
	v := values.Get(name)
	return v == "1" || v == "true" || v == "yes"
}

func tlsConfig(values url.Values) (*tls.Config, error) {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: values.Get("servername"),
		InsecureSkipVerify: flag(values, "insecure"), //nolint:gosec // only where the user asks for it by that name
	}
	if path := values.Get("ca"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of ca=: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("ca=" + path + " holds no certificate in PEM")
		}
	}
	cert, key := values.Get("cert"), values.Get("key")
	if (cert == "") != (key == "") {
		return nil, invalid("cert and key belong together: a certificate of the client, and its key")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the client: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
