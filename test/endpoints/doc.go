// Package endpoints tries the face for asynchronous HTTP endpoints through real HTTP servers on every engine, and with real
// processes that are killed. It has tests only; engines_test.go is where an engine is added.
package endpoints
