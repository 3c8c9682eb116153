package redis

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/store"
)

// seen is what the server says of the sessions of others.
type seen struct {
	gated bool // a pass now would not be let through
	runID string
	gone  map[string]int64
	here  map[string]int64
}

// Recover declares the dead and puts a chunk of their tasks back. It runs on the session of this handle: what it sees of other
// sessions it sees on the server that its own stands on, and a pass that cannot bear witness declares nobody by it.
func (s *Store) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	if err := s.usable(ctx); err != nil {
		return store.RecoverResult{}, err
	}
	var conn doer = s.client
	var saw seen
	if up := s.session.soon(ctx); up != nil && up.cid != 0 {
		if found, err := s.look(ctx, up, &req); err == nil {
			if found.gated {
				return store.RecoverResult{Gated: true}, nil
			}
			found.here[req.Worker] = up.cid // this very step shows it
			conn, saw = up.conn, found
		}
	}
	r, err := s.runOn(ctx, conn, "recover", func(o *object) {
		o.key("worker").str(req.Worker)
		o.key("limit").int(bounded(req.Limit, 100))
		o.bool("force", req.Force)
		o.bool("evidence", s.evidence != store.EvidenceNone)
		o.key("run").str(saw.runID)
		packSessions(o, "gone", saw.gone)
		packSessions(o, "here", saw.here)
		packErrors(o)
	})
	if err != nil {
		return store.RecoverResult{}, err
	}
	return store.RecoverResult{
		Gated: r.bool("gated"), Dead: readWorkers(r.list("dead")), Tasks: readRecovered(r.list("tasks")), Buried: int(r.int("buried")),
		More: r.bool("more"), Next: span(r["next"]),
	}, nil
}

// look asks the server which of the sessions of the living it still has.
func (s *Store) look(ctx context.Context, up *line, req *store.RecoverRequest) (seen, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	saw := seen{runID: up.runID, gone: map[string]int64{}, here: map[string]int64{}}
	r, err := s.runOn(ctx, up.conn, "witness", func(o *object) {
		o.key("worker").str(req.Worker)
		o.bool("force", req.Force)
		up.named(o)
	})
	if err != nil {
		return saw, err
	}
	if saw.gated = r.bool("gated"); saw.gated {
		return saw, nil
	}
	list := r.list("list")
	if len(list) == 0 {
		return saw, nil
	}
	var ids []int64
	for i := 1; i < len(list); i += 2 {
		ids = append(ids, whole(list[i]))
	}
	here, err := connected(ctx, up.conn, ids)
	if err != nil {
		return saw, err
	}
	for i := 0; i+1 < len(list); i += 2 {
		worker, cid := text(list[i]), whole(list[i+1])
		if here[cid] {
			saw.here[worker] = cid
		} else {
			saw.gone[worker] = cid
		}
	}
	return saw, nil
}

// lookTimeout bounds how long a pass waits for what its session can see.
const lookTimeout = 2 * time.Second

func packSessions(o *object, name string, sessions map[string]int64) {
	inner := o.key(name).object()
	for worker, cid := range sessions {
		inner.key(worker).int(cid)
	}
	inner.close()
}

func readRecovered(list []any) []store.Recovered {
	var tasks []store.Recovered
	for _, v := range list {
		r, _ := v.(record)
		tasks = append(tasks, store.Recovered{
			ID: idOf(r["id"]), Kind: r.str("kind"), Queue: r.str("queue"), Worker: r.str("worker"), Death: store.Death(r.str("death")),
			Crash: r.bool("crash"), State: store.State(r.str("state")), Reason: r.str("reason"), Settled: r.bool("settled"),
		})
	}
	return tasks
}
