// Package web is the dashboard: one http.Handler over everything that a kernel knows, to look at and to act on. It is mounted in the
// user's own server, under any prefix, beside whatever authentication that server has:
//
//	mux.Handle("/outlast/", web.Handler(k, web.Config{Base: "/outlast"}))
//
// What it promises: pages come from the store alone, so that every process shows the same; no page costs more the more is stored, and where a
// search would, it looks at the newest tasks and offers to look further. Nothing is fetched from elsewhere, no script or style stands
// inside a page, and whatever a task carries is shown as text. Sealed tasks stay sealed unless Config.Reveal says otherwise, and what is
// called a password, a token, a cookie or the like is never shown. Every action is a POST that other sites cannot make, is confirmed, asks
// Config.Authorize and is told to Config.Audit.
//
// What it leaves to others: who somebody is. Without Config.Authorize, whoever reaches the handler may do everything.
//
// Pages are alive by server-sent events: the server looks at most once a second for each open page and sends what has changed. Without
// JavaScript everything works as well, by links and forms.
package web
