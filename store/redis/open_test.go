package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

// refused checks that Open refuses with all of some words, and never with a password.
func refused(t *testing.T, url string, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, err := redis.Open(ctx, url, redis.Config{Log: quiet()})
	if err == nil {
		_ = s.Close()
		t.Errorf("Open was not refused, want an error that says %q", words)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Open = %v, want it to say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "s3cret") {
		t.Errorf("Open = %v, which tells the password", err)
	}
}

func TestABadURLIsRefused(t *testing.T) {
	t.Parallel()
	for url, word := range map[string]string{
		"http://localhost":                     "redis+sentinel://",
		"redis:localhost":                      "must begin with",
		"redis://":                             "names no host",
		"redis://localhost/x":                  "is no number",
		"redis://localhost/-1":                 "is no number",
		"redis://:s3cret@localhost?nosuch=1":   "known are namespace, lossy",
		"redis://:s3cret%zz@localhost":         "not escaped",
		"redis://a:1,b:2":                      "redis+sentinel:// only",
		"redis+sentinel://:s3cret@localhost":   "names no master",
		"redis://localhost?ca=/nosuch":         "needs TLS",
		"rediss://localhost?ca=/nosuch":        "no such file",
		"rediss://localhost?cert=/nosuch":      "belong together",
		"redis://localhost?dial_timeout=never": "dial_timeout",
		"redis://:s3cret@127.0.0.1:1":          "redis://:xxxxx@127.0.0.1:1",
		"redis+sentinel://:s3cret@127.0.0.1:1/m?sentinel_password=s3cret": "connect",
	} {
		refused(t, url, word)
	}
}

func TestABadNamespaceIsRefused(t *testing.T) {
	t.Parallel()
	refused(t, withOptions(servers.SharedRedis(t))+"namespace=a%7Db", "namespace")
}

// FT-31
func TestOpenRefusesWhatItCannotKeepPromisesOn(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{Password: "s3cret"})
	plain := strings.Replace(server.URL(), ":s3cret@", "", 1)
	refused(t, plain, "wants a password")
	refused(t, strings.Replace(server.URL(), "s3cret", "s3cret2", 1), "are wrong")

	server.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	server.Do("CONFIG", "SET", "maxmemory", "100mb")
	refused(t, server.URL(), "evicts", "redis-cli CONFIG SET maxmemory-policy noeviction")
	server.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")

	server.Do("CONFIG", "SET", "appendonly", "no")
	refused(t, server.URL(), "no append-only file", "CONFIG SET appendonly yes", "lossy=1")
	log := &logged{}
	s, err := redis.Open(t.Context(), server.URL("lossy=1"), redis.Config{Log: log.logger()})
	if err != nil {
		t.Fatalf("Open with lossy=1 = %v, want no error", err)
	}
	if log.count("level=WARN") != 1 || log.count("append-only") != 1 || !strings.Contains(s.Info().Survives, "lost") {
		t.Errorf("the log says %q, Info %q, want one warning that work may be lost", log.text(), s.Info().Survives)
	}
	_ = s.Close()
	server.Do("CONFIG", "SET", "appendonly", "yes")

	server.Do("HSET", "outlast:{default}:meta", "schema", "99")
	refused(t, server.URL(), "schema 99", "update this program")
	server.Do("DEL", "outlast:{default}:meta")

	replica := servers.NewRedis(t, servers.RedisConfig{Password: "s3cret", ReplicaOf: server})
	refused(t, replica.URL(), "read-only replica", "name the primary")
}

func TestAnEvictionPolicyWithoutABoundIsWarnedOf(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{Args: []string{"--maxmemory-policy", "allkeys-lru"}})
	log := &logged{}
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if log.count("level=WARN") != 1 || log.count("noeviction") != 1 {
		t.Errorf("the log says %q, want one warning with the command that helps", log.text())
	}
}

// Info says in plain words what each appendfsync promises.
func TestInfoTellsWhatSurvives(t *testing.T) {
	t.Parallel()
	for fsync, word := range map[string]string{"always": "loss of power (appendfsync always)", "everysec": "the last second", "no": "30 seconds"} {
		server := servers.NewRedis(t, servers.RedisConfig{Fsync: fsync})
		s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Info().Survives; !strings.Contains(got, word) {
			t.Errorf("with appendfsync %s Info says %q, want %q", fsync, got, word)
		}
		_ = s.Close()
	}
}

