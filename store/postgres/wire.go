package postgres

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// longest bounds durations in what the server adds to its clock, so that nothing overflows: 150 years.
const longest = 150 * 365 * 24 * time.Hour

func bounded(d time.Duration) int64 { return int64(min(d, longest)) }

// nanos is an instant as it is stored; nil is none.
func nanos(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := nano(t)
	return &n
}

// nano is an instant in nanoseconds. One that is too far away for them is as far as they reach.
func nano(t time.Time) int64 {
	switch year := t.UTC().Year(); {
	case year > 2261:
		return math.MaxInt64
	case year < 1678:
		return math.MinInt64
	}
	return t.UnixNano()
}

// instant reads it.
func instant(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return time.Unix(0, *n).UTC()
}

// clean takes out of a free text what the server cannot store in one.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// wireID is an id in a request; the zero id is null.
type wireID store.ID

// MarshalJSON writes a UUID or null.
func (id wireID) MarshalJSON() ([]byte, error) {
	if store.ID(id).IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(store.ID(id).String())
}

// UnmarshalJSON reads it.
func (id *wireID) UnmarshalJSON(b []byte) error {
	var text *string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	if text == nil {
		*id = wireID{}
		return nil
	}
	parsed, err := store.ParseID(*text)
	*id = wireID(parsed)
	return err
}

// wireSpec is a prepared spec: what the steps on the server need of it, and in Rest what readers need besides.
type wireSpec struct {
	ID        wireID            `json:"id"`
	Kind      string            `json:"kind"`
	Queue     string            `json:"queue"`
	Lane      string            `json:"lane,omitempty"`
	Lim       string            `json:"lim,omitempty"`
	Ord       string            `json:"ord,omitempty"`
	Prio      int64             `json:"prio,omitempty"`
	Due       *int64            `json:"due,omitempty"`
	Delay     int64             `json:"delay,omitempty"`
	StartBy   int64             `json:"startby,omitempty"`
	Timeout   int64             `json:"timeout,omitempty"`
	RMax      int64             `json:"rmax,omitempty"`
	RBase     int64             `json:"rbase,omitempty"`
	RFactor   float64           `json:"rfactor,omitempty"`
	RCap      int64             `json:"rcap,omitempty"`
	Spends    bool              `json:"spends,omitempty"`
	UKey      string            `json:"ukey,omitempty"`
	UConf     string            `json:"uconf,omitempty"`
	UFor      int64             `json:"ufor,omitempty"`
	Print     string            `json:"print,omitempty"`
	Grp       *wireID           `json:"grp,omitempty"`
	Line      int64             `json:"line,omitempty"`
	Parent    *wireID           `json:"parent,omitempty"`
	Owned     bool              `json:"owned,omitempty"`
	Retention int64             `json:"retention,omitempty"`
	OnEnd     *wireSpec         `json:"on_end,omitempty"`
	Labels    map[string]string `json:"labels"`
	Args      []byte            `json:"args"`
	Rest      []byte            `json:"rest"`
}

func optional(id store.ID) *wireID {
	if id.IsZero() {
		return nil
	}
	return (*wireID)(&id)
}

func required(id *wireID) store.ID {
	if id == nil {
		return store.ID{}
	}
	return store.ID(*id)
}

// finite is a factor that JSON can say.
func finite(f float64) float64 {
	if math.IsNaN(f) {
		return 0
	}
	return min(max(f, 0), math.MaxFloat64)
}

func prepare(s *store.Spec) *wireSpec {
	w := &wireSpec{
		ID: wireID(s.ID), Kind: s.Kind, Queue: s.Queue, Lane: s.Lane, Lim: s.Limit, Ord: string(s.Order), Prio: int64(s.Priority),
		Due: nanos(s.DueAt), Delay: bounded(s.Delay), StartBy: bounded(s.StartBy), Timeout: bounded(s.Timeout),
		RMax: int64(s.Retry.Max), RBase: bounded(s.Retry.Base), RFactor: finite(s.Retry.Factor), RCap: bounded(s.Retry.Cap),
		Spends: s.Retry.CrashSpends, UKey: s.Unique.Key, UConf: string(s.Unique.OnConflict), UFor: bounded(s.Unique.For),
		Print: s.Fingerprint, Grp: optional(s.Group), Line: s.Line, Parent: optional(s.Parent), Owned: s.Owned,
		Retention: bounded(s.Retention), Labels: s.Labels, Args: s.Args, Rest: encodeRest(s),
	}
	if s.OnEnd != nil {
		w.OnEnd = prepare(s.OnEnd)
	}
	return w
}

// spec is what prepare was given.
func (w *wireSpec) spec() (store.Spec, bool) {
	s, ok := decodeRest(w.Rest)
	s.ID, s.DueAt, s.Group, s.Parent, s.Labels, s.Args = store.ID(w.ID), instant(w.Due), required(w.Grp), required(w.Parent), w.Labels, w.Args
	if w.OnEnd != nil {
		next, fine := w.OnEnd.spec()
		s.OnEnd, ok = &next, ok && fine && next.OnEnd == nil // nothing follows what follows an ending
	}
	return s, ok
}

// wireGroup is a prepared group.
type wireGroup struct {
	ID        wireID            `json:"id"`
	Name      string            `json:"name,omitempty"`
	Hold      bool              `json:"hold,omitempty"`
	Seal      bool              `json:"seal,omitempty"`
	Parent    *wireID           `json:"parent,omitempty"`
	OnClose   *wireSpec         `json:"on_close,omitempty"`
	Labels    map[string]string `json:"labels"`
	Retention int64             `json:"retention,omitempty"` // bounded
	Kept      int64             `json:"kept,omitempty"`      // as it was given
}

func prepareGroup(g *store.NewGroup) wireGroup {
	w := wireGroup{
		ID: wireID(g.ID), Name: g.Name, Hold: g.Hold, Seal: g.Seal, Parent: optional(g.Parent), Labels: g.Labels,
		Retention: bounded(g.Retention), Kept: int64(g.Retention),
	}
	if g.OnClose != nil {
		w.OnClose = prepare(g.OnClose)
	}
	return w
}

func (w *wireGroup) group() (store.NewGroup, bool) {
	g := store.NewGroup{
		ID: store.ID(w.ID), Name: w.Name, Hold: w.Hold, Seal: w.Seal, Parent: required(w.Parent), Labels: w.Labels,
		Retention: time.Duration(w.Kept),
	}
	if w.OnClose == nil {
		return g, true
	}
	next, ok := w.OnClose.spec()
	g.OnClose = &next
	return g, ok
}
