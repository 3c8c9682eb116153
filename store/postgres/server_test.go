package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/postgres"
	"github.com/outlast-go/outlast/test/servers"
)

// victim is the server that these tests kill and cut, one after the other.
var victim struct {
	once sync.Once
	srv  *servers.Postgres
}

// wronged lends it, and a namespace on it.
func wronged(t *testing.T) (srv *servers.Postgres, url string) {
	t.Helper()
	victim.once.Do(func() { victim.srv = servers.StartPostgres(&main) })
	if victim.srv == nil {
		t.Fatal("the server did not start; see the first test that needed it")
	}
	return victim.srv, victim.srv.URL(fmt.Sprintf("namespace=wronged_%d", benchSeq.Add(1)))
}

// after waits.
func after(d time.Duration) { <-time.After(d) }

// A server that is killed and comes back has lost nothing that was accepted, and nothing runs again for it. FT-12
func TestAServerThatIsKilledLosesNothingAndRepeatsNothing(t *testing.T) {
	srv, url := wronged(t)
	l := startLoad(t, url, 3, kernel.Config{}, 30*time.Millisecond)
	var g sync.WaitGroup
	g.Go(func() { l.submit(t.Context(), 300, 15*time.Millisecond) })
	for range 2 {
		after(1500 * time.Millisecond)
		srv.Kill()
		after(500 * time.Millisecond)
		srv.Start(t)
	}
	g.Wait()
	l.finish()
	l.once()
}

// A server that is restarted in order cuts all sessions, and that proves nothing about anybody. FT-09
func TestARestartOfTheServerRobsNobody(t *testing.T) {
	srv, url := wronged(t)
	l := startLoad(t, url, 3, kernel.Config{}, 2*time.Second)
	l.submit(t.Context(), 12, time.Millisecond)
	srv.Restart(t)
	after(4 * time.Second)
	srv.Restart(t)
	l.submit(t.Context(), 12, time.Millisecond)
	l.finish()
	l.once()
}

