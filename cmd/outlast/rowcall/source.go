package rowcall

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/outlast-go/outlast/batch"
)

// record is a row: columns and their values.
type record map[string]json.RawMessage

// Sheet is a file of rows.
type Sheet struct {
	path string
	csv  bool
	temp bool // it is a copy, and goes with the program
	file *os.File
}

// OpenSheet opens a file of rows: CSV with a header, or one JSON object per line, by its ending. "-" is what comes from in, kept in a temporary
// file; form says what it is, csv or jsonl, as it does for other endings.
func OpenSheet(path, form string, in io.Reader) (*Sheet, error) {
	if form == "" {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".csv":
			form = "csv"
		case ".jsonl", ".ndjson", ".json":
			form = "jsonl"
		default:
			return nil, fmt.Errorf("what is in %s, rows as CSV or as JSON lines? Say --form csv or --form jsonl", path)
		}
	}
	s := &Sheet{path: path, csv: form == "csv"}
	if path != "-" {
		f, err := os.Open(path)
		s.file = f
		return s, err
	}
	f, err := os.CreateTemp("", "outlast-rows-*")
	if err != nil {
		return nil, err
	}
	s.file, s.temp = f, true
	if _, err := io.Copy(f, in); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the file.
func (s *Sheet) Close() error {
	err := s.file.Close()
	if s.temp {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	return err
}

// start is a reader of the file from its beginning.
func (s *Sheet) start() (io.Reader, error) {
	_, err := s.file.Seek(0, io.SeekStart)
	return s.file, err
}

// Key names the work that a kitchen makes of the sheet.
func (s *Sheet) Key(k *Kitchen) (string, error) {
	r, err := s.start()
	if err != nil {
		return "", err
	}
	return k.Key(r)
}

// Check tries the recipe: on the header of a CSV text, on the first object of JSON lines. That later objects have all that it names is
// seen when their turn comes.
func (s *Sheet) Check(k *Kitchen) error {
	r, err := s.start()
	if err != nil {
		return err
	}
	if s.csv {
		names, err := csv.NewReader(skipMark(r)).Read()
		if errors.Is(err, io.EOF) {
			return nil // no header, no row; Submit has more to say
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		row := record{}
		for _, n := range names {
			row[strings.TrimSpace(n)] = json.RawMessage(`"x"`)
		}
		return k.Check(row)
	}
	var row record
	if json.NewDecoder(r).Decode(&row) != nil {
		return nil // Submit tells which line is wrong
	}
	return k.Check(row)
}

// skipMark passes over the mark by which some programs begin a text.
func skipMark(r io.Reader) io.Reader {
	var head [3]byte
	n, err := io.ReadFull(r, head[:])
	if err == nil && string(head[:]) == "\xef\xbb\xbf" {
		return r
	}
	return io.MultiReader(strings.NewReader(string(head[:n])), r)
}

// Rows are the rows of the file, those apart of which the kitchen can make no request.
func (s *Sheet) Rows(k *Kitchen) (batch.Source[json.RawMessage], error) {
	r, err := s.start()
	rows := batch.JSONLines[json.RawMessage](r)
	if s.csv {
		rows = batch.CSV[json.RawMessage](r, batch.CSVConfig{})
	}
	return rows.Check(func(in json.RawMessage) error {
		row, err := read(in)
		if err != nil {
			return err
		}
		return k.Check(row)
	}), err
}

// read reads the columns of a row.
func read(in json.RawMessage) (row record, err error) {
	if json.Unmarshal(in, &row) != nil || row == nil {
		return nil, errors.New("it is no JSON object")
	}
	return row, nil
}
