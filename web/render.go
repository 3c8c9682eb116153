package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

//go:embed templates/*.html
var sources embed.FS

var templates = template.Must(template.New("").Funcs(funcs).ParseFS(sources, "templates/*.html"))

// stamp changes when what is embedded does: browsers keep files under the name that has it.
var stamp = func() string {
	sum := sha256.New()
	for _, name := range []string{"static/app.css", "static/app.js", "static/icon.svg"} {
		data, err := fs.ReadFile(static, name)
		if err != nil {
			panic(err)
		}
		sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil)[:6])
}()

// Stamp is part of the addresses of the style and the icon, "static/app.css?" + Stamp(): for pages beside the dashboard that look like it.
func Stamp() string { return stamp }

// frame is what the outermost template is given.
type frame struct {
	*page
	App, Base, Path, Theme, Stamp, Who string
	SignOut                            string
	Made                               string // when, by the store's clock
	Act                                bool   // actions are shown
	Now                                clock
	Notice                             *notice
	Store                              storeView
	Menu                               []menuEntry
}

type storeView struct{ Engine, Namespace string }

type menuEntry struct {
	Name, Where, Label string
	Here               bool
}

var menu = []menuEntry{
	{Name: "overview", Where: "/", Label: "Overview"},
	{Name: "tasks", Where: "/tasks", Label: "Tasks"},
	{Name: "queues", Where: "/queues", Label: "Queues"},
	{Name: "workers", Where: "/workers", Label: "Workers"},
	{Name: "dead", Where: "/dead", Label: "Dead letter"},
	{Name: "sagas", Where: "/sagas", Label: "Sagas"},
	{Name: "batches", Where: "/batches", Label: "Batches"},
	{Name: "calls", Where: "/calls", Label: "Calls"},
	{Name: "endpoints", Where: "/endpoints", Label: "Endpoints"},
	{Name: "schedules", Where: "/schedules", Label: "Schedules"},
}

func (q *request) frame(p *page) *frame {
	info := q.h.k.Store()
	f := &frame{
		page: p, App: q.h.cfg.Title, Base: q.base, Path: q.here(), Theme: q.theme(), Stamp: stamp, Who: q.h.cfg.Who(q.r), Act: q.may(),
		SignOut: q.h.cfg.SignOut,
		Now:     clock(q.now), Store: storeView{info.Engine, info.Namespace},
	}
	if !q.now.IsZero() {
		f.Made = q.now.UTC().Format(time.RFC3339Nano)
	}
	for _, e := range menu {
		e.Here = e.Name == p.Nav
		f.Menu = append(f.Menu, e)
	}
	return f
}

// here is the address of the page below the prefix, to come back to.
func (q *request) here() string {
	if q.r.URL.RawQuery == "" {
		return "/" + q.where
	}
	return "/" + q.where + "?" + q.r.URL.RawQuery
}

const themeCookie = "outlast-theme"

func (q *request) theme() string {
	if c, err := q.r.Cookie(themeCookie); err == nil && (c.Value == "dark" || c.Value == "light") {
		return c.Value
	}
	return ""
}

// render writes a page, whole or not at all.
func (q *request) render(w http.ResponseWriter, status int, p *page, n *notice) {
	f := q.frame(p)
	f.Notice = n
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, "frame", f); err != nil {
		q.h.cfg.Logger.Error("dashboard page not rendered", "page", p.Name, "err", err)
		http.Error(w, "this page could not be made", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = w.Write(out.Bytes()) // who has gone away needs no answer
	}
}

// body renders what of a page changes.
func (q *request) body(p *page) ([]byte, error) {
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, "body", q.frame(p))
	return out.Bytes(), err
}

// short is the part of an id that people tell tasks apart by: the end, as the beginning is the time.
func short(id kernel.ID) string {
	if id.IsZero() {
		return ""
	}
	text := id.String()
	return text[:8] + "…" + text[len(text)-6:]
}
