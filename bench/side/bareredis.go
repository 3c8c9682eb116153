package side

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/bench/part"
)

// bareRedis is Redis with a list, a hash per task and no promises: a script of two commands stores a task, one claims it, one
// completes it, pipelined, a hundred at a time.
type bareRedis struct {
	client rueidis.Client
	ids    atomic.Int64
}

var (
	bareStore = rueidis.NewLuaScript(`redis.call("HSET", KEYS[1], "msg", ARGV[1], "state", "pending"); redis.call("LPUSH", KEYS[2], ARGV[2]); return 1`)
	bareTake  = rueidis.NewLuaScript(`local m = redis.call("RPOPLPUSH", KEYS[1], KEYS[2]); if m then redis.call("HSET", KEYS[3] .. m, "state", "active") end; return m`)
	bareEnd   = rueidis.NewLuaScript(`redis.call("RPOP", KEYS[1]); redis.call("HSET", KEYS[2], "state", "done"); return 1`)
)

func openBareRedis(_ context.Context, o part.Order) (part.Queue, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{u.Host}, DisableCache: true, ForceSingleClient: true, PipelineMultiplex: -1})
	if err != nil {
		return nil, err
	}
	return &bareRedis{client: c}, nil
}

func (s *bareRedis) store() rueidis.LuaExec {
	id := strconv.FormatInt(s.ids.Add(1), 10)
	return rueidis.LuaExec{Keys: []string{"t:" + id, "q"}, Args: []string{string(bareArgs), id}}
}

func (s *bareRedis) Submit(ctx context.Context, _ int64) error {
	one := s.store()
	return bareStore.Exec(ctx, s.client, one.Keys, one.Args).Error()
}

func (s *bareRedis) SubmitMany(ctx context.Context, n int) error {
	list := make([]rueidis.LuaExec, n)
	for i := range list {
		list[i] = s.store()
	}
	return first(bareStore.ExecMulti(ctx, s.client, list...))
}

func first(answers []rueidis.RedisResult) error {
	for _, a := range answers {
		if err := a.Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return nil
}

func (s *bareRedis) Work(ctx context.Context, run func(context.Context, int64)) error {
	always := context.WithoutCancel(ctx)
	takes := make([]rueidis.LuaExec, 100)
	for i := range takes {
		takes[i].Keys = []string{"q", "active", "t:"}
	}
	for ctx.Err() == nil {
		var ends []rueidis.LuaExec
		for _, a := range bareTake.ExecMulti(always, s.client, takes...) {
			id, err := a.ToString()
			if rueidis.IsRedisNil(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("claim: %w", err)
			}
			run(ctx, 0)
			ends = append(ends, rueidis.LuaExec{Keys: []string{"active", "t:" + id}})
		}
		if err := first(bareEnd.ExecMulti(always, s.client, ends...)); err != nil {
			return fmt.Errorf("complete: %w", err)
		}
	}
	return nil
}

func (s *bareRedis) Close() error {
	s.client.Close()
	return nil
}
