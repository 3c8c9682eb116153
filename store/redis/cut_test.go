package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// Connections that are cut show nothing about those who had them. FT-09
func TestCutConnectionsRobNobody(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{Args: []string{"--timeout", "1"}})
	all := fleet(t, server.URL(), 3)
	held := hold(t, all)
	during(t, all, func() {
		for range 8 {
			server.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			pause(t.Context(), 250*time.Millisecond)
			server.Do("CLIENT", "KILL", "TYPE", "pubsub")
			pause(t.Context(), 250*time.Millisecond)
		}
	})
	nobody(t, all)
	for i, task := range held {
		mustComplete(t, all[i].s, task, nil)
	}
	sound(t, all[0].s)
}

// Idle sessions that the server itself cuts are opened again.
func TestAServerThatCutsTheIdleRobsNobody(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{Args: []string{"--timeout", "1"}})
	all := fleet(t, server.URL(), 2)
	held := hold(t, all)
	living, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{}, len(all))
	for _, p := range all {
		wait := background(t, func() { p.live(living); done <- struct{}{} })
		defer wait()
	}
	pause(t.Context(), deadAfter+time.Second)
	stop()
	for range all {
		<-done
	}
	nobody(t, all)
	for i, task := range held {
		mustComplete(t, all[i].s, task, nil)
	}
}

// hold gives each process one task that it runs all the while.
func hold(t *testing.T, all []*process) []store.Task {
	t.Helper()
	var held []store.Task
	for _, p := range all {
		mustSubmit(t, p.s, specs(1))
		res, err := p.s.Claim(t.Context(), claimOf(p.worker, 1))
		if err != nil || len(res.Tasks) != 1 {
			t.Fatalf("Claim = %d tasks, %v, want one", len(res.Tasks), err)
		}
		held = append(held, res.Tasks...)
	}
	return held
}

// After an outage of twice dead-after all go on with what they hold: nobody is declared dead, no claim is given twice.
func TestAfterALongOutageNobodyIsDead(t *testing.T) {
	for name, outage := range map[string]struct{ begin, end func(*servers.Redis) }{
		"frozen":    {(*servers.Redis).Freeze, (*servers.Redis).Thaw},
		"restarted": {(*servers.Redis).Kill, (*servers.Redis).Start},
	} {
		t.Run(name, func(t *testing.T) {
			server := servers.NewRedis(t, servers.RedisConfig{Fsync: "always"})
			all := fleet(t, server.URL(), 2)
			held := hold(t, all)
			during(t, all, func() {
				pause(t.Context(), time.Second)
				outage.begin(server)
				pause(t.Context(), 2*deadAfter)
				outage.end(server)
				pause(t.Context(), deadAfter+time.Second)
			})
			nobody(t, all)
			for i, task := range held {
				got, err := all[i].s.Get(t.Context(), task.ID)
				if err != nil || got.Epoch != 1 || got.Attempts != 0 || got.Crashes != 0 {
					t.Errorf("Get = epoch %d, %d attempts, %d crashes, %v, want its first and only claim", got.Epoch, got.Attempts, got.Crashes, err)
				}
				mustComplete(t, all[i].s, task, nil)
			}
			sound(t, all[0].s)
		})
	}
}

// A worker that is killed is found by its session, and its work goes on elsewhere, long before dead-after.
func TestADeadProcessIsFoundByItsSession(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{})
	all := fleet(t, server.URL(), 2)
	living, stop := context.WithCancel(t.Context())
	var waits []func()
	for _, p := range all[:1] {
		waits = append(waits, background(t, func() { p.live(living) }))
	}
	victim := all[1]
	held := hold(t, all[1:])
	pause(t.Context(), 3*beatEvery)
	if _, err := victim.s.Beat(t.Context(), store.BeatRequest{Worker: victim.worker}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_ = victim.s.Close()
	for {
		got, err := all[0].s.Get(t.Context(), held[0].ID)
		if err == nil && got.State == store.Ready {
			break
		}
		if time.Since(begin) > deadAfter {
			t.Fatalf("after %v the task is %q, %v, want ready", time.Since(begin), got.State, err)
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	t.Logf("found after %v", time.Since(begin))
	stop()
	for _, wait := range waits {
		wait()
	}
	if len(all[0].dead) != 1 || all[0].dead[0].Death != store.DeathGone {
		t.Errorf("declared %+v, want one gone", all[0].dead)
	}
}

// A user that may not list connections has workers all the same; silence decides.
func TestWithoutTheRightToSeeSessionsSilenceDecides(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{})
	server.Do("ACL", "SETUSER", "blind", "on", ">secret", "~*", "&*", "+@all", "-client|list")
	log := &logged{}
	url := strings.Replace(server.URL(), "redis://", "redis://blind:secret@", 1)
	s, err := redis.Open(t.Context(), url, redis.Config{Log: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Info().Evidence; got != store.EvidenceNone || log.count("silence") != 1 {
		t.Errorf("Info = evidence %q, and the log says %q, want none, said once", got, log.text())
	}
	mustJoin(t, s, "w")
	res, err := s.Beat(t.Context(), store.BeatRequest{Worker: "w"})
	if err != nil || res.Evidence != store.EvidenceNone {
		t.Errorf("Beat = evidence %q, %v, want none", res.Evidence, err)
	}
	if _, err := s.Recover(t.Context(), store.RecoverRequest{Worker: "w", Force: true}); err != nil {
		t.Errorf("Recover = %v, want no error", err)
	}
}

// An outage is told once when it begins and once when it ends.
func TestAnOutageIsLoggedOnce(t *testing.T) {
	server := servers.NewRedis(t, servers.RedisConfig{})
	log := &logged{}
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustJoin(t, s, "w")
	server.Kill()
	pause(t.Context(), 3*time.Second)
	server.Start()
	for range 500 {
		if log.count("is back") > 0 {
			break
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	if log.count("was lost") != 1 || log.count("is back") != 1 {
		t.Errorf("the log says %q, want once that the session was lost and once that it is back", log.text())
	}
}
