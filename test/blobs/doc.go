// Package blobs holds stores of blobs on real engines to their suite: blob/instore may not import an engine itself.
package blobs
