package main

import (
	"strings"
	"testing"

	"github.com/outlast-go/outlast/cmd/outlast/cli"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
	"github.com/outlast-go/outlast/store/sqlite"
)

// spoil changes the tables of a store as a foreign hand would.
func spoil(t *testing.T, st store.Store, statements ...string) {
	t.Helper()
	tx, err := st.(*sqlite.Store).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range statements {
		if _, err := tx.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// What is derived is mended, what is not is told, and a dry run changes nothing.
func TestFsckMendsWhatIsDerived(t *testing.T) {
	t.Parallel()
	url := fresh(t)
	failed, _ := world(t, url)
	k, st := planted(t, url, kernel.Config{})
	if _, err := k.PutLimit(t.Context(), kernel.Limit{Key: "l", Running: 3}); err != nil {
		t.Fatal(err)
	}
	keyed, err := k.Submit(t.Context(), kernel.Spec{Kind: "wait", Queue: "nobody", Unique: kernel.Unique{Key: "u"}})
	if err != nil {
		t.Fatal(err)
	}
	at := func(args ...string) []string { return append(append([]string{"fsck"}, args...), "--store", url) }
	if out := ask(t, at("--repair")...); !strings.HasPrefix(out, "nothing was found") {
		t.Errorf("fsck --repair of a sound store = %q", out)
	}
	refused(t, cli.Misuse, at("--dry-run")...)
	spoil(t, st, "update limits set running = 7 where key = 'l'", "delete from key where key = 'u'")
	for range 2 {
		if text := refused(t, cli.Failed, at("--repair", "--dry-run")...); !strings.Contains(text, "2 findings: 2 would be mended, 0 not") {
			t.Errorf("a dry run says %q", text)
		}
	}
	if text := refused(t, cli.Failed, at()...); !strings.Contains(text, "--repair mends 2 of them") {
		t.Errorf("fsck says %q", text)
	}
	got := lines[findingView](t, ask(t, at("--repair", "--json")...))
	if len(got) != 2 || got[0].Repair != "mended" || got[1].Repair != "mended" || got[0].ID != keyed.ID.String() || got[1].ID != "l" {
		t.Errorf("fsck --repair = %+v", got)
	}
	ask(t, at()...)
	if err := st.Delete(t.Context(), store.OnEndID(failed[0], 0)); err != nil {
		t.Fatal(err)
	}
	spoil(t, st, "update limits set running = 7 where key = 'l'")
	if text := refused(t, cli.Failed, at("--repair")...); !strings.Contains(text, "1 findings were mended, 1 are left") {
		t.Errorf("with one that cannot be mended it says %q", text)
	}
}
