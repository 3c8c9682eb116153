package history

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

var errLost = errors.New("no answer")

// faults stands between one client and its store, as the hook of storetest.Wrap. A client makes one call at a time.
type faults struct {
	rand  *rand.Rand
	every int // one call in so many meets something; 0: none does
	once  bool
	twice bool           // the last call was sent twice, and its first answer lost
	stuck []func() error // calls that have not arrived yet
}

// shy are calls that must not be sent twice under one name: their repeat is another call, with Repeat.
var shy = map[string]bool{"Claim": true, "Recover": true}

// around decides what befalls a call.
func (f *faults) around(_ context.Context, op string, do func() error) error {
	f.twice = false
	if len(f.stuck) > 0 && f.rand.IntN(4) == 0 {
		f.arrive()
	}
	if f.every == 0 || f.rand.IntN(f.every) > 0 {
		return do()
	}
	switch f.rand.IntN(6) {
	case 0: // it never arrives
		return errLost
	case 1: // the answer is lost
		_ = do() // nobody is told
		return errLost
	case 2: // it arrives when its caller has given up
		f.stuck = append(f.stuck, do)
		return errLost
	case 3:
		if !shy[op] && !f.once {
			f.twice = true
			_ = do() // nobody is told
		}
		return do()
	case 4:
		pause(time.Duration(f.rand.IntN(2000)) * time.Microsecond)
		return do()
	default:
		err := do()
		pause(time.Duration(f.rand.IntN(2000)) * time.Microsecond)
		return err
	}
}

// arrive lets come what is stuck.
func (f *faults) arrive() {
	for _, do := range f.stuck {
		_ = do() // nobody waits for the answer
	}
	f.stuck = nil
}

// pause waits.
func pause(d time.Duration) { <-time.After(d) }