// Idle sessions that are cut again and again, those that vouch for workers among them, rob nobody. FT-09
func TestCutSessionsRobNobody(t *testing.T) {
	srv, url := wronged(t)
	l := startLoad(t, url, 3, kernel.Config{}, 500*time.Millisecond)
	conn, err := pgx.Connect(t.Context(), srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var g sync.WaitGroup
	g.Go(func() { l.submit(t.Context(), 150, 40*time.Millisecond) })
	cut := 0
	for range 25 {
		var n int
		err := conn.QueryRow(t.Context(), `select count(pg_terminate_backend(pid)) from pg_stat_activity
			where pid <> pg_backend_pid() and backend_type = 'client backend' and state = 'idle'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		cut += n
		after(250 * time.Millisecond)
	}
	g.Wait()
	l.finish()
	l.once()
	if cut < 50 {
		t.Errorf("%d sessions were cut, want many", cut)
	}
}

// After an outage of twice dead-after, with all workers alive, nobody is declared dead and no attempt is spent. FT-09, X-14
func TestAfterALongOutageNobodyIsDeclaredDead(t *testing.T) {
	srv, url := wronged(t)
	cfg := kernel.Config{Beat: 300 * time.Millisecond, DeadAfter: 1500 * time.Millisecond}
	l := startLoad(t, url, 3, cfg, time.Second)
	l.submit(t.Context(), 12, 10*time.Millisecond)
	srv.Stop()
	after(3 * time.Second)
	srv.Start(t)
	after(3 * time.Second)
	l.submit(t.Context(), 12, 10*time.Millisecond)
	l.finish()
	if n := l.seen(kernel.WorkerFenced); n == 0 {
		t.Errorf("events = %v, want workers that cancelled their runs: the store was away", l.events)
	}
}

// The process of a worker ends, and another takes its tasks over, as its session is gone. FT-01
func TestASessionThatIsGoneIsFound(t *testing.T) {
	s, _ := room(t, store.Timing{})
	other, err := postgres.Open(t.Context(), cluster.url, postgres.Config{Namespace: s.Info().Namespace})
	if err != nil {
		t.Fatal(err)
	}
	joinAs(t, s, "by")
	joinAs(t, other, "victim")
	if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: benchSpecs(1)}); err != nil {
		t.Fatal(err)
	}
	task := takeOne(t, other, "victim")
	if _, err := other.Beat(t.Context(), store.BeatRequest{Worker: "victim"}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_ = other.Close()
	for {
		if _, err := s.Beat(t.Context(), store.BeatRequest{Worker: "by"}); err != nil {
			t.Fatal(err)
		}
		res, err := s.Recover(t.Context(), store.RecoverRequest{Worker: "by"})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Tasks) == 1 {
			if r := res.Tasks[0]; r.ID != task.ID || r.Death != store.DeathGone || !r.Crash {
				t.Errorf("Recover = %+v, want the task of the session that is gone", r)
			}
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the session that is gone was not found")
		}
		after(100 * time.Millisecond)
	}
	t.Logf("it took %v", time.Since(begin))
}

// A million tasks go through, and a claim at the end takes at most 1.5 times as long as one at the start. It prints figures. OUTLAST_LONG
// alone runs it whole; the short form beside other tests sees only what grows with the number of tasks. FT-27
func TestAMillionTasksGoThrough(t *testing.T) {
	n, bound := 20_000, 5.0
	if os.Getenv("OUTLAST_LONG") != "" {
		n, bound = 1_000_000, 1.5
	}
	s, name := room(t, store.Timing{})
	joinAs(t, s, "w")
	const chunk = 500
	var first, last []time.Duration
	begin := time.Now()
	for i := 0; i < n; i += chunk {
		if _, err := s.Submit(t.Context(), store.SubmitRequest{Specs: benchSpecs(chunk)}); err != nil {
			t.Fatal(err)
		}
		for range chunk / 100 {
			took := claimTime(t, s)
			switch {
			case i < n/20:
				first = append(first, took)
			case i >= n-n/20:
				last = append(last, took)
			}
		}
		if i%10_000 == 0 {
			if _, err := s.Beat(t.Context(), store.BeatRequest{Worker: "w"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	// What else the machine does differs between the start and the end: an empty namespace at the end tells how much.
	empty, _ := room(t, store.Timing{})
	joinAs(t, empty, "w")
	var fresh []time.Duration
	for range 40 {
		if _, err := empty.Submit(t.Context(), store.SubmitRequest{Specs: benchSpecs(100)}); err != nil {
			t.Fatal(err)
		}
		fresh = append(fresh, claimTime(t, empty))
	}
	from, to, now := quartile(first), quartile(last), quartile(fresh)
	t.Logf("%d tasks in %v; claim of 100 at the start %v, at the end %v, in an empty namespace then %v", n, time.Since(begin).Round(time.Second), from, to, now)
	report(t, s, name)
	if limit := time.Duration(float64(max(from, now)) * bound); to > limit {
		t.Errorf("a claim at the end takes %v, want at most %v", to, limit)
	}
}

// claimTime claims 100 tasks and completes them, and returns how long the claim took.
func claimTime(t *testing.T, s *postgres.Store) time.Duration {
	t.Helper()
	begin := time.Now()
	res, err := s.Claim(t.Context(), store.ClaimRequest{Worker: "w", Nonce: benchID(), Kinds: []string{"k"}, Queues: []store.QueueSlots{{Queue: "q", Slots: 100}}})
	took := time.Since(begin)
	if err != nil || len(res.Tasks) != 100 {
		t.Fatalf("Claim = %d tasks, %v; want 100", len(res.Tasks), err)
	}
	var req store.CompleteRequest
	for _, task := range res.Tasks {
		req.Items = append(req.Items, store.Completion{Fence: task.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}})
	}
	if _, err := s.Complete(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return took
}

// report prints the sizes of tables and indexes.
func report(t *testing.T, s *postgres.Store, name string) {
	t.Helper()
	rows, err := s.Pool().Query(t.Context(), `select relname, pg_table_size(oid), pg_indexes_size(oid) from pg_class
		where relnamespace = $1::regnamespace and relkind = 'r' order by pg_total_relation_size(oid) desc limit 5`, name)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var table string
		var size, indexes int64
		if err := rows.Scan(&table, &size, &indexes); err != nil {
			t.Fatal(err)
		}
		t.Logf("%-8s %8.1f MB, indexes %8.1f MB", table, float64(size)/1e6, float64(indexes)/1e6)
	}
}

// quartile is what the faster quarter takes at most.
func quartile(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/4]
}
