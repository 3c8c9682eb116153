package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/outlast-go/outlast/store"
)

// place is what a URL says: where the server is, in the driver's words, and what is ours.
type place struct {
	driver         string // without our options
	masked         string // for messages: without the password
	user, database string
	cfg            Config
}

// namespaces are names of schemas that need no quotes and cannot be the server's own.
var namespaces = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,50}$`)

// parseURL reads postgres://user:password@host:port/database?option=value. Our options: namespace, pooler, fsync, conns. What a
// Config says goes before them. All others are the driver's: sslmode, connect_timeout, application_name, target_session_attrs …
func parseURL(text string, cfg Config) (place, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The text of the error has the URL in it, and with it the password.
		return place{}, fmt.Errorf("%w: the URL cannot be read; it looks like postgres://user:password@host:5432/database, and what is special in a password is written as %%XX", store.ErrInvalid)
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return place{}, fmt.Errorf("%w: the URL begins with %q; it must begin with postgres://", store.ErrInvalid, u.Scheme)
	}
	if err := unescaped(u); err != nil {
		return place{}, err
	}
	q := u.Query()
	p := place{cfg: cfg}
	if p.cfg.Namespace == "" {
		p.cfg.Namespace = q.Get("namespace")
	}
	if p.cfg.Namespace == "" {
		p.cfg.Namespace = "outlast"
	}
	if !namespaces.MatchString(p.cfg.Namespace) || strings.HasPrefix(p.cfg.Namespace, "pg_") || p.cfg.Namespace == "information_schema" {
		return place{}, fmt.Errorf("%w: namespace %q; it is the name of a schema: small letters, digits and _, at most 51, not beginning with a digit or pg_", store.ErrInvalid, p.cfg.Namespace)
	}
	if err := errors.Join(flagOption(q, "pooler", &p.cfg.Pooler, "1"), flagOption(q, "fsync", &p.cfg.FsyncOff, "off-ok"), connsOption(q, &p.cfg)); err != nil {
		return place{}, err
	}
	for _, ours := range []string{"namespace", "pooler", "fsync", "conns"} {
		q.Del(ours)
	}
	u.RawQuery = q.Encode()
	p.driver = u.String()
	p.masked = mask(u)
	return p, nil
}

// unescaped refuses a URL that may have a part of its password where none belongs, since a / or ? in it was not escaped. It repeats
// nothing of it.
func unescaped(u *url.URL) error {
	odd := u.Opaque != "" || strings.Contains(u.EscapedPath(), "@") || strings.Contains(u.EscapedFragment(), "@")
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(part, "=")
		named := name == "user" || name == "password" || name == "application_name"
		odd = odd || strings.Contains(name, "@") || strings.Contains(value, "@") && (!named || u.User == nil && u.Port() != "" && u.Path == "")
	}
	if !odd {
		return nil
	}
	return fmt.Errorf("%w: the URL has an @ behind its host, or no // before it; it looks like postgres://user:password@host:5432/database: in a password write a / as %%2F, a ? as %%3F, a # as %%23, elsewhere an @ as %%40", store.ErrInvalid)
}

// flagOption reads an option that has one value.
func flagOption(q url.Values, name string, into *bool, value string) error {
	switch got := q.Get(name); got {
	case "":
		return nil
	case value:
		*into = true
		return nil
	default:
		return fmt.Errorf("%w: option %s is %q; it can be %q or left out", store.ErrInvalid, name, got, value)
	}
}

func connsOption(q url.Values, cfg *Config) error {
	text := q.Get("conns")
	if text == "" || cfg.Conns != 0 {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return fmt.Errorf("%w: option conns is %q; it is how many connections the handle may have, at least 1", store.ErrInvalid, text)
	}
	cfg.Conns = n
	return nil
}

// mask writes a URL for messages: without a password, also one among the options.
func mask(u *url.URL) string {
	c := *u
	if c.User != nil {
		c.User = url.User(c.User.Username())
	}
	q := c.Query()
	for _, secret := range []string{"password", "sslpassword", "passfile"} {
		q.Del(secret)
	}
	c.RawQuery, c.Fragment, c.RawFragment = q.Encode(), "", ""
	return c.String()
}
