package rowcall

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/call"
	"github.com/outlast-go/outlast/kernel"
)

// servedName is the operation of rows that carry their recipe: whoever serves it can send them.
const servedName = "rows/http"

// Service sends the requests of batches whose recipe is stored with them, values of headers included. It is for a process that stays, and that any other of its
// kind may stand in for.
type Service struct {
	sender *call.Call

	mu       sync.Mutex
	kitchens map[string]*Kitchen // by recipe
}

// manyKitchens is when those that were read are forgotten.
const manyKitchens = 100

// NewService makes one that sends by a client of its own.
func NewService(cfg call.ClientConfig) (*Service, error) {
	cfg.Name, cfg.Inline = Queue, true
	client, err := call.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	nothing := call.Callback{
		OnComplete: func(context.Context, *call.Response) error { return nil },
		OnError:    func(context.Context, *call.Error) error { return nil },
	}
	return &Service{sender: call.Define("row", nothing, call.Config{Client: client}), kitchens: map[string]*Kitchen{}}, nil
}

// Serve says that this process sends them. It must be called before k.Run, once.
func (s *Service) Serve(k *kernel.Kernel) { s.operation(batch.Config{Queue: Queue}).Serve(k) }

func (s *Service) operation(cfg batch.Config) *api.RowBatch {
	return batch.Define(servedName, batch.Processor[struct{}, json.RawMessage, json.RawMessage]{Row: s.row}, cfg)
}

// Prepare reads a recipe: what is wrong with it is known before anything is stored.
func (s *Service) Prepare(r api.Recipe, cfg batch.Config) (*api.RowBatch, func(json.RawMessage) error, any, error) {
	if r.Attempts == 0 {
		r.Attempts = 5
	}
	if r.Timeout == 0 {
		r.Timeout = time.Minute
	}
	cfg.Queue, cfg.Files, cfg.Timeout = Queue, false, r.Timeout+time.Minute // the request itself ends before
	cfg.Retry = kernel.Retry{Max: r.Attempts, Base: time.Second, Factor: 2, Cap: 5 * time.Minute}
	k, err := s.kitchen(r)
	if err != nil {
		return nil, nil, nil, plain(err)
	}
	rule := func(in json.RawMessage) error {
		row, err := read(in)
		if err != nil {
			return err
		}
		return plain(k.Check(row))
	}
	return s.operation(cfg), rule, r, nil
}

// plain takes away what is only true on a command line.
func plain(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.ReplaceAll(err.Error(), "--", ""))
}

// kitchen reads a recipe, or knows it from before.
func (s *Service) kitchen(r api.Recipe) (*Kitchen, error) {
	key, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.kitchens[string(key)]; k != nil {
		return k, nil
	}
	k, err := Prepare(Recipe{Method: r.Method, URL: r.URL, Body: r.Body, Header: r.Header, Timeout: r.Timeout, Attempts: r.Attempts})
	if err != nil {
		return nil, err
	}
	if len(s.kitchens) >= manyKitchens {
		clear(s.kitchens)
	}
	s.kitchens[string(key)] = k
	return k, nil
}

// row sends the request of a row.
func (s *Service) row(ctx context.Context, _ struct{}, row batch.Row[json.RawMessage]) (res batch.Result[json.RawMessage], err error) {
	var r api.Recipe
	if err := batch.From(ctx).Context(&r); err != nil {
		return res, kernel.Permanent(err)
	}
	k, err := s.kitchen(r)
	if err != nil {
		return res, kernel.Permanent(err)
	}
	got, err := k.send(ctx, s.sender, row)
	if err != nil {
		return res, err
	}
	res.Failed, res.Messages = got.Failed, got.Messages
	res.Out, err = json.Marshal(got.Out)
	return res, err
}

var _ api.Recipes = (*Service)(nil)
