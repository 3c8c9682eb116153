package postgres

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/outlast-go/outlast/store"
)

// encoder appends values to a record. A record is read in the order it was written; what a later version adds comes at the
// end, and reads as zero from an older record.
type encoder struct{ b []byte }

func (e *encoder) int(v int64)         { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) dur(d time.Duration) { e.int(int64(d)) }
func (e *encoder) text(s string)       { e.int(int64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) id(id store.ID)      { e.b = append(e.b, id[:]...) }

func (e *encoder) float(f float64) {
	e.b = binary.BigEndian.AppendUint64(e.b, math.Float64bits(f))
}

func (e *encoder) bool(is bool) {
	if is {
		e.int(1)
		return
	}
	e.int(0)
}

// decoder reads what encoder wrote. After a record that makes no sense bad is set, and all values are zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() { d.bad, d.b = true, nil }

func (d *decoder) int() int64 {
	if len(d.b) == 0 {
		return 0 // written by a version that did not know of it
	}
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) take(n int64) []byte {
	if n < 0 || n > int64(len(d.b)) {
		d.fail()
		return nil
	}
	part := d.b[:n]
	d.b = d.b[n:]
	return part
}

func (d *decoder) dur() time.Duration { return time.Duration(d.int()) }
func (d *decoder) text() string       { return string(d.take(d.int())) }
func (d *decoder) bool() bool         { return d.int() == 1 }

func (d *decoder) id() (id store.ID) {
	if len(d.b) > 0 {
		copy(id[:], d.take(int64(len(id))))
	}
	return id
}

func (d *decoder) float() float64 {
	if len(d.b) == 0 {
		return 0
	}
	part := d.take(8)
	if part == nil {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(part))
}

// format is the first byte of every record; the function readable knows it, too.
const format = 1

// encodeRest writes what of a spec is read by programs alone. Args, labels and OnEnd, and what the store itself may set (id, parent,
// group, due), have columns of their own.
func encodeRest(s *store.Spec) []byte {
	e := &encoder{b: make([]byte, 0, 128)}
	e.b = append(e.b, format)
	e.text(s.Kind)
	e.text(s.Queue)
	e.text(s.Lane)
	e.text(s.Limit)
	e.text(string(s.Order))
	e.int(int64(s.Priority))
	e.dur(s.Delay)
	e.dur(s.StartBy)
	e.dur(s.Timeout)
	e.int(int64(s.Retry.Max))
	e.dur(s.Retry.Base)
	e.float(s.Retry.Factor)
	e.dur(s.Retry.Cap)
	e.bool(s.Retry.CrashSpends)
	e.bool(s.Retry.Exact)
	e.bool(s.Owned)
	e.text(s.Unique.Key)
	e.text(string(s.Unique.OnConflict))
	e.dur(s.Unique.For)
	e.text(s.Fingerprint)
	e.int(s.Line)
	e.text(s.Correlation)
	e.text(s.Trace)
	e.id(s.Sealed)
	e.dur(s.Retention)
	return e.b
}

// decodeRest reads it; false if it makes no sense.
func decodeRest(b []byte) (s store.Spec, ok bool) {
	if len(b) < 2 || b[0] != format {
		return s, false
	}
	d := &decoder{b: b[1:]}
	s.Kind = d.text()
	s.Queue = d.text()
	s.Lane = d.text()
	s.Limit = d.text()
	s.Order = store.Order(d.text())
	s.Priority = int(d.int())
	s.Delay = d.dur()
	s.StartBy = d.dur()
	s.Timeout = d.dur()
	s.Retry.Max = int(d.int())
	s.Retry.Base = d.dur()
	s.Retry.Factor = d.float()
	s.Retry.Cap = d.dur()
	s.Retry.CrashSpends = d.bool()
	s.Retry.Exact = d.bool()
	s.Owned = d.bool()
	s.Unique.Key = d.text()
	s.Unique.OnConflict = store.Conflict(d.text())
	s.Unique.For = d.dur()
	s.Fingerprint = d.text()
	s.Line = d.int()
	s.Correlation = d.text()
	s.Trace = d.text()
	s.Sealed = d.id()
	s.Retention = d.dur()
	return s, !d.bad
}
