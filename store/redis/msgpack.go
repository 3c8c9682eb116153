package redis

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Requests, answers and records travel as msgpack: the scripts read and write it natively, strings are bytes, and whole numbers
// stay whole. Only what the scripts' library knows is used: strings (no bin), numbers, booleans, nil, arrays and maps.

// packer appends values.
type packer struct{ b []byte }

func (p *packer) array(n int) {
	if n < 16 {
		p.b = append(p.b, 0x90|byte(n))
		return
	}
	p.b = binary.BigEndian.AppendUint32(append(p.b, 0xdd), uint32(n))
}

func (p *packer) str(s string) { packStr(p, s) }

// packStr writes text or bytes.
func packStr[T string | []byte](p *packer, s T) {
	switch n := len(s); {
	case n < 32:
		p.b = append(p.b, 0xa0|byte(n))
	case n < 1<<8:
		p.b = append(p.b, 0xd9, byte(n))
	case n < 1<<16:
		p.b = binary.BigEndian.AppendUint16(append(p.b, 0xda), uint16(n))
	default:
		p.b = binary.BigEndian.AppendUint32(append(p.b, 0xdb), uint32(n))
	}
	p.b = append(p.b, s...)
}

// nested writes what fn appends as one string.
func (p *packer) nested(fn func()) {
	p.b = append(p.b, 0xdb, 0, 0, 0, 0)
	at := len(p.b)
	fn()
	binary.BigEndian.PutUint32(p.b[at-4:], uint32(len(p.b)-at))
}

func (p *packer) int(n int64) {
	switch {
	case n >= 0 && n < 128:
		p.b = append(p.b, byte(n))
	case n >= 0 && n < 1<<16:
		p.b = binary.BigEndian.AppendUint16(append(p.b, 0xcd), uint16(n))
	case n >= 0 && n < 1<<32:
		p.b = binary.BigEndian.AppendUint32(append(p.b, 0xce), uint32(n))
	default:
		p.b = binary.BigEndian.AppendUint64(append(p.b, 0xd3), uint64(n))
	}
}

func (p *packer) float(f float64) {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		p.int(int64(f))
		return
	}
	p.b = binary.BigEndian.AppendUint64(append(p.b, 0xcb), math.Float64bits(f))
}

func (p *packer) bool(v bool) {
	if v {
		p.b = append(p.b, 0xc3)
		return
	}
	p.b = append(p.b, 0xc2)
}

// object begins a map whose number of fields is known when it is closed.
func (p *packer) object() *object {
	p.b = append(p.b, 0xde, 0, 0)
	return &object{p: p, at: len(p.b) - 2}
}

// object is a map under way. What is zero is left out, and reads as nil.
type object struct {
	p  *packer
	at int
	n  int
}

// close writes how many fields there are. More than two bytes can count are counted by four.
func (o *object) close() {
	if o.n < 1<<16 {
		binary.BigEndian.PutUint16(o.p.b[o.at:], uint16(o.n))
		return
	}
	o.p.b[o.at-1] = 0xdf
	o.p.b = slices.Insert(o.p.b, o.at, 0, 0)
	binary.BigEndian.PutUint32(o.p.b[o.at:], uint32(o.n))
}

// key begins a field; the value must follow.
func (o *object) key(name string) *packer {
	o.n++
	o.p.str(name)
	return o.p
}

func (o *object) str(name, value string) {
	if value != "" {
		o.key(name).str(value)
	}
}

func (o *object) int(name string, value int64) {
	if value != 0 {
		o.key(name).int(value)
	}
}

func (o *object) bool(name string, value bool) {
	if value {
		o.key(name).bool(true)
	}
}

// bytes leaves out what is nil, and keeps what is empty.
func (o *object) bytes(name string, value []byte) {
	if value != nil {
		packStr(o.key(name), value)
	}
}

// pack makes a map of some fields.
func pack(fields func(o *object)) []byte {
	p := &packer{b: make([]byte, 0, 256)}
	o := p.object()
	fields(o)
	o.close()
	return p.b
}

var errPacked = errors.New("the bytes make no sense")

// deepest is how deep values may lie in one another. What the scripts write is less than half as deep; bytes of another's hand must not
// cost the stack, or a list in every byte.
const deepest = 16

// unpacker reads values. After bytes that make no sense bad is set, and all values are zero.
type unpacker struct {
	b    string
	deep int
	bad  bool
}

func (u *unpacker) fail() any {
	u.bad, u.b = true, ""
	return nil
}

func (u *unpacker) take(n int) string {
	if n < 0 || n > len(u.b) {
		u.fail()
		return ""
	}
	part := u.b[:n]
	u.b = u.b[n:]
	return part
}

func (u *unpacker) uint(size int) (n uint64) {
	for _, c := range []byte(u.take(size)) {
		n = n<<8 | uint64(c)
	}
	return n
}

