// Package web tries the dashboard in a real browser: Chromium, driven through its own protocol. Every page is opened on a store with a
// hundred thousand tasks in it, in light and dark, wide and narrow; what people do is done by clicks and by keys; and whatever a task can
// carry is filled with what would be a script if anything took it for one.
package web
