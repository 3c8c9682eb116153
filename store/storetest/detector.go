//go:build race

package storetest

// detectorCost divides the big cases where the race detector makes them slow: it looks for races, not for cost.
const detectorCost = 4
