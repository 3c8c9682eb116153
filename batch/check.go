package batch

import (
	"errors"
	"iter"

	"github.com/outlast-go/outlast/kernel"
)

// Check returns the same rows with a rule that each has to keep: one that does not comes as a *LineError with what the rule said.
func (s Source[In]) Check(rule func(In) error) Source[In] {
	open := s.open
	s.open = func() (iter.Seq2[Row[In], error], func(), error) {
		rows, closing, err := open()
		if err != nil {
			return nil, nil, err
		}
		return func(yield func(Row[In], error) bool) {
			for row, err := range rows {
				var bad *LineError
				if err == nil {
					if err = rule(row.Input); err != nil && !errors.As(err, &bad) {
						err = lineError(row.Line, "%w: %w", kernel.ErrInvalid, err)
					}
				}
				if !yield(row, err) {
					return
				}
			}
		}, closing, nil
	}
	return s
}