// small is a small life: enough to meet every kind of command.
func small(t *testing.T, s *redis.Store) {
	t.Helper()
	worker := "w:" + newID().String()
	mustJoin(t, s, worker)
	mustSubmit(t, s, specs(3))
	res, err := s.Claim(t.Context(), claimOf(worker, 3))
	if err != nil || len(res.Tasks) != 3 {
		t.Fatalf("Claim = %d tasks, %v, want 3", len(res.Tasks), err)
	}
	for _, task := range res.Tasks {
		mustComplete(t, s, task, nil)
	}
	if _, err := s.Beat(t.Context(), store.BeatRequest{Worker: worker}); err != nil {
		t.Errorf("Beat = %v, want no error", err)
	}
	if _, err := s.Recover(t.Context(), store.RecoverRequest{Worker: worker, Force: true}); err != nil {
		t.Errorf("Recover = %v, want no error", err)
	}
	if _, err := s.Leave(t.Context(), worker); err != nil {
		t.Errorf("Leave = %v, want no error", err)
	}
	sound(t, s)
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{TLS: true, Password: "s3cret"})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	small(t, s)
	refused(t, "rediss://:s3cret@"+server.Addr, "certificate")
	insecure, err := redis.Open(t.Context(), "rediss://:s3cret@"+server.Addr+"?insecure=1", redis.Config{Log: quiet()})
	if err != nil {
		t.Fatalf("Open with insecure=1 = %v, want no error", err)
	}
	_ = insecure.Close()
}

// A user with the rights that the error names can do everything; one without is told before anything is done.
func TestAnACLUserNeedsWhatTheErrorNames(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{})
	url := strings.Replace(server.URL("namespace=shop"), "redis://", "redis://app:s3cret@", 1)
	refused(t, url, "are wrong")
	server.Do("ACL", "SETUSER", "app", "on", ">s3cret", "+@connection")
	refused(t, url, "ACL SETUSER", "~outlast:{shop}:*")
	rights := []string{
		"~outlast:{shop}:*", "&outlast:{shop}:*", "+@read", "+@write", "+@scripting", "+@pubsub", "+@connection", "+time", "+info", "+config|get", "+client|list",
	}
	_, err := redis.Open(t.Context(), url, redis.Config{Log: quiet()})
	for _, right := range rights {
		if err == nil || !strings.Contains(err.Error(), right) {
			t.Errorf("Open = %v, want it to name %s", err, right)
		}
	}
	server.Do(append([]string{"ACL", "SETUSER", "app"}, rights...)...)
	s, err := redis.Open(t.Context(), url, redis.Config{Log: quiet()})
	if err != nil {
		t.Fatalf("Open with those rights = %v, want no error", err)
	}
	defer s.Close()
	if s.Info().Evidence != store.EvidenceSession {
		t.Errorf("Info = evidence %q, want session", s.Info().Evidence)
	}
	small(t, s)
	refused(t, strings.Replace(url, "=shop", "=other", 1), "~outlast:{other}:*")
	server.Do("ACL", "SETUSER", "app", "-zadd")
	refused(t, url, "zadd")
}

func TestASentinelFailoverGoesOn(t *testing.T) {
	primary := servers.NewRedis(t, servers.RedisConfig{Password: "s3cret"})
	replica := servers.NewRedis(t, servers.RedisConfig{Password: "s3cret", ReplicaOf: primary})
	sentinels := servers.NewSentinels(t, 3, primary)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	var s *redis.Store
	for err := errors.New("none yet"); err != nil; pause(ctx, 100*time.Millisecond) {
		if s, err = redis.Open(ctx, sentinels.URL("s3cret"), redis.Config{Timing: quickTiming(), Log: quiet()}); ctx.Err() != nil {
			t.Fatalf("Open = %v, want no error", err)
		}
	}
	defer s.Close()
	p := &process{t: t, s: s, worker: "w:0", done: map[store.ID]int{}}
	mustJoin(t, s, p.worker)
	held := hold(t, []*process{p})
	before := specs(10)
	mustSubmit(t, s, before)
	synced := func() bool {
		return strings.Contains(replica.Do("INFO", "replication"), "master_link_status:up") &&
			field(primary.Do("INFO", "replication"), "master_repl_offset") == field(replica.Do("INFO", "replication"), "slave_repl_offset")
	}
	for !synced() && ctx.Err() == nil {
		pause(ctx, 20*time.Millisecond)
	}
	living, stop := context.WithCancel(ctx)
	wait := background(t, func() { p.live(living) })
	primary.Kill()
	after := specs(10)
	p.again(ctx, func(ctx context.Context, _ bool) error {
		_, err := s.Submit(ctx, store.SubmitRequest{Specs: after})
		return err
	})
	for _, spec := range append(before, after...) {
		if _, err := s.Get(ctx, spec.ID); err != nil {
			t.Errorf("Get after the failover = %v, want no error", err)
		}
	}
	mustComplete(t, s, held[0], nil)
	stop()
	wait()
	nobody(t, []*process{p})
	sound(t, s)
}

func field(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return fmt.Sprintf("no %s", name)
}

// The server may lose the functions: by FUNCTION FLUSH, by a restart without its file, by a failover.
func TestForgottenFunctionsAreLoadedAgain(t *testing.T) {
	t.Parallel()
	server := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), server.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	small(t, s)
	server.Do("FUNCTION", "FLUSH")
	small(t, s)
	server.Stop()
	server.Start()
	reach(t, s)
	small(t, s)
}
