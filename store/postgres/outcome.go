package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/outlast-go/outlast/store"
)

// wireOutcome is a prepared outcome.
type wireOutcome struct {
	Kind     string       `json:"kind"`
	Bad      bool         `json:"bad,omitempty"` // it can never be applied; the fence is looked at all the same
	Delay    int64        `json:"delay,omitempty"`
	Wakes    int64        `json:"wakes,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Result   []byte       `json:"result"`
	Error    []byte       `json:"error"`
	Words    string       `json:"words,omitempty"`
	Progress *wireStand   `json:"progress,omitempty"`
	Entries  []wireEntry  `json:"entries,omitempty"`
	Consume  []wireID     `json:"consume,omitempty"`
	Groups   []wireGroup  `json:"groups,omitempty"`
	Follow   []*wireSpec  `json:"follow,omitempty"`
	Whole    *wholeStaged `json:"whole,omitempty"` // what only readers of a staged outcome need
}

// wholeStaged keeps what the prepared form changes.
type wholeStaged struct {
	Delay  time.Duration `json:"delay"`
	Reason []byte        `json:"reason"`
	Empty  bool          `json:"empty,omitempty"` // it has entries, and none in them
}

// wireStand is progress: done, total, note.
type wireStand [3]any

func prepareProgress(p *store.Progress) *wireStand {
	if p == nil {
		return nil
	}
	return &wireStand{p.Done, p.Total, []byte(p.Note)}
}

// wireEntry is a checkpoint entry: name and value, null to remove it.
type wireEntry [2][]byte

func prepareEntries(entries map[string][]byte) []wireEntry {
	var list []wireEntry
	for name, value := range entries {
		list = append(list, wireEntry{[]byte(name), value})
	}
	return list
}

func prepareIDs(ids []store.ID) []wireID {
	var list []wireID
	for _, id := range ids {
		list = append(list, wireID(id))
	}
	return list
}

// storedError is how an attempt failed, as it is stored; the function fault writes it, too.
type storedError struct {
	Message string `json:"m"`
	Raw     []byte `json:"raw,omitempty"` // the message, if JSON cannot say it
	Type    string `json:"t"`
	Detail  []byte `json:"d"`
}

func encodeError(e *store.Error) []byte {
	if e == nil {
		return nil
	}
	s := storedError{Message: clean(e.Message), Type: clean(e.Type), Detail: e.Detail}
	if s.Message != e.Message {
		s.Raw = []byte(e.Message)
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // it is made of strings and bytes
	}
	return b
}

func decodeError(b []byte) (*store.Error, bool) {
	if b == nil {
		return nil, true
	}
	var s storedError
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, false
	}
	if s.Raw != nil {
		s.Message = string(s.Raw)
	}
	return &store.Error{Message: s.Message, Type: s.Type, Detail: s.Detail}, true
}

// wordsLimit bounds what a history keeps of an error's message.
const wordsLimit = 1000

func prepareOutcome(o *store.Outcome) *wireOutcome {
	w := &wireOutcome{
		Kind: string(o.Kind), Delay: bounded(o.Delay), Wakes: o.Wakes, Reason: clean(o.Reason), Result: o.Result, Error: encodeError(o.Error),
		Progress: prepareProgress(o.Progress), Entries: prepareEntries(o.Entries), Consume: prepareIDs(o.Consume),
	}
	if o.Error != nil {
		w.Words = clean(o.Error.Message[:min(len(o.Error.Message), wordsLimit)])
	}
	for i := range o.Groups {
		w.Groups = append(w.Groups, prepareGroup(&o.Groups[i]))
	}
	for i := range o.Follow {
		w.Follow = append(w.Follow, prepare(&o.Follow[i]))
	}
	return w
}

// plainDone reports whether an outcome is done and brings nothing but a result, entries and progress.
func plainDone(o *store.Outcome) bool {
	return o.Kind == store.OutcomeDone && o.Error == nil && len(o.Consume) == 0 && len(o.Groups) == 0 && len(o.Follow) == 0
}

// decodeStaged reads a staged outcome.
func decodeStaged(b []byte) (*store.Outcome, bool) {
	if b == nil {
		return nil, true
	}
	var w wireOutcome
	if err := json.Unmarshal(b, &w); err != nil {
		return nil, false
	}
	o := &store.Outcome{Kind: store.OutcomeKind(w.Kind), Delay: time.Duration(w.Delay), Wakes: w.Wakes, Reason: w.Reason, Result: w.Result}
	if w.Whole != nil {
		o.Delay, o.Reason = w.Whole.Delay, string(w.Whole.Reason)
		if w.Whole.Empty {
			o.Entries = map[string][]byte{}
		}
	}
	var ok bool
	if o.Error, ok = decodeError(w.Error); !ok {
		return nil, false
	}
	if w.Progress != nil {
		o.Progress = stagedProgress(b)
	}
	for _, e := range w.Entries {
		if o.Entries == nil {
			o.Entries = map[string][]byte{}
		}
		o.Entries[string(e[0])] = e[1]
	}
	for _, id := range w.Consume {
		o.Consume = append(o.Consume, store.ID(id))
	}
	for i := range w.Groups {
		g, fine := w.Groups[i].group()
		ok = ok && fine
		o.Groups = append(o.Groups, g)
	}
	for _, s := range w.Follow {
		if s == nil {
			return nil, false
		}
		spec, fine := s.spec()
		ok = ok && fine
		o.Follow = append(o.Follow, spec)
	}
	return o, ok
}

// stagedProgress reads the progress of a staged outcome.
func stagedProgress(b []byte) *store.Progress {
	var w struct {
		Progress [3]json.RawMessage `json:"progress"`
	}
	p := &store.Progress{}
	var note []byte
	if json.Unmarshal(b, &w) != nil || json.Unmarshal(w.Progress[0], &p.Done) != nil || json.Unmarshal(w.Progress[1], &p.Total) != nil ||
		json.Unmarshal(w.Progress[2], &note) != nil {
		return nil
	}
	p.Note = string(note)
	return p
}

// validate says what of an outcome can never be applied.
func validate(out *store.Outcome) error {
	switch out.Kind {
	case store.OutcomeDone, store.OutcomeFail, store.OutcomeCancel, store.OutcomeRetry, store.OutcomeSnooze, store.OutcomePark, store.OutcomeRelease:
	case store.OutcomeHold:
		if out.Reason == "" || out.Reason == store.ReasonGroup {
			return fmt.Errorf("%w: an outcome that holds needs a reason of its own, not %q", store.ErrInvalid, out.Reason)
		}
	default:
		return fmt.Errorf("%w: outcome %q is not known", store.ErrInvalid, out.Kind)
	}
	if len(out.Follow) > store.FollowLimit {
		return fmt.Errorf("%w: %d follow-ups; at most %d are allowed: submit more through a group", store.ErrInvalid, len(out.Follow), store.FollowLimit)
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
