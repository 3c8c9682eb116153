package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func TestAnIDIsAUUIDThatSortsByTime(t *testing.T) {
	t.Parallel()
	var high [16]byte
	for i := range high {
		high[i] = 0xff
	}
	early := store.MakeID(time.UnixMilli(1_700_000_000_000), high)
	late := store.MakeID(time.UnixMilli(1_700_000_000_001), [16]byte{})
	if early.String() >= late.String() {
		t.Errorf("%s is not before %s", early, late)
	}
	if text := early.String(); text[14] != '7' || text[19] != 'b' {
		t.Errorf("%s is no UUIDv7", text)
	}
	back, err := store.ParseID(strings.ToUpper(early.String()))
	if err != nil || back != early {
		t.Errorf("ParseID = %s, %v; want %s", back, err, early)
	}
}

func TestADerivedIDDependsOnEveryPart(t *testing.T) {
	t.Parallel()
	if store.DeriveID("a", "bc") == store.DeriveID("ab", "c") || store.DeriveID("a") == store.DeriveID("a", "") {
		t.Error("different parts make the same id")
	}
	if first, again := store.DeriveID("a", "b"), store.DeriveID("a", "b"); first != again {
		t.Error("the same parts make different ids")
	}
	if text := store.DeriveID("a").String(); text[14] != '8' {
		t.Errorf("%s is no UUIDv8: it might meet one of MakeID", text)
	}
}

func TestWhatIsNoIDIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"x", strings.Repeat("0", 36), "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2", "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2g"} {
		if _, err := store.ParseID(text); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("ParseID(%q) = %v, want ErrInvalid", text, err)
		}
	}
	if id, err := store.ParseID(""); err != nil || !id.IsZero() || id.String() != "" {
		t.Errorf("ParseID of nothing = %s, %v; want the zero ID", id, err)
	}
}

func TestWaitsGrowUpToTheirCap(t *testing.T) {
	t.Parallel()
	policy := store.Retry{Base: time.Second, Factor: 3, Cap: 10 * time.Second}
	for failed, want := range []time.Duration{0, time.Second, 3 * time.Second, 9 * time.Second, 10 * time.Second, 10 * time.Second} {
		if got := policy.Wait(failed); got != want {
			t.Errorf("Wait(%d) = %v, want %v", failed, got, want)
		}
	}
	if got := (store.Retry{Base: time.Hour}).Wait(500); got < time.Hour {
		t.Errorf("Wait(500) = %v, want no overflow", got)
	}
	for max, want := range map[int]bool{0: true, 1: true, 2: false} {
		if got := (store.Retry{Max: max}).Spent(1); got != want {
			t.Errorf("Max %d: Spent(1) = %v, want %v", max, got, want)
		}
	}
}

func TestAnAnswerIsToldFromSilence(t *testing.T) {
	t.Parallel()
	if !store.Answered(fmt.Errorf("claim: %w", store.ErrFenced)) || store.Answered(errors.New("connection reset")) || store.Answered(nil) {
		t.Error("Answered does not tell an answer of the store from its absence")
	}
}

func TestTimingsDefaultsFillWhatIsZero(t *testing.T) {
	t.Parallel()
	got := store.Timing{GoneAfter: time.Second}.WithDefaults()
	want := store.Timing{Horizon: 10 * time.Minute, GoneAfter: time.Second, RecoverEvery: 500 * time.Millisecond, Aged: time.Minute, StuckGrace: time.Minute}
	if got != want {
		t.Errorf("WithDefaults = %+v, want %+v", got, want)
	}
}

func TestAScopeMatchesWhatItNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope store.Scope
		want  bool
	}{
		{store.Scope{}, true},
		{store.Scope{Queue: "q"}, true},
		{store.Scope{Kind: "k", Lane: "l"}, true},
		{store.Scope{Queue: "other"}, false},
		{store.Scope{Queue: "q", Lane: "other"}, false},
	} {
		if got := c.scope.Matches("q", "k", "l"); got != c.want {
			t.Errorf("%+v matches = %v, want %v", c.scope, got, c.want)
		}
	}
}

func TestALimitThatAllowsNothingIsRefused(t *testing.T) {
	t.Parallel()
	for _, l := range []store.Limit{
		{},
		{Key: "k", Running: -1},
		{Key: "k", Rates: []store.Rate{{N: 0, Per: time.Second}}},
		{Key: "k", Rates: []store.Rate{{N: 1}}},
		{Key: "k", Rates: []store.Rate{{N: 1, Per: time.Second, Burst: -1}}},
	} {
		if err := l.Validate(); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: Validate = %v, want ErrInvalid", l, err)
		}
	}
	if err := (&store.Limit{Key: "k", Running: 1, Rates: []store.Rate{{N: 5, Per: time.Second}}}).Validate(); err != nil {
		t.Errorf("Validate = %v, want nil", err)
	}
}
