// Package workers tries workers that are not written in Go: examples/worker.py and examples/worker.sh against a real daemon, pull and push,
// killed and stopped in the middle. It has tests only.
package workers
