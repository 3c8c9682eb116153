package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// ID names a task, a group, a message or a claim: 16 bytes, written as a UUID. The zero ID names nothing.
type ID [16]byte

// MakeID makes a UUIDv7 of the time and of 16 random bytes, of which it uses 74 bits. Ids made later sort later, to the
// millisecond.
func MakeID(now time.Time, random [16]byte) ID {
	id := ID(random)
	putTime(&id, now)
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// putTime writes a time into the first bytes of an id, so that it sorts by it.
func putTime(id *ID, t time.Time) {
	ms := uint64(max(t.UnixMilli(), 0))
	binary.BigEndian.PutUint16(id[0:2], uint16(ms>>32))
	binary.BigEndian.PutUint32(id[2:6], uint32(ms))
}

// DeriveID makes an id of its parts: the same parts, the same id. It is a UUIDv8, so it never meets one of MakeID.
func DeriveID(parts ...string) ID {
	h := sha256.New()
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var id ID
	copy(id[:], h.Sum(nil))
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// OnEndID is the id of the task that follows the ending of id in the given round.
func OnEndID(id ID, round int) ID { return DeriveID("end", id.String(), fmt.Sprint(round)) }

// CloseID is the id of the task that follows the closing of a group in the given generation.
func CloseID(group ID, generation int) ID {
	return DeriveID("close", group.String(), fmt.Sprint(generation))
}

// TickID is the id of the task of one tick of a schedule. Those of later ticks sort later, to the millisecond, so that ticks in an
// ordered lane run in their order.
func TickID(schedule string, version int64, tick time.Time) ID {
	id := DeriveID("tick", schedule, fmt.Sprint(version), fmt.Sprint(tick.UnixNano()))
	putTime(&id, tick)
	return id
}

// IsZero reports whether id names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// String writes id as a UUID in lower case; the zero ID as an empty string.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	text, _ := id.MarshalText()
	return string(text)
}

// MarshalText writes id as a UUID in lower case; the zero ID as an empty text.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return []byte{}, nil
	}
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	hex.Encode(b[9:13], id[4:6])
	hex.Encode(b[14:18], id[6:8])
	hex.Encode(b[19:23], id[8:10])
	hex.Encode(b[24:36], id[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return b[:], nil
}

// UnmarshalText reads what MarshalText writes.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseID reads a UUID of 36 letters, upper or lower case. An empty text is the zero ID.
func ParseID(text string) (ID, error) {
	var id ID
	if text == "" {
		return id, nil
	}
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return id, fmt.Errorf("%w: %.40q is not an id; an id looks like 0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c", ErrInvalid, text)
	}
	digits := text[0:8] + text[9:13] + text[14:18] + text[19:23] + text[24:36]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID{}, fmt.Errorf("%w: %.40q is not an id: %w", ErrInvalid, text, err)
	}
	return id, nil
}
