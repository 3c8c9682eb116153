package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

// AE-016: every allowed change of state is in the table, every other is not; staying is allowed.
func TestTheTableOfStates(t *testing.T) {
	t.Parallel()
	states := []State{Queued, Scheduled, InProgress, Completed, Failed, Canceled}
	want := map[State]string{
		Queued: "YYYYYY", Scheduled: "YYY-YY", InProgress: "YYYYYY", Completed: "---Y--", Failed: "YY--Y-", Canceled: "YY---Y",
	}
	for i, from := range states {
		if int(from) != 100*(i+1) {
			t.Errorf("%s is %d, want %d: clients store the numbers", from, from, 100*(i+1))
		}
		got := ""
		for _, to := range states {
			got += map[bool]string{true: "Y", false: "-"}[from.Next(to)]
		}
		if got != want[from] {
			t.Errorf("from %s: %s, want %s", from, got, want[from])
		}
		if from.Ended() != (i > 2) {
			t.Errorf("%s.Ended() = %v", from, from.Ended())
		}
		var read State
		if text, err := from.MarshalText(); err != nil || read.UnmarshalText(text) != nil || read != from {
			t.Errorf("%s does not survive its word %s, %v", from, text, err)
		}
	}
	if State(7).Next(State(7)) || Queued.Next(State(7)) || State(7).String() != "State(7)" {
		t.Error("a state that there is not has a next one, or a name")
	}
	if _, err := State(7).MarshalText(); err == nil || new(State).UnmarshalText([]byte("odd")) == nil {
		t.Error("a state that there is not has a word")
	}
}

// Every state of the kernel has one of ours, and every step of the kernel is in our table.
func TestEveryStepOfTheKernelIsInTheTable(t *testing.T) {
	t.Parallel()
	kernelSteps := map[store.State][]store.State{
		store.Scheduled: {store.Ready, store.Cancelled, store.Failed},
		store.Ready:     {store.Running, store.Cancelled, store.Failed},
		store.Running:   {store.Ready, store.Scheduled, store.Ending, store.Parked, store.Held, store.Done, store.Failed, store.Cancelled},
		store.Ending:    {store.Done, store.Failed, store.Cancelled, store.Scheduled, store.Ready},
		store.Parked:    {store.Ready, store.Cancelled, store.Failed},
		store.Held:      {store.Ready, store.Scheduled, store.Cancelled, store.Failed},
		store.Failed:    {store.Ready},
		store.Cancelled: {store.Ready},
		store.Done:      {},
	}
	for from, all := range kernelSteps {
		for _, to := range all {
			if !wire[from].Next(wire[to]) {
				t.Errorf("the kernel goes from %s to %s, and the table has no step from %s to %s", from, to, wire[from], wire[to])
			}
		}
	}
	if len(kernelSteps) != len(wire) {
		t.Errorf("%d states are mapped, want %d", len(wire), len(kernelSteps))
	}
}

func TestDefineAndHandlerRefuseWhatCannotWork(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	fn := func(context.Context, Request[None]) (None, error) { return None{}, nil }
	fine := Define("fine", fn)
	for want, do := range map[string]func(){
		"the name is empty":       func() { Define("", fn) },
		"the function is nil":     func() { Define[None, None]("x", nil) },
		"use ASCII letters":       func() { Define("a b", fn) },
		"FullStatus is 500":       func() { fine.Handler(k, Config{FullStatus: 500}) },
		"MaxWaiting is -1":        func() { fine.Handler(k, Config{MaxWaiting: -1}) },
		"MaxBody is -1":           func() { fine.Handler(k, Config{MaxBody: -1}) },
		"Queue":                   func() { fine.Handler(k, Config{Queue: "a b"}) },
		"StartBy is -1s":          func() { fine.Handler(k, Config{StartBy: -time.Second}) },
		"Retry.Base is -2s":       func() { fine.Handler(k, Config{RetryBase: -time.Second}) },
		"has a handler already":   func() { fine.Serve(k); fine.Serve(k) },
		"nothing is wrong (this)": func() { panic("nothing is wrong (this)") },
	} {
		text := func() (text string) {
			defer func() { text = fmt.Sprint(recover()) }()
			do()
			return ""
		}()
		if !strings.Contains(text, want) {
			t.Errorf("panic %q, want %q", text, want)
		}
	}
}

