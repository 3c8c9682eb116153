package crash

import (
	"context"
	"time"
)

// How closely a canary looks, and what it takes for starvation.
const (
	canaryEvery = 50 * time.Millisecond
	canaryLimit = 300 * time.Millisecond
)

// starved tells when this process did not get to run though it wanted to: a tick that comes much too late is the machine's doing.
func starved(ctx context.Context, tell func(d time.Duration)) {
	tick := time.NewTicker(canaryEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := time.Now()
			if d := now.Sub(last); d > canaryLimit {
				tell(d)
			}
			last = now
		}
	}
}

// pause writes down that this process was starved.
func (j *journal) pause(d time.Duration) { j.write(line{kind: linePaused, epoch: int64(d)}) }
