package redis

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/outlast-go/outlast/store"
)

// never is later than any time that is stored: what a double holds exactly.
const never = 1<<53 - 1

// micros is an instant as the scripts count it; 0 is none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return min(t.Round(time.Microsecond).UnixMicro(), never)
}

func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func rawID(id store.ID) string {
	if id.IsZero() {
		return ""
	}
	return string(id[:])
}

func idOf(v any) (id store.ID) {
	copy(id[:], text(v))
	return id
}

// packSpec writes a task as c:<id> keeps it. The names of the fields are those of the scripts.
func packSpec(s *store.Spec) []byte {
	p := &packer{b: make([]byte, 0, 160+len(s.Args))}
	appendSpec(p, s)
	return p.b
}

func appendSpec(p *packer, s *store.Spec) {
	o := p.object()
	o.str("kind", s.Kind)
	o.str("queue", s.Queue)
	o.str("lane", s.Lane)
	o.str("limit", s.Limit)
	o.str("order", string(s.Order))
	o.int("prio", int64(s.Priority))
	o.int("delay", int64(s.Delay))
	o.int("due", micros(s.DueAt))
	o.int("startby", int64(s.StartBy))
	o.int("timeout", int64(s.Timeout))
	packRetry(o, &s.Retry)
	o.str("key", s.Unique.Key)
	o.str("clash", string(s.Unique.OnConflict))
	o.int("keyfor", int64(s.Unique.For))
	o.str("finger", s.Fingerprint)
	o.str("group", rawID(s.Group))
	if !s.Group.IsZero() || s.Line != 0 {
		o.str("place", placeOf(s.Line))
	}
	o.str("parent", rawID(s.Parent))
	o.bool("owned", s.Owned)
	if s.OnEnd != nil {
		o.key("onend").str(string(packSpec(s.OnEnd)))
		if !s.ID.IsZero() {
			o.str("next", rawID(store.OnEndID(s.ID, 0)))
		}
	}
	packLabels(o, s.Labels)
	o.str("corr", s.Correlation)
	o.str("trace", s.Trace)
	o.str("sealed", rawID(s.Sealed))
	o.int("keep", int64(s.Retention))
	o.bytes("args", s.Args)
	o.close()
}

func packRetry(o *object, r *store.Retry) {
	o.int("max", int64(r.Max))
	o.int("base", int64(r.Base))
	if r.Factor != 0 {
		o.key("factor").float(r.Factor)
	}
	o.int("cap", int64(r.Cap))
	o.bool("spends", r.CrashSpends)
	o.bool("exact", r.Exact)
}

func packLabels(o *object, labels map[string]string) {
	if labels == nil {
		return
	}
	inner := o.key("labels").object()
	for k, v := range labels {
		inner.key(k).str(v)
	}
	inner.close()
}

// placeOf writes the line of a member as bytes that sort as the number does.
func placeOf(line int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(line)^1<<63))
}

// lineOf reads what placeOf wrote; without a group most have none.
func lineOf(place string) int64 {
	if len(place) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64([]byte(place)) ^ 1<<63)
}

// unpackSpec reads what packSpec wrote, field by field: claims read many. The id is the record's.
func unpackSpec(text string) (s store.Spec, err error) {
	u := &unpacker{b: text}
	onend := ""
	for range u.begin() {
		switch name := u.str(); name {
		case "onend":
			onend = u.str()
		case "labels":
			s.Labels = record{name: u.value()}.labels()
		case "args":
			if v, ok := u.value().(string); ok {
				s.Args = []byte(v)
			}
		default:
			if !unpackPlace(u, name, &s) && !unpackTime(u, name, &s) {
				u.value() // what a later version has added
			}
		}
	}
	if u.bad {
		return store.Spec{}, fmt.Errorf("read a record of %d bytes: %w", len(text), errPacked)
	}
	if onend == "" {
		return s, nil
	}
	next, err := unpackSpec(onend)
	if err == nil && next.OnEnd != nil {
		err = errPacked // nothing follows what follows an ending
	}
	if err != nil {
		return s, err
	}
	s.OnEnd = &next
	return s, nil
}