func TestAnIDTellsWhoseItWas(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	seen, wrong := map[kernel.ID]bool{}, 0
	for range 2000 {
		id := newID(k, "ann")
		if !issued(id, "ann") || seen[id] || id[6]>>4 != 7 || id[8]>>6 != 2 {
			t.Fatalf("%s is not a fresh UUIDv7 of ann's", id)
		}
		seen[id] = true
		if issued(id, "bob") {
			wrong++
		}
		if issued(k.NewID(), "ann") {
			wrong++
		}
	}
	if wrong > 5 {
		t.Errorf("%d of 4000 ids that were never given to somebody say so, want nearly none", wrong)
	}
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                                    "false false 0s ",
		"respond-async":                       "true false 0s respond-async",
		"respond-async, wait=10":              "true true 10s respond-async, wait=10",
		"WAIT=5; x=y, Respond-Async":          "true true 5s wait=5, respond-async",
		`wait="7", wait=9`:                    "false true 7s wait=7",
		"wait=x, wait=-1, handling=lenient":   "false false 0s ",
		"wait=99999999999999999999, wait=  3": "false true 3s wait=3",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Prefer", header)
		p := preferences(r)
		if got := fmt.Sprint(p.async, p.waits, p.wait, " ") + strings.Join(p.applied, ", "); strings.ReplaceAll(got, "  ", " ") != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

func TestAProblemSurvivesJSON(t *testing.T) {
	t.Parallel()
	p := &Problem{Type: "https://x/y", Title: "T", Status: 409, Detail: "D", Instance: "/i", Code: "c", More: map[string]any{"seat": "4A"}}
	text, err := json.Marshal(p)
	var back Problem
	if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(&back, p) {
		t.Errorf("%s (%v) reads as %+v, want %+v", text, err, back, p)
	}
	if text, _ := json.Marshal(&Problem{}); string(text) != `{"status":500,"title":"Internal Server Error","type":"about:blank"}` {
		t.Errorf("the zero Problem is %s", text)
	}
	if (&Problem{Detail: "D"}).Error() != "D" || (&Problem{Status: 404}).Error() != "Not Found" {
		t.Error("the text of a problem is not its detail, or its title")
	}
	w := httptest.NewRecorder()
	writeProblem(w, nil, &Problem{Status: 400, Detail: "D", More: map[string]any{"bad": func() {}}})
	if w.Code != 400 || !strings.Contains(w.Body.String(), `"detail":"D"`) {
		t.Errorf("a problem with a member that is no JSON is %d %s", w.Code, w.Body)
	}
}

// AE-050: the options of other systems give our settings; AE-001: their defaults are theirs.
func TestRecoveryOptionsAreMapped(t *testing.T) {
	t.Parallel()
	if got := (Recovery{}).Kernel(kernel.Config{Beat: 7}); got.RecoverEvery != 0 || got.Beat != 7 {
		t.Errorf("the zero Recovery makes %+v", got)
	}
	if (Recovery{CheckInterval: 5 * time.Minute}).Kernel(kernel.Config{}).RecoverEvery != 5*time.Minute {
		t.Error("CheckInterval has no effect")
	}
	if (Recovery{CheckInterval: 5 * time.Minute, Disabled: true}).Kernel(kernel.Config{}).RecoverEvery >= 0 {
		t.Error("Disabled has no effect")
	}
	c := Recovery{}.Endpoint(Config{Queue: "q"})
	if c.Queue != "q" || c.Timeout != 30*time.Minute || c.MaxRetries != 3 || c.RetryBase != 5*time.Second || !c.CrashSpendsAttempt {
		t.Errorf("the zero Recovery makes %+v", c)
	}
	c = Recovery{JobTimeout: time.Hour, MaximumRetries: -1, RetryDelayBase: time.Second, CrashKeepsAttempt: true}.Endpoint(Config{})
	c = c.withDefaults()
	s := c.spec("k")
	if want := (kernel.Retry{Max: 1, Base: 2 * time.Second, Factor: 2, Exact: true}); s.Retry != want || s.Timeout != time.Hour {
		t.Errorf("the task is %+v, want %+v and an hour", s, want)
	}
}

func TestOutsideARunARunDoesNoHarm(t *testing.T) {
	t.Parallel()
	r := From(t.Context())
	r.Progress(1, 2, "x")
	found, err := r.Load(t.Context(), "x", nil)
	if r != nil || r.Attempt() != 1 || r.Key() != "" || !r.ID().IsZero() || r.Logger() == nil || found || err != nil || r.Save(t.Context(), "x", 1) != nil {
		t.Error("a run that is none does harm")
	}
}

func TestSavedValuesAreFoundByTheNextAttempt(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	e := Define("saves", func(ctx context.Context, _ Request[None]) (int, error) {
		r := From(ctx)
		var n int
		found, err := r.Load(ctx, "n", &n)
		if err != nil || found {
			return n, err
		}
		if err := r.Save(ctx, "n", 42); err != nil {
			return 0, err
		}
		if err := r.Save(ctx, "bad", func() {}); !errors.Is(err, kernel.ErrInvalid) {
			return 0, Permanent(fmt.Errorf("Save of a function = %w", err))
		}
		return 0, errors.New("again")
	})
	e.Serve(k)
	kerneltest.Run(t, k)
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	r.Header.Set("Prefer", "wait=20")
	e.Handler(k, Config{RetryBase: time.Millisecond}).ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Body.String() != "42" {
		t.Errorf("the answer is %d %s, want 42", w.Code, w.Body)
	}
	if Permanent(nil) != nil {
		t.Error("Permanent(nil) is an error")
	}
}

func TestArgsThatDoNotDecodeFailTheTaskAndTellNothing(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	e := Define("typed", func(context.Context, Request[struct{ N int }]) (None, error) { return None{}, nil })
	e.Serve(k)
	kerneltest.Run(t, k)
	for _, args := range []string{`s3cret`, `{"json":{"N":"s3cret"}}`} {
		s, err := k.Submit(t.Context(), kernel.Spec{Kind: e.Kind(), Args: []byte(args)})
		if err != nil {
			t.Fatal(err)
		}
		task := kerneltest.Wait(t, k, s.ID, store.Failed)
		if task.Error.Type != "decode" || strings.Contains(task.Error.Message, "s3cret") || task.Attempts != 1 {
			t.Errorf("the task is %+v after %d attempts, want it failed at once, of type decode", task.Error, task.Attempts)
		}
	}
}
