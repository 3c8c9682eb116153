//go:build !race

package storetest

// detectorCost divides the big cases where the race detector makes them slow. It does not here.
const detectorCost = 1
