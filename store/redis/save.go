package redis

import (
	"context"

	"github.com/outlast-go/outlast/store"
)

// Save writes what a run wants to keep.
func (s *Store) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	r, err := s.run(ctx, "save", func(o *object) {
		packFence(o.key("fence"), req.Fence)
		if req.Seq > 0 {
			o.int("seq", req.Seq)
		}
		packEntries(o, req.Entries)
		if req.Progress != nil {
			o.key("prog").str(packProgress(req.Progress))
		}
		packIDs(o, "consume", req.Consume)
	})
	return r.str("asked"), err
}

// Load reads checkpoint entries.
func (s *Store) Load(ctx context.Context, id store.ID, names ...string) (map[string][]byte, error) {
	r, err := s.run(ctx, "load", func(o *object) {
		o.key("id").str(string(id[:]))
		p := o.key("names")
		p.array(len(names))
		for _, name := range names {
			p.str(name)
		}
	})
	if err != nil {
		return nil, err
	}
	entries := map[string][]byte{}
	list := r.list("entries")
	for i := 0; i+1 < len(list); i += 2 {
		entries[text(list[i])] = []byte(text(list[i+1]))
	}
	return entries, nil
}
