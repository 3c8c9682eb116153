package desk

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/web"
)

// policy is for the sign-in: it loads the style, and sends its form here.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// doors are the sign-in and the sign-out.
func (d *Desk) doors(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && d.guard.Check(r) != nil:
		d.page(w, r, http.StatusForbidden, "this request came from another site, and was refused")
	case r.Method == http.MethodPost && r.URL.Path == "/sign-out":
		http.SetCookie(w, d.cookie("", -1))
		http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
	case r.Method == http.MethodPost:
		d.admit(w, r)
	case (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.URL.Path == "/sign-in":
		d.page(w, r, http.StatusOK, "")
	default:
		w.Header().Set("Allow", "POST")
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
	}
}

// formMost bounds what is read of who is not known.
const formMost = 16 << 10

// admit begins a session for who brings a good token.
func (d *Desk) admit(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formMost)
	if err := r.ParseForm(); err != nil {
		d.page(w, r, http.StatusBadRequest, "the form could not be read")
		return
	}
	token, err := d.cfg.Tokens.Check(strings.TrimSpace(r.PostForm.Get("token")))
	switch {
	case err != nil && d.cfg.Slow != nil && d.cfg.Slow(r):
		w.Header().Set("Retry-After", "1")
		d.page(w, r, http.StatusTooManyRequests, "too many bad tokens came from this address; try again in a moment")
	case err != nil:
		d.page(w, r, http.StatusUnauthorized, err.Error())
	case !token.May(api.Read):
		d.page(w, r, http.StatusForbidden, "this token cannot look: it has neither the scope read nor operate")
	default:
		until := d.now().Add(d.cfg.Stay)
		if !token.ExpiresAt.IsZero() && token.ExpiresAt.Before(until) {
			until = token.ExpiresAt
		}
		d.cfg.Logger.Info("signed in", "who", nameOf(token), "token", token.ID)
		http.SetCookie(w, d.cookie(d.seal(token.ID, until), int(until.Sub(d.now()).Seconds())))
		http.Redirect(w, r, backOf(r.PostForm.Get("back")), http.StatusSeeOther) //nolint:gosec // backOf lets no address of others pass
	}
}

// backOf is where to go after the sign-in: a page of ours.
func backOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n") {
		return "/"
	}
	return text
}

// page shows the sign-in.
func (d *Desk) page(w http.ResponseWriter, r *http.Request, status int, trouble string) {
	var out bytes.Buffer
	err := signIn.Execute(&out, map[string]string{"Trouble": trouble, "Back": backOf(r.FormValue("back")), "Stamp": web.Stamp()})
	if err != nil {
		http.Error(w, "the sign-in could not be made", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // who has gone away needs no answer
}

// cookieName has the prefix by which browsers refuse a cookie that came without TLS, or for another host.
func (d *Desk) cookieName() string {
	if d.cfg.Secure {
		return "__Host-outlast-session"
	}
	return "outlast-session"
}

func (d *Desk) cookie(value string, seconds int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever there is TLS; without it the daemon is on loopback, or was told to be open
		Name: d.cookieName(), Value: value, Path: "/", MaxAge: seconds, HttpOnly: true, Secure: d.cfg.Secure, SameSite: http.SameSiteStrictMode,
	}
}

// seal makes a session: the id of the token, when it ends, and a sum of both that only this process can make.
func (d *Desk) seal(id string, until time.Time) string {
	text := id + "." + strconv.FormatInt(until.Unix(), 10)
	return text + "." + d.sum(text)
}

func (d *Desk) sum(text string) string {
	h := hmac.New(sha256.New, d.key[:])
	_, _ = h.Write([]byte(text)) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

// open reads the id of the token out of a session that this process has made and that has not ended.
func (d *Desk) open(value string) (id string, err error) {
	at := strings.LastIndexByte(value, '.')
	if at < 0 || !hmac.Equal([]byte(d.sum(value[:at])), []byte(value[at+1:])) {
		return "", errNoSession
	}
	id, seconds, _ := strings.Cut(value[:at], ".")
	until, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || !d.now().Before(time.Unix(until, 0)) {
		return "", errNoSession
	}
	return id, nil
}
