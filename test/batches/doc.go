// Package batches shows what batches do, on each engine: the scenarios that carry over from the system that batches were modelled on, the race of
// the last two rows, and real processes that are killed while they work on rows. What became of the work is judged from outside the store
// as well: workers write what they do into files of their own.
package batches
