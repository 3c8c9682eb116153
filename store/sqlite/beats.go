package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/outlast-go/outlast/store"
)

// A beat is written into a small file and not into the database: it waits for no writer, and costs no sync. Each worker has a
// file of its own, the one that it holds locked; the pulse of the fleet has one that they share. Nobody locks a file to write
// to it. Of a worker's only the worker writes, of a remote worker's whoever
// speaks for it. The pulse is written by all: who read it before a gap, and writes after it, writes a
// last that is too old to declare anybody dead with, and the next beat begins the pulse anew.

// card is what a worker's file says.
type card struct {
	N    int64      `json:"n"`  // how many beats there were; 0: it has joined, and not beaten yet
	At   int64      `json:"at"` // of the last one, on the store's clock
	Load store.Load `json:"load"`
}

// pulse is what the file of the fleet says.
type pulse struct {
	Since    int64 `json:"since"`    // beats came without a gap since then
	Last     int64 `json:"last"`     // the last beat of anybody
	Suspects int64 `json:"suspects"` // the last time that somebody was told that suspects are its to take
}

// noteLimit bounds what a file may hold.
const noteLimit = 4096

// errNote says that a file holds nothing, or not what was written to it: half of two writes, or another's text.
var errNote = errors.New("nothing that makes sense")

// writeNote writes over what a file holds. One who reads at the same time may see half of it, and can tell.
func writeNote(f io.WriterAt, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	note := make([]byte, 8, 8+len(text))
	binary.LittleEndian.PutUint32(note, uint32(len(text)))
	binary.LittleEndian.PutUint32(note[4:], crc32.ChecksumIEEE(text))
	_, err = f.WriteAt(append(note, text...), 0)
	return err
}

// readNote reads what a file holds. It looks twice, since the first look may fall into a write.
func readNote(f io.ReaderAt, v any) error {
	for range 2 {
		if err := readOnce(f, v); !errors.Is(err, errNote) {
			return err
		}
	}
	return errNote
}

func readOnce(f io.ReaderAt, v any) error {
	note := make([]byte, 8+noteLimit)
	n, err := f.ReadAt(note, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	size := binary.LittleEndian.Uint32(note)
	if n < 8 || int64(size) > int64(n-8) {
		return errNote
	}
	text := note[8 : 8+size]
	if binary.LittleEndian.Uint32(note[4:]) != crc32.ChecksumIEEE(text) || json.Unmarshal(text, v) != nil {
		return errNote
	}
	return nil
}

// path is where others look for the file of a worker.
func (l *locks) path(worker string) string {
	return filepath.Join(l.dir, store.DeriveID("worker", worker).String()+".lock")
}

// card reads the file of a worker; one to which nothing was written holds the zero card.
func (l *locks) card(worker string) (c card, err error) {
	f, err := os.Open(l.path(worker))
	if err != nil {
		return c, err
	}
	defer func() { _ = f.Close() }() // it was only looked at
	if err = readNote(f, &c); err == nil {
		return c, nil
	}
	if info, failed := f.Stat(); failed == nil && info.Size() == 0 {
		err = nil
	}
	return card{}, err
}

// fleet is the file of the pulse.
type fleet struct{ path string }

func newFleet(dir string) *fleet { return &fleet{path: filepath.Join(dir, "pulse")} }

// read returns the pulse; one that cannot be read has not begun.
func (f *fleet) read() (p pulse) {
	file, err := os.Open(f.path)
	if err != nil {
		return pulse{}
	}
	defer func() { _ = file.Close() }() // it was only looked at
	if readNote(file, &p) != nil {
		return pulse{}
	}
	return p
}

func (f *fleet) write(p pulse) error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(writeNote(file, p), file.Close())
}

// beat keeps the pulse: a gap begins it anew, as nobody could beat while the machine or the disk was away. Between reading the clock and
// coming here a process may be overtaken by another: that is no gap, and the later time stands.
func (f *fleet) beat(now time.Time, gap time.Duration) error {
	p := f.read()
	switch ago := now.Sub(instant(p.Last)); {
	case ago > gap || -ago > gap:
		p.Since, p.Last = nanos(now), nanos(now)
	case ago > 0:
		p.Last = nanos(now)
	default:
		return nil
	}
	return f.write(p)
}

// takeSuspects gives the turn at suspects to one worker in a while.
func (f *fleet) takeSuspects(now time.Time, every time.Duration) bool {
	p := f.read()
	if last := instant(p.Suspects); !last.After(now) && now.Sub(last) < every {
		return false
	}
	p.Suspects = nanos(now)
	return f.write(p) == nil // otherwise it stays for somebody's next beat
}

// whole reports whether somebody beat all the time that a worker may be silent, and still does.
func (p pulse) whole(now time.Time, deadAfter time.Duration) bool {
	last := instant(p.Last)
	return !last.After(now) && now.Sub(last) <= deadAfter/3 && last.Sub(instant(p.Since)) >= deadAfter
}

// A doubt is about a card that tells no time that can be: it makes no sense, is missing, or lies in the future. The record of the
// worker says which one it is about.
const (
	noDoubt    = 0
	unreadable = -1
	firstDoubt = 1 // plus the number of the beat
)

// lastBeat tells when a worker has beaten, what it said, and which doubt there could be about it. sure is false if there is one
// that nobody has met before.
func (s *Store) lastBeat(w *worker, now time.Time) (at time.Time, load store.Load, doubt int64, sure bool) {
	if !w.DeadAt.IsZero() {
		return w.BeatAt, w.Load, noDoubt, true
	}
	c, err := s.locks.card(w.ID)
	doubt, at = c.N+firstDoubt, instant(c.At)
	if err != nil {
		doubt = unreadable
	}
	switch {
	case doubt == w.doubt || doubt == unreadable:
		at = w.BeatAt
	case c.N == 0:
		at = w.JoinedAt
	}
	return at, c.Load, doubt, !at.After(now) && (doubt != unreadable || w.doubt == unreadable)
}

// trueBeat is lastBeat for a step that decides by it: where the file tells no time that can be, the worker counts as having
// beaten when a step first met it so. That is on record, for all to see.
func (s *step) trueBeat(w *worker) time.Time {
	at, _, doubt, sure := s.s.lastBeat(w, s.now)
	if !sure {
		at = s.now
		w.BeatAt, w.doubt = at, doubt
		s.do("worker_doubt", w.ID, at, doubt)
	}
	return at
}

// noteBeat writes a beat of a worker, and one of the pulse.
func (s *Store) noteBeat(worker string, load store.Load, now time.Time, gap time.Duration) error {
	last, err := s.locks.card(worker)
	if err != nil {
		last.N = now.UnixNano() // whatever it was: a number that was not there before
	}
	if err := s.locks.note(worker, card{N: last.N + 1, At: nanos(now), Load: load}); err != nil {
		return fmt.Errorf("beat of worker %s: %w", worker, err)
	}
	if err := s.fleet.beat(now, gap); err != nil {
		return fmt.Errorf("beat of worker %s: %w", worker, err)
	}
	return nil
}
