//go:build !unix

package part

import "time"

// OwnCPU cannot be told here.
func OwnCPU() time.Duration { return 0 }
