// Package turns shows on each engine, with processes that are killed, that limits, rates and schedules keep their word: never more
// than so many run, never more start than rate and burst allow, no slot leaks, and each tick comes once. An observer outside judges by
// what the processes themselves write down. make turns runs it long.
package turns
