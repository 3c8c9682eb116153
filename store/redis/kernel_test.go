package redis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// startKernel runs a kernel on a handle of its own until the function it returns is called. Silence alone does not tell of a death there.
func startKernel(t *testing.T, url string, handle kernel.Handler) (*kernel.Kernel, *redis.Store, func()) {
	t.Helper()
	s, err := redis.Open(t.Context(), url, redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.New(s, kernel.Config{Logger: quiet(), ShutdownTimeout: -1, DeadAfter: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	k.Handle("job.welcome", handle)
	ctx, cancel := context.WithCancel(context.Background())
	wait := background(t, func() { _ = k.Run(ctx) })
	stop := func() {
		cancel()
		wait()
		_ = s.Close()
	}
	t.Cleanup(stop)
	return k, s, stop
}

// Work is begun when it comes, not with the next beat, and that of a dead process goes on elsewhere, long before its silence would
// tell of it, without an attempt. It prints how long that took; `make crash` judges the time. FT-02
func TestTheKernelGoesOnAfterADeath(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{Fsync: "always"})
	started := make(chan string, 100)
	work := func(name string) kernel.Handler {
		return func(ctx context.Context, run *kernel.Run) (kernel.Outcome, error) {
			started <- name
			if string(run.Task().Args) == "long" && name == "victim" {
				<-ctx.Done()
				return kernel.Outcome{}, ctx.Err()
			}
			return kernel.Outcome{}, nil
		}
	}
	heir, _, _ := startKernel(t, server.URL(), work("heir"))
	swift(t, heir)
	victim, dying, _ := startKernel(t, server.URL(), work("victim"))
	var ids []kernel.ID
	for range 20 {
		sub, err := victim.Submit(t.Context(), kernel.Spec{Kind: "job.welcome", Args: []byte("long")})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, sub.ID)
	}
	pause(t.Context(), 2500*time.Millisecond) // so that both have beaten
	_ = dying.Close()
	begin := time.Now()
	crashed := 0
	for _, id := range ids {
		task, err := heir.Wait(t.Context(), id)
		if err != nil || task.State != store.Done || task.Attempts != 0 {
			t.Errorf("Wait = %q after %d attempts, %v, want done after none", task.State, task.Attempts, err)
		}
		crashed += task.Crashes
	}
	t.Logf("%d tasks of the dead process went on, all within %v", crashed, time.Since(begin))
	if crashed == 0 {
		t.Error("no task was taken over, want some")
	}
}

// swift checks that a task is begun at once, not with the next beat.
func swift(t *testing.T, k *kernel.Kernel) {
	t.Helper()
	pause(t.Context(), 300*time.Millisecond)
	best := time.Hour
	for i := range 5 {
		begin := time.Now()
		sub, err := k.Submit(t.Context(), kernel.Spec{Kind: "job.welcome", Args: fmt.Append(nil, i)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Wait(t.Context(), sub.ID); err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(begin))
	}
	t.Logf("from submit to done in %v", best)
	if best > 500*time.Millisecond {
		t.Errorf("from submit to done in %v at best, want it begun at once", best)
	}
}
