package redis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/outlast-go/outlast/store"
)

// schemaVersion is that of the records. A program reads what older ones have written, never what newer ones have.
const schemaVersion = 1

// minMajor is the oldest version: before it scripts have no flags, so a full server could stop one in the middle.
const minMajor = 7

// server is what INFO and CONFIG tell.
type server struct {
	version   string
	aof       bool
	fsync     string // always, everysec, no; empty: it may not be read
	policy    string
	maxmemory string
}

// survives says in plain words what the server promises.
func (v server) survives() string {
	const process = "accepted work survives the end of every process of yours"
	switch {
	case !v.aof:
		return process + "; what the server has not saved when it ends is lost (lossy=1)"
	case v.fsync == "always":
		return process + ", the end of the server and the loss of power (appendfsync always); not a failover to a replica that lags"
	case v.fsync == "everysec":
		return process + " and the end of the server's process; the loss of power or a failover may lose the last second or two (appendfsync everysec)"
	case v.fsync == "no":
		return process + " and the end of the server's process; the loss of power may lose what the system has not written yet, often 30 seconds (appendfsync no)"
	}
	return process + "; what survives the server depends on its appendfsync, which this user may not read"
}

// connect makes the client and sees to it that the server is one to rely on.
func (s *Store) connect(ctx context.Context, a address) error {
	options := a.options
	options.DisableCache, options.ForceSingleClient = true, true
	options.ClientName = "outlast"
	options.ConnWriteTimeout = 10 * time.Second
	// One connection carries the calls of all goroutines: all of them are about one hash slot.
	options.PipelineMultiplex = -1
	// A call that got no answer is repeated by the kernel, under the rules of the contract, and by nobody else.
	options.DisableRetry = true
	client, err := rueidis.NewClient(options)
	if err != nil {
		return fmt.Errorf("open %s: %w", a.masked, meaning(err))
	}
	s.client = client
	if err := s.check(ctx, a); err != nil {
		client.Close()
		return fmt.Errorf("open %s: %w", a.masked, err)
	}
	return nil
}

// meaning adds what to do to the errors of a connection.
func meaning(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "WRONGPASS"):
		return fmt.Errorf("user or password are wrong, or the user is off: %w", err)
	case strings.Contains(text, "NOAUTH"):
		return fmt.Errorf("the server wants a password; write redis://user:password@host: %w", err)
	case strings.Contains(text, "unknown command"):
		return fmt.Errorf("the server is too old, version %d.0 is needed: %w", minMajor, err)
	}
	return err
}

