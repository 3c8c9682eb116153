package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// lookAgain is how often a stream looks without having been told: notices may be lost.
const lookAgain = time.Minute

// events tells each change of a task as it comes: "status" when status or attempt changed, "progress" otherwise, with the version as
// id. Who comes back with Last-Event-ID is told what is newer; what came in between and is over is not told again. It ends with the
// task; 204 tells who comes back after that to stay away.
func (h *StatusHandler) events(ctx context.Context, a asked) *Problem {
	follower := h.k.Follow(a.id)
	defer follower.Close()
	s := stream{h: h, a: a, last: -1}
	if id, err := strconv.ParseInt(a.r.Header.Get("Last-Event-ID"), 10, 64); err == nil {
		s.last = id
	}
	t, err := s.get(ctx)
	switch {
	case err != nil:
		return h.site.unread(err, a.id, a.principal)
	case ended(&t) && t.Version <= s.last:
		a.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	a.w.Header().Set("Content-Type", "text/event-stream")
	a.w.Header().Set("Cache-Control", "no-store")
	a.w.Header().Set("X-Accel-Buffering", "no") // proxies that gather would hold events back
	a.w.WriteHeader(http.StatusOK)
	s.write([]byte("retry: 2000\n\n"))
	looked := time.Now()
	for s.tell(&t) {
		if !follower.Wait(ctx, h.site.Heartbeat) {
			if ctx.Err() != nil || !s.write([]byte(": still here\n\n")) {
				return nil
			}
			if time.Since(looked) < lookAgain {
				continue
			}
		}
		looked = time.Now()
		if t, err = s.get(ctx); err != nil {
			s.gone(err)
			return nil
		}
	}
	return nil
}

// stream is one client that listens.
type stream struct {
	h    *StatusHandler
	a    asked
	last int64 // version told
	seen Document
}

func (s *stream) get(ctx context.Context) (kernel.Task, error) {
	return s.h.site.get(ctx, s.h.k, &wish{id: s.a.id, mine: mine(s.a.principal)})
}

// tell sends a task if it has changed, and reports whether there is more to come.
func (s *stream) tell(t *kernel.Task) bool {
	if t.Version <= s.last {
		return !ended(t)
	}
	d := s.h.site.document(t)
	name := "progress"
	if d.Status != s.seen.Status || d.Attempt != s.seen.Attempt {
		name = "status"
	}
	s.last, s.seen = t.Version, d
	data, err := json.Marshal(d)
	if err != nil {
		return false // of our own making; it cannot be told
	}
	return s.write(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", t.Version, name, data)) && !ended(t)
}

// gone tells why there is nothing more to come. The client looks for itself.
func (s *stream) gone(err error) {
	if errors.Is(err, kernel.ErrNotFound) {
		s.write([]byte("event: gone\ndata: {}\n\n"))
	}
}

// write sends what is given at once, and reports whether the client is there.
func (s *stream) write(text []byte) bool {
	extend(s.a.w, 2*s.h.site.Heartbeat+10*time.Second)
	_, err := s.a.w.Write(text)
	return err == nil && http.NewResponseController(s.a.w).Flush() == nil
}
