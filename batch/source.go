package batch

import (
	"errors"
	"io"
	"iter"
	"os"
)

// Source gives the rows of a Submit or an Append, one after the other: a million of them need not be in memory. Make one with Inputs,
// Slice, Seq, CSV or JSONLines. All but Seq can be gone through twice, and are: what is wrong with any row is known before anything
// is stored.
type Source[In any] struct {
	// open begins at the first row. A row that is not good comes as a *LineError, after which it goes on; any other error is the end.
	open func() (iter.Seq2[Row[In], error], func(), error)
	once bool // it can be gone through once
}

// Inputs makes rows of values, with lines from 1 on.
func Inputs[In any](inputs ...In) Source[In] {
	return again(func(yield func(Row[In], error) bool) {
		for i, in := range inputs {
			if !yield(Row[In]{Line: int64(i) + 1, Input: in}, nil) {
				return
			}
		}
	})
}

// Slice makes a source of rows that have their lines.
func Slice[In any](rows []Row[In]) Source[In] {
	return again(func(yield func(Row[In], error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	})
}

// Seq makes a source of an iterator, which is gone through once. A row that cannot be stored is found on the way: what was stored of the batch
// before it is aborted, and nothing of it runs.
func Seq[In any](seq iter.Seq[Row[In]]) Source[In] {
	s := again(func(yield func(Row[In], error) bool) {
		for r := range seq {
			if !yield(r, nil) {
				return
			}
		}
	})
	s.once = true
	return s
}

func again[In any](seq iter.Seq2[Row[In], error]) Source[In] {
	return Source[In]{open: func() (iter.Seq2[Row[In], error], func(), error) { return seq, func() {}, nil }}
}

// fromReader makes a source of what parse reads. A reader that cannot be rewound is copied to a temporary file the first time.
func fromReader[In any](r io.Reader, parse func(io.Reader) iter.Seq2[Row[In], error]) Source[In] {
	spool := &spool{r: r}
	return Source[In]{open: func() (iter.Seq2[Row[In], error], func(), error) {
		from, err := spool.begin()
		if err != nil {
			return nil, nil, err
		}
		return parse(from), func() {}, nil
	}}
}

// spool lets a reader be read more than once.
type spool struct {
	r     io.Reader
	start int64
	file  io.ReadSeeker
}

func (s *spool) begin() (io.Reader, error) {
	if s.file == nil {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	_, err := s.file.Seek(s.start, io.SeekStart)
	return s.file, err
}

// fill finds out whether the reader can be rewound, and copies it if not. The copy has no name by then: it goes with the process.
func (s *spool) fill() error {
	if seeker, ok := s.r.(io.ReadSeeker); ok {
		if at, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			s.start, s.file = at, seeker
			return nil
		}
	}
	f, err := os.CreateTemp("", "outlast-rows-*")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err := io.Copy(f, s.r); err != nil {
		return errors.Join(err, f.Close())
	}
	s.file = f // closed by its finalizer, as nobody tells when a source is no longer wanted
	return nil
}

// lineSet is a set of lines: sixty-four to a word, as most lines have neighbours.
type lineSet map[int64]uint64

// add reports whether the line was not there.
func (s lineSet) add(line int64) bool {
	word, bit := line>>6, uint64(1)<<(line&63)
	if s[word]&bit != 0 {
		return false
	}
	s[word] |= bit
	return true
}

func (s lineSet) has(line int64) bool { return s[line>>6]&(1<<(line&63)) != 0 }

// check says what is wrong with a line.
func (s lineSet) check(line int64) error {
	switch {
	case line < 1 || line > MaxLine:
		return lineError(line, "%w: it must be from 1 to %d", ErrLine, int64(MaxLine))
	case !s.add(line):
		return lineError(line, "%w: it is there twice", ErrLine)
	}
	return nil
}
