package redis

import (
	"context"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// OpenClock opens a store on a clock of a test's own.
func OpenClock(ctx context.Context, url string, cfg Config, clock func() time.Time) (*Store, error) {
	a, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	return open(ctx, a, cfg, clock)
}

// Corrupt makes the record of a task unreadable, as a foreign hand would.
func (s *Store) Corrupt(ctx context.Context, id store.ID) error {
	return s.client.Do(ctx, s.client.B().Set().Key(s.prefix+keyTask+rawID(id)).Value("\xff").Build()).Error()
}

// Damage spoils what is derived of the records, as a foreign hand would.
func (s *Store) Damage(ctx context.Context, r store.Repair, n int) error {
	nobody := store.DeriveID("nobody")
	key, field := s.prefix+"g:"+rawID(r.Group), "done"
	switch {
	case r.Key != "":
		return s.Do(ctx, "SET", s.prefix+"u:"+r.Kind+"\x00"+r.Key, string(nobody[:]))
	case r.Limit != "":
		key, field = s.prefix+"limit:"+r.Limit, "running"
	}
	const script = `local r = cmsgpack.unpack(redis.call('GET', KEYS[1])) r[ARGV[1]] = r[ARGV[1]] + tonumber(ARGV[2]) return redis.call('SET', KEYS[1], cmsgpack.pack(r))`
	return s.Do(ctx, "EVAL", script, "1", key, field, strconv.Itoa(n))
}

// SessionID is the connection that bears witness for a worker; 0: none does.
func (s *Store) SessionID(ctx context.Context, worker string) (int64, error) {
	raw, err := s.client.Do(ctx, s.client.B().Get().Key(s.prefix+keyWorker+worker).Build()).ToString()
	if err != nil {
		return 0, err
	}
	r, err := unpack(raw)
	return r.int("cid"), err
}

// OwnSession is the connection that bears witness for the workers of this handle; 0: none does.
func (s *Store) OwnSession() int64 {
	if up := s.session.now(); up != nil {
		return up.cid
	}
	return 0
}

// Connected reports whether the server has a connection.
func (s *Store) Connected(ctx context.Context, id int64) (bool, error) {
	here, err := connected(ctx, s.client, []int64{id})
	return here[id], err
}

// Do runs a command.
func (s *Store) Do(ctx context.Context, command ...string) error {
	return s.client.Do(ctx, s.client.B().Arbitrary(command...).Build()).Error()
}

// Clean removes all keys of the namespace.
func (s *Store) Clean(ctx context.Context) error {
	for cursor := uint64(0); ; {
		found, err := s.client.Do(ctx, s.client.B().Scan().Cursor(cursor).Match(s.prefix+"*").Count(2000).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		if len(found.Elements) > 0 {
			if err := s.client.Do(ctx, s.client.B().Unlink().Key(found.Elements...).Build()).Error(); err != nil {
				return err
			}
		}
		if cursor = found.Cursor; cursor == 0 {
			return nil
		}
	}
}

// CorruptWorker makes the record of a worker unreadable.
func (s *Store) CorruptWorker(ctx context.Context, worker string) error {
	return s.client.Do(ctx, s.client.B().Set().Key(s.prefix+keyWorker+worker).Value("\xff").Build()).Error()
}

// Names lists all keys of the server.
func (s *Store) Names(ctx context.Context) ([]string, error) {
	return s.client.Do(ctx, s.client.B().Keys().Pattern("*").Build()).AsStrSlice()
}

// Documented reads the kinds of keys that the table in keys.go names.
func Documented(t interface{ Fatal(args ...any) }) map[string]bool {
	source, err := os.ReadFile("keys.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^//\t(\S.{25})`).FindAllStringSubmatch(string(source), -1) {
		for _, name := range strings.FieldsFunc(row[1], func(r rune) bool { return r == ',' || r == ' ' }) {
			kind, _, _ := strings.Cut(name, ":")
			kinds[kind] = true
		}
	}
	return kinds
}
