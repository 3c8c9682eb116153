package web_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/web"
)

// Whatever can be done is refused where there is only reading, by Authorize, and from another site; and a refusal is told to Audit.
func TestEveryVerbCanBeRefused(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "job.a"})
	var mu sync.Mutex
	told := map[string]error{}
	audit := func(_ context.Context, l web.AuditLine) {
		mu.Lock()
		defer mu.Unlock()
		told[l.Action.Verb] = l.Err
	}
	names, asked := web.Verbs()
	for name, s := range map[string]*site{
		"read-only": open(t, k, web.Config{ReadOnly: true, Audit: audit}),
		"refused": open(t, k, web.Config{Audit: audit, Authorize: func(_ *http.Request, a web.Action) error {
			if a.Verb != web.View {
				return errors.New("no")
			}
			return nil
		}}),
	} {
		clear(told)
		for _, verb := range names {
			if status, _ := s.act("verb", verb, "id", id.String(), "queue", "default", "key", "k", "schedule", "s"); status != http.StatusForbidden {
				t.Errorf("%s: %s = %d, want 403", name, verb, status)
			}
			if told[verb] == nil {
				t.Errorf("%s: that %s was refused is not told to Audit", name, verb)
			}
		}
	}
	s := open(t, k, web.Config{})
	for _, verb := range names {
		form := values("verb", verb, "id", id.String(), "sure", "yes")
		if status, _ := s.do(http.MethodPost, "/do", form, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
			t.Errorf("from another site %s = %d, want 403", verb, status)
		}
		if undone := verb == "resume" || verb == "resume-schedule"; asked[verb] == undone {
			t.Errorf("%s is asked for before: %v; only what takes a pause back is done at once, and can be undone", verb, asked[verb])
		}
	}
	if got := state(t, k, id); got != "ready" {
		t.Errorf("the task is %s, want ready", got)
	}
}

// However much happens, an open page is sent an event per Every at most.
func TestThousandsOfChangesAreSentAsFew(t *testing.T) {
	t.Parallel()
	k := still(t)
	const every = 200 * time.Millisecond
	s := open(t, k, web.Config{Every: every})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/live?page=/tasks", nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var changing sync.WaitGroup
	defer changing.Wait()
	changing.Go(func() {
		for i := range 5000 {
			kind := "job.a"
			if i == 4999 {
				kind = "job.last"
			}
			if _, err := k.Submit(ctx, kernel.Spec{Kind: kind}); err != nil {
				t.Error(err)
				break
			}
		}
	})
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for sent := 0; lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		sent++
		if most := int(time.Since(begun)/every) + 2; sent > most {
			t.Fatalf("%d events came in %v, want %d at most", sent, time.Since(begun), most)
		}
		if strings.Contains(lines.Text(), "job.last") {
			return
		}
	}
	t.Error("the stream ended before the last change had come")
}