// unpackPlace reads a field that says what a task is, and where it belongs; false: it is none.
func unpackPlace(u *unpacker, name string, s *store.Spec) bool {
	switch name {
	case "kind":
		s.Kind = u.str()
	case "queue":
		s.Queue = u.str()
	case "lane":
		s.Lane = u.str()
	case "limit":
		s.Limit = u.str()
	case "order":
		s.Order = store.Order(u.str())
	case "prio":
		s.Priority = int(u.int())
	case "key":
		s.Unique.Key = u.str()
	case "clash":
		s.Unique.OnConflict = store.Conflict(u.str())
	case "finger":
		s.Fingerprint = u.str()
	case "group":
		s.Group = idOf(u.str())
	case "place":
		s.Line = lineOf(u.str())
	case "parent":
		s.Parent = idOf(u.str())
	case "owned":
		s.Owned = u.bool()
	case "corr":
		s.Correlation = u.str()
	case "trace":
		s.Trace = u.str()
	case "sealed":
		s.Sealed = idOf(u.str())
	default:
		return false
	}
	return true
}

// unpackTime reads a field that says when a task runs, how often, and how long it is kept; false: it is none.
func unpackTime(u *unpacker, name string, s *store.Spec) bool {
	switch name {
	case "delay":
		s.Delay = time.Duration(u.int())
	case "due":
		s.DueAt = instant(u.int())
	case "startby":
		s.StartBy = time.Duration(u.int())
	case "timeout":
		s.Timeout = time.Duration(u.int())
	case "keyfor":
		s.Unique.For = time.Duration(u.int())
	case "keep":
		s.Retention = time.Duration(u.int())
	case "max":
		s.Retry.Max = int(u.int())
	case "base":
		s.Retry.Base = time.Duration(u.int())
	case "factor":
		s.Retry.Factor = record{name: u.value()}.float(name)
	case "cap":
		s.Retry.Cap = time.Duration(u.int())
	case "spends":
		s.Retry.CrashSpends = u.bool()
	case "exact":
		s.Retry.Exact = u.bool()
	default:
		return false
	}
	return true
}

func (r record) float(name string) float64 {
	switch n := r[name].(type) {
	case float64:
		return n
	case int64:
		return float64(n)
	}
	return 0
}

func (r record) labels() map[string]string {
	v, ok := r["labels"]
	if !ok {
		return nil
	}
	labels := map[string]string{}
	if m, ok := v.(record); ok {
		for k, v := range m {
			labels[k] = text(v)
		}
	}
	return labels
}

// packGroup writes a new group as gc:<id> keeps it.
func packGroup(g *store.NewGroup) []byte {
	return pack(func(o *object) {
		o.str("name", g.Name)
		o.bool("hold", g.Hold)
		o.bool("seal", g.Seal)
		o.str("parent", rawID(g.Parent))
		packLabels(o, g.Labels)
		o.int("keep", int64(g.Retention))
		if g.OnClose == nil {
			return
		}
		o.key("onclose").str(string(packSpec(g.OnClose)))
		id := store.CloseID(g.ID, 1)
		o.str("next", rawID(id))
		if g.OnClose.OnEnd != nil {
			o.str("next2", rawID(store.OnEndID(id, 0)))
		}
	})
}

// packNewGroup writes a group for a request.
func packNewGroup(p *packer, g *store.NewGroup) {
	o := p.object()
	o.str("id", rawID(g.ID))
	o.bool("seal", g.Seal)
	o.key("item").str(string(packGroup(g)))
	o.close()
}

func packFence(p *packer, f store.Fence) {
	o := p.object()
	o.key("id").str(string(f.ID[:]))
	o.key("epoch").int(f.Epoch)
	o.key("nonce").str(string(f.Nonce[:]))
	o.close()
}

// packError writes an error as the record keeps it.
func packError(e *store.Error) string {
	p := &packer{}
	p.array(3)
	p.str(e.Message)
	p.str(e.Type)
	p.str(string(e.Detail))
	return string(p.b)
}

func unpackError(text_ string) *store.Error {
	u := &unpacker{b: text_}
	list, _ := u.value().([]any)
	if len(list) != 3 {
		return &store.Error{}
	}
	e := &store.Error{Message: text(list[0]), Type: text(list[1])}
	if detail := text(list[2]); detail != "" {
		e.Detail = []byte(detail)
	}
	return e
}

// packProgress writes progress without its time, which is the record's.
func packProgress(g *store.Progress) string {
	b := binary.AppendVarint(nil, g.Done)
	b = binary.AppendVarint(b, g.Total)
	return string(append(b, g.Note...))
}

