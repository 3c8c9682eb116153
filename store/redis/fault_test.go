package redis_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// Times of the workers of these tests: short, and still long for a busy machine.
const (
	beatEvery = 200 * time.Millisecond
	deadAfter = 3 * time.Second
)

func quickTiming() store.Timing {
	return store.Timing{GoneAfter: time.Second, RecoverEvery: 50 * time.Millisecond}
}

// process is what a worker's process does: it beats, recovers, submits, claims and completes, and repeats what got no answer.
type process struct {
	t      *testing.T
	s      *redis.Store
	worker string

	mu       sync.Mutex
	accepted []store.ID
	done     map[store.ID]int // outcomes that the store accepted
	dead     []store.Worker   // declared by this process
}

func newProcess(t *testing.T, url, worker string) *process {
	t.Helper()
	s, err := redis.Open(t.Context(), url, redis.Config{Timing: quickTiming(), Log: quiet()})
	if err != nil {
		t.Fatalf("Open = %v, want no error", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	p := &process{t: t, s: s, worker: worker, done: map[store.ID]int{}}
	p.again(t.Context(), func(ctx context.Context, _ bool) error {
		return s.Join(ctx, store.JoinRequest{ID: worker, Beat: beatEvery, DeadAfter: deadAfter})
	})
	return p
}

// again repeats a call until it is answered or ctx ends.
func (p *process) again(ctx context.Context, call func(ctx context.Context, repeat bool) error) {
	for repeat := false; ctx.Err() == nil; repeat = true {
		each, cancel := context.WithTimeout(ctx, time.Second)
		err := call(each, repeat)
		cancel()
		switch {
		case err == nil:
			return
		case repeat && errors.Is(err, store.ErrDuplicate): // a Join that was applied, and whose answer was lost
			return
		case store.Answered(err):
			p.t.Errorf("%s: %v, want no error", p.worker, err)
			return
		}
		pause(ctx, 10*time.Millisecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// live beats and looks for the dead until ctx ends.
func (p *process) live(ctx context.Context) {
	for ctx.Err() == nil {
		each, cancel := context.WithTimeout(ctx, beatEvery)
		_, err := p.s.Beat(each, store.BeatRequest{Worker: p.worker, Queues: []string{"default"}, Kinds: []string{"job.welcome"}})
		cancel()
		if store.Answered(err) && !errors.Is(err, store.ErrClosed) {
			p.t.Errorf("Beat of %s = %v: it was robbed", p.worker, err)
			return
		}
		each, cancel = context.WithTimeout(ctx, time.Second)
		res, err := p.s.Recover(each, store.RecoverRequest{Worker: p.worker, Force: true})
		cancel()
		if err == nil {
			p.mu.Lock()
			p.dead = append(p.dead, res.Dead...)
			p.mu.Unlock()
		}
		pause(ctx, beatEvery)
	}
}

// submit stores a few tasks, again and again.
func (p *process) submit(ctx context.Context) {
	for ctx.Err() == nil {
		list := specs(5)
		ok := false
		p.again(ctx, func(ctx context.Context, _ bool) error {
			_, err := p.s.Submit(ctx, store.SubmitRequest{Specs: list})
			ok = err == nil
			return err
		})
		if ok {
			p.mu.Lock()
			for _, s := range list {
				p.accepted = append(p.accepted, s.ID)
			}
			p.mu.Unlock()
		}
		pause(ctx, 2*time.Millisecond)
	}
}

// work claims and completes until ctx ends.
func (p *process) work(ctx context.Context) {
	for ctx.Err() == nil {
		if p.round(ctx) == 0 {
			pause(ctx, 5*time.Millisecond)
		}
	}
}

// round claims some tasks and completes them.
func (p *process) round(ctx context.Context) int {
	req := claimOf(p.worker, 10)
	var tasks []store.Task
	// A call that has begun is brought to its end, also when the test has begun to end: what it has claimed would be nobody's.
	p.again(context.WithoutCancel(ctx), func(ctx context.Context, repeat bool) error {
		req.Repeat = repeat
		res, err := p.s.Claim(ctx, req)
		tasks = res.Tasks
		return err
	})
	var items []store.Completion
	for _, t := range tasks {
		items = append(items, store.Completion{Fence: t.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone, Result: []byte(p.worker)}})
	}
	if len(items) == 0 {
		return 0
	}
	p.again(context.WithoutCancel(ctx), func(ctx context.Context, _ bool) error {
		res, err := p.s.Complete(ctx, store.CompleteRequest{Items: items})
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, c := range res.Items {
			if c.Err == nil {
				p.done[items[i].Fence.ID]++
			}
		}
		return nil
	})
	return len(tasks)
}

// reach waits until the server answers: the first call after a restart may find a connection that is gone.
func reach(t *testing.T, s *redis.Store) {
	t.Helper()
	for range 500 {
		if _, err := s.Now(t.Context()); err == nil {
			return
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	t.Fatal("the server does not answer")
}

// sound checks a store against the invariants.
func sound(t *testing.T, s *redis.Store) {
	t.Helper()
	reach(t, s)
	findings, err := fsck.Check(context.Background(), s)
	if err != nil || len(findings) > 0 {
		t.Errorf("fsck = %v, %v, want nothing", findings, err)
	}
}

// nobody checks that no process declared another one dead.
func nobody(t *testing.T, all []*process) {
	t.Helper()
	for _, p := range all {
		if len(p.dead) > 0 {
			t.Errorf("%s declared %+v dead, and all lived", p.worker, p.dead)
		}
	}
}

// during runs processes under load while do happens, and stops them after it: submitters first.
func during(t *testing.T, all []*process, do func()) {
	t.Helper()
	living, stopLiving := context.WithCancel(t.Context())
	loading, stopLoad := context.WithCancel(t.Context())
	working, stopWork := context.WithCancel(t.Context())
	var life, load, work sync.WaitGroup
	for _, p := range all {
		life.Go(func() { p.live(living) })
		load.Go(func() { p.submit(loading) })
		work.Go(func() { p.work(working) })
	}
	do()
	stopLoad()
	load.Wait()
	stopWork()
	work.Wait()
	stopLiving()
	life.Wait()
}

func fleet(t *testing.T, url string, n int) []*process {
	t.Helper()
	var all []*process
	for i := range n {
		all = append(all, newProcess(t, url, fmt.Sprintf("w:%d", i)))
	}
	return all
}

// What was accepted is there, is done once, and was given out once, though the server was killed again and again. FT-12
func TestAKilledServerLosesNothingWithFsyncAlways(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{Fsync: "always"})
	all := fleet(t, server.URL(), 2)
	during(t, all, func() {
		for range 3 {
			pause(t.Context(), 500*time.Millisecond)
			server.Kill()
			server.Start()
		}
		pause(t.Context(), 500*time.Millisecond)
	})
	accepted := 0
	for _, p := range all {
		for p.round(t.Context()) > 0 {
			continue
		}
		accepted += len(p.accepted)
	}
	for _, p := range all {
		for _, id := range p.accepted {
			got, err := p.s.Get(t.Context(), id)
			if err != nil || got.State != store.Done || got.Epoch != 1 {
				t.Errorf("an accepted task is %q in its claim %d, %v, want done in its first", got.State, got.Epoch, err)
			}
			if n := all[0].done[id] + all[1].done[id]; n != 1 {
				t.Errorf("%d outcomes of one task were accepted, want 1", n)
			}
		}
	}
	if accepted < 100 {
		t.Errorf("only %d tasks were accepted: the load was no load", accepted)
	}
	nobody(t, all)
	sound(t, all[0].s)
}
