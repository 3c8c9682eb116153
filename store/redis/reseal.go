package redis

import (
	"context"

	"github.com/outlast-go/outlast/store"
)

var _ store.Resealer = (*Store)(nil)

// Reseal replaces sealed bytes of one record.
func (s *Store) Reseal(ctx context.Context, req store.ResealRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	return s.do(ctx, "reseal", func(o *object) {
		o.str("task", rawID(req.Task))
		o.str("group", rawID(req.Group))
		o.str("schedule", req.Schedule)
		o.key("version").int(req.Version)
		o.bytes("args", req.Args)
		o.bytes("onend", req.OnEnd)
		o.bytes("result", req.Result)
		o.bytes("detail", req.Detail)
		o.str("note", req.Note)
		packEntries(o, req.Entries)
		inner := o.key("messages").object()
		for id, body := range req.Messages {
			inner.key(string(id[:])).str(string(body))
		}
		inner.close()
	})
}
