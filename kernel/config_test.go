package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/memory"
)

func TestConfigThatIsWrongNamesTheFieldAndTheFix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cfg  kernel.Config
		want string
	}{
		{"beat over a fifth of dead-after", kernel.Config{Beat: 4 * time.Second, DeadAfter: 15 * time.Second}, "set Beat to 3s or less, or DeadAfter to 20s or more"},
		{"default beat, short dead-after", kernel.Config{DeadAfter: time.Second}, "Beat"},
		{"negative beat", kernel.Config{Beat: -1}, "Beat is -1ns"},
		{"negative dead-after", kernel.Config{DeadAfter: -time.Second}, "DeadAfter is -1s"},
		{"negative call timeout", kernel.Config{CallTimeout: -time.Second}, "CallTimeout is -1s"},
		{"absurd dead-after", kernel.Config{DeadAfter: 1 << 62}, "a hundred years"},
		{"no slots for a queue", kernel.Config{Slots: map[string]int{"mail": 0}}, `gives queue "mail" 0 slots`},
		{"negative slots", kernel.Config{Slots: map[string]int{"mail": -3}}, `gives queue "mail" -3 slots`},
		{"absurd slots", kernel.Config{Slots: map[string]int{"mail": 1 << 30}}, "1 to 1,000,000"},
		{"odd queue", kernel.Config{Slots: map[string]int{"ma il": 1}}, "Slots: queue"},
		{"odd name", kernel.Config{Name: "a b"}, "Name"},
		{"negative retry", kernel.Config{Retry: kernel.Retry{Max: -1}}, "Retry"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := kernel.New(memory.New(memory.Config{}), c.cfg)
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New = %v, want ErrInvalid with %q", err, c.want)
			}
		})
	}
	if _, err := kernel.New(nil, kernel.Config{}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("New(nil) = %v, want ErrInvalid", err)
	}
}

func TestTheSeedsTimesAreValidSettings(t *testing.T) {
	t.Parallel()
	// R000-3: heartbeat_interval 60 s, orphan_threshold 300 s.
	if _, err := kernel.New(memory.New(memory.Config{}), kernel.Config{Beat: time.Minute, DeadAfter: 5 * time.Minute}); err != nil {
		t.Errorf("New = %v, want nil", err)
	}
}

func TestASecondHandlerForAKindPanicsWithTheFix(t *testing.T) {
	t.Parallel()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	h := func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil }
	k.Handle("mail", h)
	for _, c := range []struct {
		name, kind, want string
		handler          kernel.Handler
	}{
		{"second", "mail", "has a handler already", h},
		{"nil", "other", "is nil", nil},
		{"odd kind", "ma il", "use ASCII letters", h},
		{"empty kind", "", "is empty", h},
	} {
		text := panicText(func() { k.Handle(c.kind, c.handler) })
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: Handle panicked with %q, want %q", c.name, text, c.want)
		}
	}
}

func panicText(fn func()) (text string) {
	defer func() {
		switch p := recover().(type) {
		case error:
			text = p.Error()
		case string:
			text = p
		}
	}()
	fn()
	return ""
}

func TestWhatCanNeverBeStoredIsRefusedAndNothingIsStored(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Config{})
	k := kerneltest.New(t, st, kernel.Config{MaxPayload: 100})
	long := strings.Repeat("x", 600)
	for _, c := range []struct {
		name string
		spec kernel.Spec
		want string
	}{
		{"no kind", kernel.Spec{}, "Kind is empty"},
		{"odd kind", kernel.Spec{Kind: "a\nb"}, "Kind"},
		{"long kind", kernel.Spec{Kind: long}, "at most 200"},
		{"odd queue", kernel.Spec{Kind: "a", Queue: "é"}, "Queue"},
		{"odd key", kernel.Spec{Kind: "a", Unique: kernel.Unique{Key: "a\x00b"}}, "control character"},
		{"long key", kernel.Spec{Kind: "a", Unique: kernel.Unique{Key: long}}, "use a hash"},
		{"broken key", kernel.Spec{Kind: "a", Lane: "\xff"}, "not UTF-8"},
		{"large args", kernel.Spec{Kind: "a", Args: make([]byte, 101)}, "raise Config.MaxPayload"},
		{"large args of OnEnd", kernel.Spec{Kind: "a", OnEnd: &kernel.Spec{Kind: "b", Args: make([]byte, 101)}}, "OnEnd"},
		{"OnEnd of OnEnd", kernel.Spec{Kind: "a", OnEnd: &kernel.Spec{Kind: "b", OnEnd: &kernel.Spec{Kind: "c"}}}, "OnEnd.OnEnd"},
		{"negative delay", kernel.Spec{Kind: "a", Delay: -1}, "Delay"},
		{"unknown conflict", kernel.Spec{Kind: "a", Unique: kernel.Unique{Key: "k", OnConflict: "fight"}}, "OnConflict"},
		{"unknown order", kernel.Spec{Kind: "a", Order: "chaos"}, "Order"},
		{"odd label", kernel.Spec{Kind: "a", Labels: map[string]string{"a b": "c"}}, "label"},
	} {
		_, err := k.Submit(t.Context(), c.spec)
		if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Submit = %v, want ErrInvalid with %q", c.name, err, c.want)
		}
	}
	if _, _, err := k.SubmitGroup(t.Context(), kernel.NewGroup{}, []kernel.Spec{{Kind: "a"}, {Kind: ""}}); err == nil || !strings.Contains(err.Error(), "member 2 of 2") {
		t.Errorf("SubmitGroup = %v, want an error that names member 2 of 2", err)
	}
	if _, err := k.Send(t.Context(), kernel.Message{Task: k.NewID(), Name: "a b"}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("Send = %v, want ErrInvalid", err)
	}
	if _, err := k.PutSchedule(t.Context(), kernel.Schedule{Name: "s", Rule: "every blue moon", Task: kernel.Spec{Kind: "a"}}); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("PutSchedule = %v, want ErrInvalid", err)
	}
	page, err := st.List(t.Context(), store.Filter{}, store.PageRequest{})
	if err != nil || len(page.Items) != 0 {
		t.Errorf("List = %d tasks, %v; want none", len(page.Items), err)
	}
}
