package fsck_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/fsck"
)

func check(t *testing.T, c *fsck.Checker, st store.Store) []fsck.Finding {
	t.Helper()
	found, err := c.Check(t.Context(), st)
	if err != nil {
		t.Fatalf("Check = %v, want no error", err)
	}
	return found
}

func TestAWorldInOrderGivesNoFinding(t *testing.T) {
	t.Parallel()
	w := newWorld("")
	for _, turn := range []string{"in one order", "in the other"} {
		found, err := fsck.Check(t.Context(), w)
		if err != nil || len(found) != 0 {
			t.Errorf("%s: Check = %v, %v, want nothing", turn, found, err)
		}
		slices.Reverse(w.entries)
	}
}

func TestEachFaultIsFoundByItsRuleAlone(t *testing.T) {
	t.Parallel()
	var c fsck.Checker // one for all: nothing of a check may reach into the next
	for _, p := range plants() {
		w := newWorld("")
		p.plant(w)
		found := check(t, &c, w)
		if len(found) == 0 {
			t.Errorf("%s: %s: found nothing", p.rule, p.name)
		}
		for _, f := range found {
			if f.Rule != p.rule || f.ID == "" || f.Text == "" || strings.Contains(f.Text, "%!") {
				t.Errorf("%s: %s: found %q", p.rule, p.name, f)
			}
		}
		slices.Reverse(w.entries)
		if again := check(t, &c, w); !slices.Equal(found, again) {
			t.Errorf("%s: %s: found %q, and %q in another order of the records", p.rule, p.name, found, again)
		}
	}
}

func TestEachRuleOfThePackageCommentIsPlanted(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("fsck.go")
	if err != nil {
		t.Fatal(err)
	}
	planted := map[string]bool{}
	for _, p := range plants() {
		planted[p.rule] = true
	}
	rules := regexp.MustCompile(`(?m)^//\t([a-z]+)  `).FindAllSubmatch(source, -1)
	for _, rule := range rules {
		if !planted[string(rule[1])] {
			t.Errorf("rule %s has no test that plants its fault", rule[1])
		}
		delete(planted, string(rule[1]))
	}
	if len(rules) == 0 || len(planted) != 0 {
		t.Errorf("%d rules in the comment, which does not tell of %v", len(rules), planted)
	}
}

func TestWhatTheContractAllowsIsNoFinding(t *testing.T) {
	t.Parallel()
	for _, p := range excuses() {
		w := newWorld("")
		p.plant(w)
		if found := check(t, new(fsck.Checker), w); len(found) != 0 {
			t.Errorf("%s: found %q, want nothing", p.name, found)
		}
	}
}

func TestADeletedFollowerIsExcused(t *testing.T) {
	t.Parallel()
	w := newWorld("")
	w.remove("after")
	w.remove("closing")
	gone := []store.ID{w.tasks["after"].ID, w.tasks["closing"].ID}
	c := fsck.Checker{Deleted: func(id store.ID) bool { return slices.Contains(gone, id) }}
	if found := check(t, &c, w); len(found) != 0 {
		t.Errorf("Check = %q, want nothing: both were deleted", found)
	}
	gone = gone[:1]
	if found := check(t, &c, w); len(found) != 1 || found[0].Rule != "close" {
		t.Errorf("Check = %q, want the OnClose task missed", found)
	}
}

func TestFindingsAreSortedAndTheCallersOwn(t *testing.T) {
	t.Parallel()
	w := newWorld("")
	w.tasks["ready"].Crashes = -1
	w.tasks["parked"].EndedAt = now
	w.tasks["held"].EndedAt = now
	var c fsck.Checker
	found := check(t, &c, w)
	kept := slices.Clone(found)
	sorted := slices.IsSortedFunc(found, func(a, b fsck.Finding) int {
		return strings.Compare(a.Rule+" "+a.ID, b.Rule+" "+b.ID)
	})
	if len(found) != 3 || !sorted {
		t.Errorf("Check = %q, want three, by rule and id", found)
	}
	w.tasks["scheduled"].DueAt = time.Time{}
	if again := check(t, &c, w); len(again) != 4 || !slices.Equal(found, kept) {
		t.Errorf("the next Check found %q and left %q of the first, want 4 and %q", again, found, kept)
	}
}

func TestAStoreThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, w := range []*world{{fake: fake{err: broken}}, {fake: fake{clockless: broken}}} {
		w.entries = []store.Entry{{Task: &store.Task{}}}
		if found, err := fsck.Check(context.Background(), w); !errors.Is(err, broken) || found != nil {
			t.Errorf("Check = %v, %v, want nothing and the store's error", found, err)
		}
	}
}

// cutOnce is a store whose first reading is cut off after the first record.
type cutOnce struct {
	*world
	cut bool
}

func (c *cutOnce) Export(ctx context.Context, fn func(store.Entry) error) error {
	if c.cut {
		return c.world.Export(ctx, fn)
	}
	c.cut = true
	_ = fn(c.entries[0]) // it keeps what it is given
	return errors.New("connection reset by peer")
}

func TestAReadingThatWasCutOffBeginsAnew(t *testing.T) {
	t.Parallel()
	if found, err := fsck.Check(context.Background(), &cutOnce{world: newWorld("")}); err != nil || len(found) != 0 {
		t.Errorf("Check = %v, %v, want nothing", found, err)
	}
}

func BenchmarkCheck(b *testing.B) {
	w := &world{}
	for i := range 200 {
		w.entries = append(w.entries, newWorld(fmt.Sprint(i, " ")).entries...)
	}
	var c fsck.Checker
	for b.Loop() {
		found, err := c.Check(b.Context(), w)
		if err != nil || len(found) != 0 {
			b.Fatalf("Check = %v, %v, want nothing", found, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(w.entries)), "ns/record")
}

func TestACheckerThatSawABigWorldJudgesASmallOneRightly(t *testing.T) {
	t.Parallel()
	big := &world{}
	for i := range 600 {
		big.entries = append(big.entries, newWorld(fmt.Sprint(i, " ")).entries...)
	}
	var c fsck.Checker
	small := newWorld("")
	small.remove("after")
	for _, w := range []struct {
		st   *world
		want int
	}{{big, 0}, {small, 1}, {big, 0}, {small, 1}} {
		if found := check(t, &c, w.st); len(found) != w.want {
			t.Errorf("Check of %d records found %q, want %d", len(w.st.entries), found, w.want)
		}
	}
}

func ExampleFinding_String() {
	fmt.Println(fsck.Finding{Rule: "slots", ID: "mail", Text: "has 2 slots taken, and 1 tasks run"})
	// Output: slots: mail: has 2 slots taken, and 1 tasks run
}
