package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
)

// ErrFull says that the server has no room: maxmemory is reached, and nothing was written. It is no answer to the call: once
// there is room, the same call works.
var ErrFull = errors.New("the store is full: raise maxmemory, or remove what is no longer needed")

// doer is what runs commands: the client, or the connection of a session.
type doer interface {
	B() rueidis.Builder
	Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult
}

// run runs the function of an operation and reads its answer. What the script refuses is an error.
func (s *Store) run(ctx context.Context, name string, fields func(o *object)) (record, error) {
	return s.runOn(ctx, s.client, name, fields)
}

// read is run for operations that change nothing: one whose connection turns out to be cut is made again on another.
func (s *Store) read(ctx context.Context, name string, fields func(o *object)) (record, error) {
	r, err := s.run(ctx, name, fields)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return s.run(ctx, name, fields)
	}
	return r, err
}

// do is run for operations that answer nothing.
func (s *Store) do(ctx context.Context, name string, fields func(o *object)) error {
	_, err := s.run(ctx, name, fields)
	return err
}

func (s *Store) runOn(ctx context.Context, c doer, name string, fields func(o *object)) (record, error) {
	r, _, err := s.ask(ctx, c, name, fields)
	return r, err
}

// runGiven is run for operations that may claim: what was submitted of the tasks that they give stands beside the answer.
func (s *Store) runGiven(ctx context.Context, name string, fields func(o *object)) (record, []string, error) {
	return s.ask(ctx, s.client, name, fields)
}

func (s *Store) ask(ctx context.Context, c doer, name string, fields func(o *object)) (record, []string, error) {
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	answer, err := s.eval(ctx, c, name, string(pack(fields)))
	if err != nil {
		return nil, nil, s.explain(name, err)
	}
	r, err := unpack(answer[0])
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, answer[1:], refusal(r)
}

// usable says whether a call may begin.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
		return nil
	}
}

// eval runs a function that the server may not have: a new server, one after a failover, or one whose functions were flushed
// gets the library first.
func (s *Store) eval(ctx context.Context, c doer, name, request string) ([]string, error) {
	answer, err := s.fcall(ctx, c, name, request)
	if e, is := rueidis.IsRedisErr(err); is && strings.Contains(e.Error(), "Function not found") {
		if err := load(ctx, c); err != nil {
			return nil, err
		}
		answer, err = s.fcall(ctx, c, name, request)
	}
	return answer, err
}

// fcall returns an answer and what stands beside it.
func (s *Store) fcall(ctx context.Context, c doer, name, request string) ([]string, error) {
	clock := ""
	if s.clock != nil {
		clock = strconv.FormatInt(s.clock().UnixMicro(), 10)
	}
	cmd := c.B().Fcall().Function(functions.prefix+name).Numkeys(1).Key(s.prefix).Arg(clock, request, s.times).Build()
	m, err := c.Do(ctx, cmd).ToMessage()
	if err != nil {
		return nil, err
	}
	if !m.IsArray() {
		text, err := m.ToString()
		return []string{text}, err
	}
	list, err := m.AsStrSlice()
	if err == nil && len(list) == 0 {
		err = errPacked
	}
	return list, err
}

// load gives the server the library. Another process may have been quicker.
func load(ctx context.Context, c doer) error {
	err := c.Do(ctx, c.B().FunctionLoad().FunctionCode(functions.text).Build()).Error()
	if e, is := rueidis.IsRedisErr(err); is && strings.Contains(e.Error(), "already exists") {
		return nil
	}
	return err
}

// explain says what an error of the server means where that is not plain. None of them is an answer to the call.
func (s *Store) explain(name string, err error) error {
	if errors.Is(err, rueidis.ErrClosing) {
		select {
		case <-s.closing:
			return store.ErrClosed
		default:
		}
	}
	e, is := rueidis.IsRedisErr(err)
	if !is {
		return fmt.Errorf("%s: %w", name, err)
	}
	switch text := e.Error(); {
	case strings.HasPrefix(text, "OOM"):
		return fmt.Errorf("%s: %w: %w", name, ErrFull, err)
	case strings.HasPrefix(text, "NOPERM"):
		return fmt.Errorf("%s: %w; %s", name, err, s.grant())
	case strings.HasPrefix(text, "READONLY"):
		return fmt.Errorf("%s: the server is a read-only replica now: %w", name, err)
	default:
		return fmt.Errorf("%s: %w", name, err)
	}
}

// codes are the words by which scripts refuse.
var codes = map[string]error{
	"fenced": store.ErrFenced, "dead": store.ErrDead, "notfound": store.ErrNotFound, "duplicate": store.ErrDuplicate,
	"state": store.ErrState, "changed": store.ErrChanged, "invalid": store.ErrInvalid,
}

// refusal is the error of an answer; nil if it is none.
func refusal(r record) error {
	code := r.str("err")
	if code == "" {
		return nil
	}
	sentinel, ok := codes[code]
	if code == "newer" {
		return newer(r.str("text"))
	}
	if !ok {
		return fmt.Errorf("the answer %q is not known", code)
	}
	switch {
	case r.str("also") != "":
		return fmt.Errorf("%w: %s: %w", codes[r.str("also")], r.str("text"), sentinel)
	case code == "invalid":
		return fmt.Errorf("%w: %s", sentinel, strings.TrimPrefix(r.str("text"), sentinel.Error()+": "))
	}
	return fmt.Errorf("%s: %w", r.str("text"), sentinel)
}

// packTimes writes the times of the protocol for the scripts, and the error of a task whose record cannot be read.
func packTimes(t store.Timing) string {
	us := func(d time.Duration) int64 { return int64(d / time.Microsecond) }
	return string(pack(func(o *object) {
		o.key("horizon").int(us(t.Horizon))
		o.key("goneafter").int(us(t.GoneAfter))
		o.key("recoverevery").int(us(t.RecoverEvery))
		o.key("aged").int(us(t.Aged))
		o.key("stuckgrace").int(us(t.StuckGrace))
		o.key("corrupt").str(corruptError)
	}))
}
