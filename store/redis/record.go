package redis

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// readTask reads a task from what the scripts give: its id, what changes, what was submitted and, if it was asked for, its
// result. One that cannot be read tells what can be, and is in no state.
func readTask(v any) (t store.Task, err error) {
	parts, _ := v.([]any)
	if len(parts) < 3 {
		return t, fmt.Errorf("read a task: %w", errPacked)
	}
	spec, specErr := unpackSpec(text(parts[2]))
	t.Spec = spec
	t.ID = idOf(parts[0])
	r, history, err := unpackFirst(text(parts[1]))
	if err != nil || specErr != nil || r.str("state") == "" {
		t.State, t.Reason = "", store.ReasonCorrupt
		return t, nil
	}
	fillTask(&t, r)
	t.History = readHistory(history)
	if len(parts) > 3 {
		if result, ok := parts[3].(string); ok && r.bool("result") {
			t.Result = []byte(result)
		}
	}
	if staged := r.str("staged"); staged != "" {
		if t.Staged, err = unpackStaged(staged); err != nil {
			return t, err
		}
	}
	return t, nil
}

func fillTask(t *store.Task, r record) {
	t.State, t.Reason = store.State(r.str("state")), r.str("reason")
	t.Parent, t.Group = idOf(r["parent"]), idOf(r["group"])
	t.Version, t.Round, t.Wakes = r.int("ver"), int(r.int("round")), r.int("wakes")
	t.Suspect, t.Solo, t.Alone = r.bool("suspect"), r.bool("solo"), r.bool("alone")
	t.Saves, t.Asked, t.Told, t.Stripped = r.int("saves"), r.str("asked"), r.bool("told"), r.bool("stripped")
	t.Epoch, t.Nonce, t.Worker = r.int("epoch"), idOf(r["nonce"]), r.str("worker")
	t.Settled = store.Settled{Epoch: r.int("sepoch"), Nonce: idOf(r["snonce"]), Kind: store.OutcomeKind(r.str("skind"))}
	t.Attempts, t.Crashes, t.CrashRun, t.Charged = int(r.int("tries")), int(r.int("crashes")), int(r.int("run")), r.bool("charged")
	t.DueAt, t.CreatedAt, t.ReadyAt = instant(r.int("due")), instant(r.int("made")), instant(r.int("ready"))
	t.StartedAt, t.DeadlineAt, t.StartByAt = instant(r.int("start")), instant(r.int("deadline")), instant(r.int("startby"))
	t.EndedAt, t.UpdatedAt, t.ExpireAt = instant(r.int("ended")), instant(r.int("upd")), instant(r.int("expire"))
	if prog, ok := r["prog"].(string); ok {
		t.Progress = unpackProgress(prog)
		t.Progress.At = instant(r.int("progat"))
	}
	if e, ok := r["err"].(string); ok {
		t.Error = unpackError(e)
	}
}

// readHistory reads events, each with its length before it.
func readHistory(text_ string) (events []store.Event) {
	for len(text_) >= 4 {
		n := int(binary.BigEndian.Uint32([]byte(text_[:4])))
		if n > len(text_)-4 {
			break
		}
		u := &unpacker{b: text_[4 : 4+n]}
		if l, _ := u.value().([]any); len(l) == 5 {
			events = append(events, store.Event{
				At: instant(whole(l[0])), Kind: store.EventKind(text(l[1])), Epoch: whole(l[2]), Worker: text(l[3]), Text: text(l[4]),
			})
		}
		text_ = text_[4+n:]
	}
	return events
}

// readGiven reads tasks as a claimer gets them: ids, what changes of each (told once where it is the same), and what was submitted.
func readGiven(r record, items []string) ([]store.Task, error) {
	ids, hots, which := r.str("ids"), r.list("hots"), r.list("which")
	if len(ids) != 16*len(items) || len(items) > 0 && len(hots) == 0 || len(hots) > 1 && len(which) != len(items) {
		return nil, fmt.Errorf("read %d tasks that were claimed: %w", len(items), errPacked)
	}
	if len(items) == 0 {
		return nil, nil
	}
	tasks := make([]store.Task, 0, len(items))
	alike := make([]*store.Task, len(hots))
	for i, item := range items {
		at := int64(1)
		if len(hots) > 1 {
			at = whole(which[i])
		}
		if at < 1 || at > int64(len(hots)) {
			return nil, fmt.Errorf("read a task that was claimed: %w", errPacked)
		}
		id := ids[16*i : 16*i+16]
		if like := alike[at-1]; like != nil {
			tasks = append(tasks, readAlike(like, id, item))
			continue
		}
		t, err := readTask([]any{id, hots[at-1], item})
		if err != nil {
			return nil, err
		}
		if tasks = append(tasks, t); t.State != "" && t.Staged == nil && t.Error == nil {
			alike[at-1] = &t
		}
	}
	return tasks, nil
}

