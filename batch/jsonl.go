package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/outlast-go/outlast/kernel"
)

// lineLimit is how long a line of a file may be.
const lineLimit = 16 << 20

// JSONLines reads rows from a text of one JSON value per line. The line of a row is that of the text; empty lines are passed over. What does
// not decode as In comes as a *LineError with its line, and so does a field that In has not.
func JSONLines[In any](r io.Reader) Source[In] { return fromReader(r, jsonLines[In]) }

func jsonLines[In any](r io.Reader) iter.Seq2[Row[In], error] {
	return func(yield func(Row[In], error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(make([]byte, 0, 64<<10), lineLimit)
		line := int64(0)
		for lines.Scan() {
			line++
			text := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\ufeff")))
			if len(text) == 0 {
				continue
			}
			row := Row[In]{Line: line}
			if err := decodeLine(text, &row.Input); err != nil {
				if !yield(Row[In]{Line: line}, lineError(line, "%w: %w", kernel.ErrInvalid, err)) {
					return
				}
				continue
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				// No LineError: nothing after it can be read.
				err = fmt.Errorf("%w: line %d is longer than %d bytes", kernel.ErrInvalid, line+1, lineLimit)
			}
			yield(Row[In]{Line: line + 1}, err)
		}
	}
}

// decodeLine reads one value, and nothing after it.
func decodeLine(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("the JSON is cut off")
		}
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the JSON value")
	}
	return nil
}
