package redis_test

import (
	"os"
	"fmt"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/redis"
	"github.com/outlast-go/outlast/test/servers"
)

func TestProf(t *testing.T) {
	srv := servers.NewRedis(t, servers.RedisConfig{})
	s, err := redis.Open(t.Context(), srv.URL(), redis.Config{Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustJoin(t, s, "w")
	mustSubmit(t, s, specs(100))
	for _, phase := range []string{"submit", "claim", "complete"} {
		if os.Getenv("PERF") != "" {
			break
		}
		srv.Do("CONFIG", "RESETSTAT")
		begin := time.Now()
		var req store.CompleteRequest
		switch phase {
		case "submit":
			for range 10 {
				mustSubmit(t, s, specs(100))
			}
		case "claim":
			for range 10 {
				if _, err := s.Claim(t.Context(), claimOf("w", 100)); err != nil {
					t.Fatal(err)
				}
			}
		case "complete":
			held, _ := s.Holds(t.Context(), "w")
			for i, h := range held {
				req.Items = append(req.Items, store.Completion{Fence: h.Fence, Outcome: store.Outcome{Kind: store.OutcomeDone}})
				if i%100 == 99 {
					if _, err := s.Complete(t.Context(), req); err != nil {
						t.Fatal(err)
					}
					req.Items = nil
				}
			}
		}
		fmt.Println("== ", phase, time.Since(begin)/1000, "per task")
		fmt.Println(srv.Do("INFO", "commandstats"))
	}
	if os.Getenv("PERF") == "" {
		return
	}
	for begin := time.Now(); time.Since(begin) < 15*time.Second; {
		mustSubmit(t, s, specs(100))
		res, err := s.Claim(t.Context(), claimOf("w", 100))
		if err != nil {
			t.Fatal(err)
		}
		var req store.CompleteRequest
		for _, t := range res.Tasks {
			req.Items = append(req.Items, store.Completion{Fence: t.Fence(), Outcome: store.Outcome{Kind: store.OutcomeDone}})
		}
		if _, err := s.Complete(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
}