// readAlike reads a task whose record is that of another one but for the id and what was submitted.
func readAlike(like *store.Task, id, item string) store.Task {
	t := *like
	spec, err := unpackSpec(item)
	if err != nil {
		t = store.Task{Spec: spec, Reason: store.ReasonCorrupt}
	} else {
		spec.Parent, spec.Group, spec.DueAt = like.Parent, like.Group, like.DueAt
		t.Spec = spec
	}
	t.ID = idOf(id)
	return t
}

func readTasks(list []any) ([]store.Task, error) {
	var tasks []store.Task
	for _, v := range list {
		t, err := readTask(v)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// readGroup reads a group from its two records.
func readGroup(id store.ID, hot, item string) (g store.Group, err error) {
	r, err := unpack(hot)
	if err != nil {
		return g, fmt.Errorf("group %s: %w", id, err)
	}
	n, err := unpack(item)
	if err != nil {
		return g, fmt.Errorf("group %s: %w", id, err)
	}
	g = store.Group{
		NewGroup: store.NewGroup{
			ID: id, Name: n.str("name"), Hold: r.bool("hold"), Seal: n.bool("seal"), Parent: idOf(n["parent"]), Labels: n.labels(),
			Retention: time.Duration(n.int("keep")),
		},
		State: store.GroupState(r.str("state")), Sealed: r.bool("sealed"), Aborting: r.str("aborting"), Generation: int(r.int("gen")),
		Version: r.int("ver"), Total: r.int("total"), Done: r.int("done"), Failed: r.int("failed"), Cancelled: r.int("cancelled"),
		Keeper: idOf(r["keeper"]), CreatedAt: instant(r.int("made")), ClosedAt: instant(r.int("closed")), UpdatedAt: instant(r.int("upd")),
	}
	if next := n.str("onclose"); next != "" {
		spec, err := unpackSpec(next)
		if err != nil {
			return g, fmt.Errorf("group %s: %w", id, err)
		}
		g.OnClose = &spec
	}
	return g, nil
}

// readWorker reads a worker; of one that cannot be read only the id is known.
func readWorker(id, raw string) store.Worker {
	w := store.Worker{ID: id}
	r, err := unpack(raw)
	if err != nil {
		return w
	}
	w.Beat, w.DeadAfter = time.Duration(r.int("beat"))*time.Microsecond, time.Duration(r.int("deadafter"))*time.Microsecond
	w.Evidence = store.EvidenceNone
	if r.bool("session") {
		w.Evidence = store.EvidenceSession
	}
	w.JoinedAt, w.BeatAt, w.DeadAt = instant(r.int("joined")), instant(r.int("at")), instant(r.int("dead"))
	w.Death, w.HeldAt = store.Death(r.str("death")), int(r.int("heldat"))
	// What a worker tells of itself is for people: one that cannot be read shows as empty.
	_ = json.Unmarshal([]byte(r.str("info")), &w.Info)
	_ = json.Unmarshal([]byte(r.str("load")), &w.Load)
	return w
}

// readMessages reads an inbox as HGETALL gives it: those that were not consumed, in the order they came.
func readMessages(task store.ID, list []any) []store.Message {
	var pending []pendingMessage
	for i := 0; i+1 < len(list); i += 2 {
		raw := text(list[i+1])
		if len(raw) < 16 {
			continue // consumed
		}
		r, err := unpack(raw[16:])
		if err != nil {
			continue
		}
		pending = append(pending, pendingMessage{raw[:8], store.Message{
			ID: idOf(list[i]), Task: task, Name: r.str("name"), Body: r.bytes("body"),
			SentAt: instant(int64(binary.BigEndian.Uint64([]byte(raw[8:16])))),
		}})
	}
	return inOrder(pending)
}