func (s *Store) check(ctx context.Context, a address) error {
	for _, check := range []func(context.Context) error{
		s.readServer,
		func(context.Context) error { return s.checkEviction() },
		func(context.Context) error { return s.checkPersistence(a.lossy) },
		s.checkRights,
		s.checkSchema,
		s.checkEvidence,
	} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// info reads INFO as a map.
func info(ctx context.Context, c doer, section ...string) (map[string]string, error) {
	text, err := c.Do(ctx, c.B().Info().Section(section...).Build()).ToString()
	if err != nil {
		return nil, err
	}
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m, nil
}

func (s *Store) readServer(ctx context.Context) error {
	m, err := info(ctx, s.client, "server", "replication", "memory", "persistence", "cluster")
	if err != nil {
		if e, is := rueidis.IsRedisErr(err); is && strings.HasPrefix(e.Error(), "NOPERM") {
			return fmt.Errorf("%w; %s", err, s.grant())
		}
		return meaning(err)
	}
	version, name := m["redis_version"], "Redis"
	if v := m["valkey_version"]; v != "" {
		version, name = v, "Valkey"
	}
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < minMajor {
		return fmt.Errorf("the server is %s %s, and at least 7.0 is needed", name, version)
	}
	switch {
	case m["role"] != "master":
		return fmt.Errorf("the server is a read-only replica of %s:%s; name the primary, or use redis+sentinel://", m["master_host"], m["master_port"])
	case m["cluster_enabled"] == "1":
		return errors.New("the server is part of a Redis Cluster, which is not supported yet; name a single server, or use redis+sentinel://")
	}
	s.server = server{version: version, aof: m["aof_enabled"] == "1", policy: m["maxmemory_policy"], maxmemory: m["maxmemory"]}
	// Managed servers hide CONFIG; then only the words of Info are less exact.
	if config, err := s.client.Do(ctx, s.client.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap(); err == nil {
		s.server.fsync = config["appendfsync"]
	}
	return nil
}

func (s *Store) checkEviction() error {
	if s.server.policy == "noeviction" {
		return nil
	}
	fix := "redis-cli CONFIG SET maxmemory-policy noeviction"
	if s.server.maxmemory != "0" {
		return fmt.Errorf("the server evicts keys when it is full (maxmemory-policy %s), and accepted work with them; run: %s", s.server.policy, fix)
	}
	s.log.Warn("the server would evict keys if it had a maxmemory; set its policy before it has one", "policy", s.server.policy, "run", fix)
	return nil
}

func (s *Store) checkPersistence(lossy bool) error {
	switch {
	case s.server.aof:
		return nil
	case lossy:
		s.log.Warn("the server writes no append-only file: accepted work is lost when it ends", "run", "redis-cli CONFIG SET appendonly yes")
		return nil
	}
	return errors.New("the server writes no append-only file, so accepted work is lost when it ends; run: redis-cli CONFIG SET appendonly yes " +
		"(and appendfsync always to lose nothing), or say that you may lose it with lossy=1 in the URL")
}

// grant is the line that gives a user what a store needs.
func (s *Store) grant() string {
	user := s.user
	if user == "" {
		user = "default"
	}
	return fmt.Sprintf("an administrator grants what is needed by: ACL SETUSER %s '~%s*' '&%s*' +@read +@write +@scripting +@pubsub +@connection +time +info '+config|get' '+client|list'",
		user, s.prefix, s.prefix)
}

// checkRights tries every command that scripts use, so that no script stops in the middle for want of a right.
func (s *Store) checkRights(ctx context.Context) error {
	answer, err := s.eval(ctx, s.client, "rights", string(pack(func(*object) {})))
	if err != nil {
		return s.explain("check rights", err)
	}
	r, err := unpack(answer[0])
	if err != nil {
		return err
	}
	if refused := r.list("refused"); len(refused) > 0 {
		return fmt.Errorf("the user may not do what is needed: %s; %s", text(refused[0]), s.grant())
	}
	return nil
}

// checkSchema reads which program has written the records, or says that this one does.
func (s *Store) checkSchema(ctx context.Context) error {
	c, key := s.client, s.prefix+keyMeta
	made, err := c.Do(ctx, c.B().Hsetnx().Key(key).Field("schema").Value(strconv.Itoa(schemaVersion)).Build()).AsBool()
	if err != nil {
		return s.explain("mark the namespace", err)
	}
	have, err := c.Do(ctx, c.B().Hget().Key(key).Field("schema").Build()).AsInt64()
	switch {
	case err != nil:
		return s.explain("read the version of the records", err)
	case have > schemaVersion:
		return newer(strconv.FormatInt(have, 10))
	case !made:
		s.found = int(have)
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	if err := c.Do(ctx, c.B().Hsetnx().Key(key).Field("id").Value(hex.EncodeToString(random[:])).Build()).Error(); err != nil {
		return s.explain("mark the namespace", err)
	}
	if s.id, err = c.Do(ctx, c.B().Hget().Key(key).Field("id").Build()).ToString(); err != nil {
		return s.explain("read the ID of the namespace", err)
	}
	return nil
}

// newer says that the records came after this program.
func newer(schema string) error {
	return fmt.Errorf("the records have schema %s, and this version knows up to %d; update this program", schema, schemaVersion)
}

// checkEvidence finds out whether sessions can be seen. If not, silence alone decides who is dead, and it says so.
func (s *Store) checkEvidence(ctx context.Context) error {
	s.evidence = store.EvidenceSession
	c, cancel := s.client.Dedicate()
	defer cancel()
	id, err := c.Do(ctx, c.B().ClientId().Build()).AsInt64()
	if err == nil {
		var here map[int64]bool
		if here, err = connected(ctx, c, []int64{id}); err == nil && !here[id] {
			err = errors.New("the server does not list this connection")
		}
	}
	if err == nil {
		return nil
	}
	if _, is := rueidis.IsRedisErr(err); !is && ctx.Err() != nil {
		return err
	}
	s.evidence = store.EvidenceNone
	s.log.Warn("sessions cannot be seen on this server: a dead worker is found by its silence alone", "err", err, "grant", "+client|list +client|id")
	return nil
}