// value reads the next value: string, int64, float64, bool, nil, []any or map[string]any.
func (u *unpacker) value() any {
	head := u.take(1)
	if head == "" {
		return u.fail()
	}
	switch c := head[0]; {
	case c < 0x80:
		return int64(c)
	case c >= 0xe0:
		return int64(int8(c))
	case c < 0x90:
		return u.fields(int(c & 0x0f))
	case c < 0xa0:
		return u.list(int(c & 0x0f))
	case c < 0xc0:
		return u.take(int(c & 0x1f))
	default:
		return u.wide(c)
	}
}

func (u *unpacker) wide(c byte) any {
	switch c {
	case 0xc0:
		return nil
	case 0xc2, 0xc3:
		return c == 0xc3
	case 0xca:
		return float64(math.Float32frombits(uint32(u.uint(4))))
	case 0xcb:
		return math.Float64frombits(u.uint(8))
	case 0xcc, 0xcd, 0xce, 0xcf:
		return int64(u.uint(1 << (c - 0xcc)))
	case 0xd0:
		return int64(int8(u.uint(1)))
	case 0xd1:
		return int64(int16(u.uint(2)))
	case 0xd2:
		return int64(int32(u.uint(4)))
	case 0xd3:
		return int64(u.uint(8))
	case 0xd9, 0xda, 0xdb:
		return u.take(int(u.uint(1 << (c - 0xd9))))
	case 0xdc, 0xdd:
		return u.list(int(u.uint(2 << (c - 0xdc))))
	case 0xde, 0xdf:
		return u.fields(int(u.uint(2 << (c - 0xde))))
	}
	return u.fail()
}

// inside begins a list or a map of n parts, and reports whether so many can follow.
func (u *unpacker) inside(n int) bool {
	u.deep++
	return n <= len(u.b) && u.deep <= deepest
}

func (u *unpacker) list(n int) any {
	if !u.inside(n) {
		return u.fail()
	}
	defer func() { u.deep-- }()
	list := make([]any, n)
	for i := range list {
		list[i] = u.value()
	}
	return list
}

func (u *unpacker) fields(n int) any {
	if !u.inside(n) {
		return u.fail()
	}
	defer func() { u.deep-- }()
	m := make(record, n)
	for range n {
		name, _ := u.value().(string)
		m[name] = u.value()
	}
	return m
}

// begin reads the head of a map and returns how many fields follow. The scripts write an empty map as an empty array.
func (u *unpacker) begin() int {
	n := 0
	head := u.take(1)
	switch {
	case head == "":
		u.fail()
	case head[0] >= 0x80 && head[0] < 0x90:
		n = int(head[0] & 0x0f)
	case head[0] == 0xde:
		n = int(u.uint(2))
	case head[0] == 0xdf:
		n = int(u.uint(4))
	case head[0] != 0x90:
		u.fail()
	}
	if !u.inside(n) {
		u.fail()
	}
	if u.bad {
		return 0
	}
	return n
}

// str reads a value that should be a string; another one reads as empty.
func (u *unpacker) str() string {
	if len(u.b) > 0 && u.b[0] >= 0xa0 && u.b[0] < 0xc0 { // most are short: as a value each would need room of its own
		n := int(u.take(1)[0] & 0x1f)
		return u.take(n)
	}
	return text(u.value())
}

// int reads a value that should be a number; another one reads as 0.
func (u *unpacker) int() int64 {
	if len(u.b) > 0 {
		switch c := u.b[0]; c {
		case 0xcc, 0xcd, 0xce, 0xcf:
			u.take(1)
			return int64(u.uint(1 << (c - 0xcc)))
		case 0xd3:
			u.take(1)
			return int64(u.uint(8))
		}
	}
	return whole(u.value())
}

// bool reads a value that should be a boolean; another one reads as false.
func (u *unpacker) bool() bool {
	b, _ := u.value().(bool)
	return b
}

// record is a map as it was read. A field that is missing, or of another type, reads as zero.
type record map[string]any

// unpack reads a map.
func unpack(text string) (record, error) {
	m, _, err := unpackFirst(text)
	return m, err
}

// unpackFirst reads a map and returns what stands behind it.
func unpackFirst(text string) (record, string, error) {
	u := &unpacker{b: text}
	v := u.value()
	m, ok := v.(record)
	if list, is := v.([]any); is && len(list) == 0 {
		m, ok = record{}, true // the scripts write an empty map as an empty array
	}
	if u.bad || !ok {
		return nil, "", fmt.Errorf("read a record of %d bytes: %w", len(text), errPacked)
	}
	return m, u.b, nil
}

func (r record) str(name string) string {
	s, _ := r[name].(string)
	return s
}

func (r record) bool(name string) bool {
	b, _ := r[name].(bool)
	return b
}

func (r record) int(name string) int64 { return whole(r[name]) }

func (r record) list(name string) []any {
	list, _ := r[name].([]any)
	return list
}

func (r record) map_(name string) record {
	m, _ := r[name].(record)
	return m
}

// bytes keeps what is missing (nil) and what is empty apart.
func (r record) bytes(name string) []byte {
	s, ok := r[name].(string)
	if !ok {
		return nil
	}
	return []byte(s)
}

func whole(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
