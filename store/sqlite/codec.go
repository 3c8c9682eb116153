package sqlite

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/outlast-go/outlast/store"
)

// encoder appends values to a record. A record is read in the order it was written; what a later version adds comes at the
// end, and reads as zero from an older record.
type encoder struct{ b []byte }

func (e *encoder) int(v int64)           { e.b = binary.AppendVarint(e.b, v) }
func (e *encoder) time(t time.Time)      { e.int(nanos(t)) }
func (e *encoder) dur(d time.Duration)   { e.int(int64(d)) }
func (e *encoder) float(f float64)       { e.b = binary.BigEndian.AppendUint64(e.b, math.Float64bits(f)) }
func (e *encoder) id(id store.ID)        { e.b = append(e.b, id[:]...) }
func (e *encoder) text(s string)         { e.int(int64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) flags(flags ...bool)   { e.int(pack(flags)) }
func (e *encoder) err(v store.Error)     { e.text(v.Message); e.text(v.Type); e.bytes(v.Detail) }
func (e *encoder) optional(is bool) bool { e.flags(is); return is }

// bytes keeps nil and empty apart.
func (e *encoder) bytes(b []byte) {
	if b == nil {
		e.int(-1)
		return
	}
	e.int(int64(len(b)))
	e.b = append(e.b, b...)
}

func (e *encoder) labels(m map[string]string) {
	if m == nil {
		e.int(-1)
		return
	}
	e.int(int64(len(m)))
	for k, v := range m {
		e.text(k)
		e.text(v)
	}
}

func pack(flags []bool) (n int64) {
	for i, f := range flags {
		if f {
			n |= 1 << i
		}
	}
	return n
}

// decoder reads what encoder wrote. After a record that makes no sense bad is set, and all values are zero.
type decoder struct {
	b       []byte
	bad     bool
	follows bool // it reads a task that follows an ending
}

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

func (d *decoder) fail() { d.bad, d.b = true, nil }

func (d *decoder) take(n int64) []byte {
	if n < 0 || n > int64(len(d.b)) {
		if n != 0 && len(d.b) > 0 || n > 0 {
			d.fail()
		}
		return nil
	}
	part := d.b[:n:n]
	d.b = d.b[n:]
	return part
}

func (d *decoder) time() time.Time    { return instant(d.int()) }
func (d *decoder) dur() time.Duration { return time.Duration(d.int()) }
func (d *decoder) text() string       { return string(d.take(d.int())) }

func (d *decoder) id() (id store.ID) {
	copy(id[:], d.take(min(int64(len(id)), int64(len(d.b)))))
	return id
}

func (d *decoder) float() float64 {
	part := d.take(min(8, int64(len(d.b))))
	if len(part) < 8 {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64(part))
}

func (d *decoder) bytes() []byte {
	n := d.int()
	if n < 0 {
		return nil
	}
	return slices.Clip(append([]byte{}, d.take(n)...))
}

func (d *decoder) labels() map[string]string {
	n := d.int()
	if n > int64(len(d.b)) {
		d.fail()
	}
	if n < 0 || d.bad {
		return nil
	}
	m := make(map[string]string, n)
	for range n {
		k := d.text()
		m[k] = d.text()
	}
	return m
}

func (d *decoder) flags(flags ...*bool) {
	n := d.int()
	for i, f := range flags {
		*f = n&(1<<i) != 0
	}
}

func (d *decoder) optional() bool { return d.int() == 1 }

func (d *decoder) err() store.Error {
	return store.Error{Message: d.text(), Type: d.text(), Detail: d.bytes()}
}

// format is the first byte of every record.
const format = 1

func encodeSpec(s *store.Spec, into []byte) []byte {
	e := &encoder{b: into[:0]}
	e.int(format)
	e.spec(s)
	return e.b
}

func (e *encoder) spec(s *store.Spec) {
	e.id(s.ID)
	e.text(s.Kind)
	e.text(s.Queue)
	e.text(s.Lane)
	e.text(s.Limit)
	e.text(string(s.Order))
	e.int(int64(s.Priority))
	e.bytes(s.Args)
	e.dur(s.Delay)
	e.time(s.DueAt)
	e.dur(s.StartBy)
	e.dur(s.Timeout)
	e.int(int64(s.Retry.Max))
	e.dur(s.Retry.Base)
	e.float(s.Retry.Factor)
	e.dur(s.Retry.Cap)
	e.flags(s.Retry.CrashSpends, s.Retry.Exact, s.Owned)
	e.text(s.Unique.Key)
	e.text(string(s.Unique.OnConflict))
	e.dur(s.Unique.For)
	e.text(s.Fingerprint)
	e.id(s.Group)
	e.int(s.Line)
	e.id(s.Parent)
	e.labels(s.Labels)
	e.text(s.Correlation)
	e.text(s.Trace)
	e.id(s.Sealed)
	e.dur(s.Retention)
	if e.optional(s.OnEnd != nil) {
		e.spec(s.OnEnd)
	}
}

func (d *decoder) spec() (s store.Spec) {
	s.ID = d.id()
	s.Kind = d.text()
	s.Queue = d.text()
	s.Lane = d.text()
	s.Limit = d.text()
	s.Order = store.Order(d.text())
	s.Priority = int(d.int())
	s.Args = d.bytes()
	s.Delay = d.dur()
	s.DueAt = d.time()
	s.StartBy = d.dur()
	s.Timeout = d.dur()
	s.Retry.Max = int(d.int())
	s.Retry.Base = d.dur()
	s.Retry.Factor = d.float()
	s.Retry.Cap = d.dur()
	d.flags(&s.Retry.CrashSpends, &s.Retry.Exact, &s.Owned)
	s.Unique.Key = d.text()
	s.Unique.OnConflict = store.Conflict(d.text())
	s.Unique.For = d.dur()
	s.Fingerprint = d.text()
	s.Group = d.id()
	s.Line = d.int()
	s.Parent = d.id()
	s.Labels = d.labels()
	s.Correlation = d.text()
	s.Trace = d.text()
	s.Sealed = d.id()
	s.Retention = d.dur()
	if d.optional() {
		if d.follows {
			d.fail() // nothing follows what follows an ending
			return s
		}
		d.follows = true
		next := d.spec()
		s.OnEnd, d.follows = &next, false
	}
	return s
}