func unpackProgress(text string) (g store.Progress) {
	b := []byte(text)
	done, n := binary.Varint(b)
	if n <= 0 {
		return g
	}
	total, m := binary.Varint(b[n:])
	if m <= 0 {
		return g
	}
	return store.Progress{Done: done, Total: total, Note: string(b[n+m:])}
}

func packEntries(o *object, entries map[string][]byte) {
	inner := o.key("entries").object()
	for name, value := range entries {
		if value == nil {
			inner.key(name).bool(false)
			continue
		}
		inner.key(name).str(string(value))
	}
	inner.close()
}

func packIDs(o *object, name string, ids []store.ID) {
	if len(ids) == 0 {
		return
	}
	p := o.key(name)
	p.array(len(ids))
	for _, id := range ids {
		p.str(string(id[:]))
	}
}

// packOutcome writes an outcome for a script, with what can be said against it without looking into the store.
func packOutcome(out *store.Outcome) []byte {
	return pack(func(o *object) {
		o.str("kind", string(out.Kind))
		if err := checkOutcome(out); err != nil {
			o.str("bad", err.Error())
			return
		}
		o.int("delay", int64(out.Delay))
		o.int("wakes", out.Wakes)
		o.str("reason", out.Reason)
		o.bytes("result", out.Result)
		if out.Error != nil {
			o.key("err").str(packError(out.Error))
			o.str("text", out.Error.Message)
		}
		if out.Progress != nil {
			o.key("prog").str(packProgress(out.Progress))
		}
		if len(out.Entries) > 0 {
			packEntries(o, out.Entries)
		}
		packIDs(o, "consume", out.Consume)
		packFollow(o, out)
	})
}

func packFollow(o *object, out *store.Outcome) {
	if len(out.Groups) > 0 {
		p := o.key("groups")
		p.array(len(out.Groups))
		for i := range out.Groups {
			packNewGroup(p, &out.Groups[i])
		}
	}
	if len(out.Follow) == 0 {
		return
	}
	p := o.key("follow")
	p.array(len(out.Follow))
	for i := range out.Follow {
		s := &out.Follow[i]
		f := p.object()
		f.str("id", rawID(s.ID))
		f.str("group", rawID(s.Group))
		f.key("item").str(string(packSpec(s)))
		f.close()
	}
}

// checkOutcome says what of an outcome can never be applied.
func checkOutcome(out *store.Outcome) error {
	switch out.Kind {
	case store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze,
		store.OutcomePark, store.OutcomeRelease, store.OutcomeHold:
	default:
		return fmt.Errorf("outcome %q is not known", out.Kind)
	}
	if out.Kind == store.OutcomeHold && (out.Reason == "" || out.Reason == store.ReasonGroup) {
		return fmt.Errorf("an outcome that holds needs a reason of its own, not %q", out.Reason)
	}
	if len(out.Follow) > store.FollowLimit {
		return fmt.Errorf("%d follow-ups; at most %d are allowed: submit more through a group", len(out.Follow), store.FollowLimit)
	}
	for i := range out.Groups {
		if err := out.Groups[i].Validate(); err != nil {
			return err
		}
	}
	for i := range out.Follow {
		if err := out.Follow[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// packStaged writes an outcome that is to be settled later. Readers get it back whole.
func packStaged(out *store.Outcome) ([]byte, error) {
	whole, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	packed := packOutcome(out)
	p := &packer{b: packed}
	o := &object{p: p, at: 1, n: int(binary.BigEndian.Uint16(packed[1:]))}
	o.key("whole").str(string(whole))
	o.close()
	return p.b, nil
}

func unpackStaged(text string) (*store.Outcome, error) {
	r, err := unpack(text)
	if err != nil {
		return nil, err
	}
	out := &store.Outcome{}
	if err := json.Unmarshal([]byte(r.str("whole")), out); err != nil {
		return nil, fmt.Errorf("read a staged outcome: %w", err)
	}
	return out, nil
}

// span turns a number of microseconds into a duration; what is not above zero, but is said, is the least there is.
func span(v any) time.Duration {
	us := 0.0
	switch n := v.(type) {
	case int64:
		us = float64(n)
	case float64:
		us = n
	default:
		return 0
	}
	return time.Duration(max(math.Round(us*1000), 1))
}
