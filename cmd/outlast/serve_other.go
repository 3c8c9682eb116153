//go:build !unix

package main

// onQuiet has no signal to wait for here.
func onQuiet(func()) (stop func()) { return func() {} }
