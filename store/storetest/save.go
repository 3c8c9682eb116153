package storetest

import (
	"testing"

	"github.com/outlast-go/outlast/store"
)

func saveTests() []test {
	return []test{
		{"only the named entries are written", saveEntries},
		{"a nil value removes an entry, an empty one does not", saveNil},
		{"Load reads the named entries, and a missing one is missing", saveLoad},
		{"Load of an unknown task is not found", saveLoadUnknown},
		{"progress is told with its time", saveProgress},
		{"entries outlive release, retry, crash and Retry", saveOutlives},
		{"it returns what was asked", saveAsked},
		{"it consumes messages under the fence", saveConsume},
		{"it answers ErrFenced to those who lost the task", saveFenced},
		{"one that was stuck on its way does not overtake", saveSeq},
		{"the same Seq again is the same save", saveSeqRepeat},
		{"each claim counts its saves anew", saveSeqClaim},
		{"odd names are kept apart", saveOddNames},
	}
}

func saveEntries(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.save(task, map[string][]byte{"a": []byte("1"), "b": []byte("1")})
	k.save(task, map[string][]byte{"b": []byte("2"), "c": []byte("2")})
	got := w.load(task.ID)
	if len(got) != 3 || string(got["a"]) != "1" || string(got["b"]) != "2" || string(got["c"]) != "2" {
		t.Errorf("Load = %q, want a=1 b=2 c=2", got)
	}
}

func saveNil(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.save(task, map[string][]byte{"gone": []byte("1"), "empty": []byte("1")})
	k.save(task, map[string][]byte{"gone": nil, "empty": {}, "never": nil})
	got := w.load(task.ID)
	if value, ok := got["empty"]; len(got) != 1 || !ok || len(value) != 0 {
		t.Errorf("Load = %q, want the empty entry alone", got)
	}
}

func saveLoad(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	k.save(task, map[string][]byte{"a": []byte("1"), "b": []byte("2")})
	got := w.load(task.ID, "b", "missing")
	if len(got) != 1 || string(got["b"]) != "2" {
		t.Errorf("Load = %q, want b alone", got)
	}
}

func saveLoadUnknown(_ *testing.T, w *world) {
	_, err := w.st.Load(w.ctx(), w.id())
	w.refused("Load", err, store.ErrNotFound)
}

func saveProgress(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.pass(3)
	_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: task.Fence(), Progress: &store.Progress{Done: 3, Total: 9, Note: "rows"}})
	w.ok("Save", err)
	got := w.get(task.ID).Progress
	if got.Done != 3 || got.Total != 9 || got.Note != "rows" || !w.near(got.At, w.now()) {
		t.Errorf("progress = %+v, want 3 of 9 rows, now", got)
	}
	k.save(task, map[string][]byte{"a": []byte("1")})
	if got := w.get(task.ID).Progress; got.Done != 3 {
		t.Errorf("progress = %+v, want it kept by a Save without progress", got)
	}
}

func saveOutlives(t *testing.T, w *world) {
	k, by := w.join(), w.join()
	task := k.start()
	k.save(task, map[string][]byte{"a": []byte("1")})
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	k.end(k.take(), store.Outcome{Kind: store.OutcomeRetry})
	k.take()
	k.die(by)
	by.fail(by.take())
	w.ok("Retry", w.st.Retry(w.ctx(), task.ID))
	by.take()
	if got := w.load(task.ID); string(got["a"]) != "1" {
		t.Errorf("Load = %q, want what was saved at first", got)
	}
}

func saveAsked(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	if got := k.save(task, nil); got != "" {
		t.Errorf("Save = %q, want nothing asked", got)
	}
	_, err := w.st.Cancel(w.ctx(), task.ID, "enough")
	w.ok("Cancel", err)
	if got := k.save(task, nil); got != "enough" {
		t.Errorf("Save = %q, want %q", got, "enough")
	}
}

func saveConsume(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	one, two := w.send(task.ID, "one"), w.send(task.ID, "two")
	_, err := k.st.Save(w.ctx(), store.SaveRequest{Fence: task.Fence(), Consume: []store.ID{one}})
	w.ok("Save", err)
	got, err := w.st.Messages(w.ctx(), task.ID)
	w.ok("Messages", err)
	if len(got) != 1 || got[0].ID != two {
		t.Errorf("Messages = %v, want the second alone", got)
	}
}

// FT-08
func saveFenced(_ *testing.T, w *world) {
	k, other := w.join(), w.join()
	task := k.start()
	message := w.send(task.ID, "m")
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	again := other.take()
	other.save(again, map[string][]byte{"a": []byte("theirs")})
	_, err := k.st.Save(w.ctx(), store.SaveRequest{
		Fence: task.Fence(), Entries: map[string][]byte{"a": []byte("mine")}, Progress: &store.Progress{Done: 1}, Consume: []store.ID{message},
	})
	w.refused("Save", err, store.ErrFenced)
	if got := w.load(task.ID); string(got["a"]) != "theirs" {
		w.t.Errorf("Load = %q, want what the owner saved", got)
	}
	if got, err := w.st.Messages(w.ctx(), task.ID); err != nil || len(got) != 1 {
		w.t.Errorf("Messages = %v, %v, want the message unconsumed", got, err)
	}
}

func saveOddNames(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	entries := map[string][]byte{}
	for _, name := range oddKeys() {
		entries[name] = []byte(name)
	}
	k.save(task, entries)
	got := w.load(task.ID)
	if len(got) != len(entries) {
		t.Errorf("Load = %d entries, want %d", len(got), len(entries))
	}
	for name := range entries {
		if string(got[name]) != name {
			t.Errorf("Load of %q = %q", name, got[name])
		}
	}
}

// saveAs saves one entry under a Seq.
func (k *worker) saveAs(task store.Task, seq int64, value string) error {
	_, err := k.st.Save(k.w.ctx(), store.SaveRequest{Fence: task.Fence(), Seq: seq, Entries: map[string][]byte{"e": []byte(value)}})
	return err
}

func saveSeq(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.ok("Save 2", k.saveAs(task, 2, "second"))
	before := w.get(task.ID)
	w.refused("Save 1 after 2", k.saveAs(task, 1, "first"), store.ErrChanged)
	w.same(before)
	if got := w.load(task.ID); string(got["e"]) != "second" {
		t.Errorf("Load = %q, want the later save", got)
	}
	w.ok("Save without Seq", k.saveAs(task, 0, "third"))
	if got := w.load(task.ID); string(got["e"]) != "third" {
		t.Errorf("Load = %q, want the last that came", got)
	}
}

func saveSeqRepeat(t *testing.T, w *world) {
	k := w.join()
	task := k.start()
	for range 3 {
		w.ok("Save 1", k.saveAs(task, 1, "first"))
	}
	if got := w.load(task.ID); string(got["e"]) != "first" {
		t.Errorf("Load = %q, want the save", got)
	}
}

func saveSeqClaim(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	w.ok("Save 7", k.saveAs(task, 7, "seventh"))
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	w.ok("Save 1 of the next run", k.saveAs(k.take(), 1, "first"))
}
