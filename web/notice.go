package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
)

const noticeCookie = "outlast-notice"

// noticeMost bounds a notice: browsers keep 4 KiB.
const noticeMost = 3500

// notice tells once what an action came to. It travels in a cookie, so that any process may show it.
type notice struct {
	Text string
	Bad  bool `json:",omitempty"`
	Undo *act `json:",omitempty"`
}

func (q *request) leaveNotice(w http.ResponseWriter, n *notice) {
	data, err := json.Marshal(n)
	if err == nil && base64.RawURLEncoding.EncodedLen(len(data)) > noticeMost {
		data, err = json.Marshal(&notice{Text: n.Text, Bad: n.Bad}) // too many to be undone at once
	}
	if err != nil || base64.RawURLEncoding.EncodedLen(len(data)) > noticeMost {
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: noticeCookie, Value: base64.RawURLEncoding.EncodeToString(data), Path: q.base + "/", MaxAge: 60, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// takeNotice reads the notice and removes it.
func (q *request) takeNotice(w http.ResponseWriter) *notice {
	c, err := q.r.Cookie(noticeCookie)
	if err != nil {
		return nil
	}
	http.SetCookie(w, &http.Cookie{Name: noticeCookie, Path: q.base + "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	data, err := base64.RawURLEncoding.DecodeString(c.Value)
	var n notice
	if err != nil || json.Unmarshal(data, &n) != nil || n.Text == "" {
		return nil
	}
	return &n
}
