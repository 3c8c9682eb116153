//go:build !unix

package main

// limits are not known here.
func (c *chart) limits() {}

// freeDisk is not known here.
func freeDisk(string) (uint64, bool) { return 0, false }
