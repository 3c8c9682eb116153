package history

import (
	"context"
	"errors"
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// keep is the life of the heart: it beats, so that silence can be told, and recovers, until the others are done.
func (c *client) keep(ctx context.Context, done <-chan struct{}) {
	for {
		c.beat(ctx)
		c.recover(ctx)
		_, _ = c.st.Promote(ctx, 2) // by chunks as small as can be, so that the others see the work half done
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		default:
			pause(beat / 2)
		}
	}
}

// settle lets come to an end what the store does by and by.
func (c *client) settle(ctx context.Context) error {
	for range room {
		res, err := c.st.Promote(ctx, 0)
		if err != nil {
			return fmt.Errorf("promote: %w", err)
		}
		if !res.More {
			return nil
		}
	}
	return errors.New("promote: there is always more")
}

// look judges the store at rest: it reads every task, takes and ends all that may run, and reads again.
func (c *client) look(ctx context.Context) {
	for _, at := range c.cells {
		c.readAll(ctx, at)
		for range room + 1 {
			if !c.takeAll(ctx, at) {
				break
			}
		}
		c.readAll(ctx, at)
	}
}

func (c *client) readAll(ctx context.Context, at *cell) {
	for i := 1; i <= at.tasks; i++ {
		for _, what := range []op{opGet, opLoad, opMessages} {
			c.one(ctx, what, at, i)
		}
	}
}

// takeAll claims all that may run in a cell, and ends it. It reports whether there was something.
func (c *client) takeAll(ctx context.Context, at *cell) bool {
	in, req := c.request(at, room)
	in.Still, in.Suspects, req.Suspects = true, false, 0
	c.held = nil
	start := c.now()
	res, err := c.st.Claim(ctx, req)
	c.calls++
	c.claimed(at, in, start, res, err)
	for i := range c.held {
		h := &c.held[i]
		done := input{Op: opComplete, Task: h.task, Fence: h.fence, Kind: store.OutcomeDone, Value: c.value()}
		c.call(at, done, func() (answer, error) {
			res, err := c.st.Complete(ctx, store.CompleteRequest{Items: []store.Completion{{
				Fence: h.fence, Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte(done.Value)},
			}}})
			if err != nil {
				return answer{}, err
			}
			return answer{State: res.Items[0].State, Repeated: res.Items[0].Repeated}, res.Items[0].Err
		})
	}
	return len(res.Tasks) > 0
}
