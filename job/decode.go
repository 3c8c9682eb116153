package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/outlast-go/outlast/kernel"
)

// decode reads what encode.JSON wrote. The error has the type "decode" and repeats nothing of what was read, as it is stored and logged
// where the data may be sealed; run is nil where it is neither.
func decode(run *kernel.Run, data []byte, into any) error {
	err := json.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	var wrong *json.UnmarshalTypeError
	var broken *json.SyntaxError
	text := err.Error()
	switch {
	case errors.As(err, &wrong):
		kind, _, _ := strings.Cut(wrong.Value, " ") // after a number comes its value
		text = fmt.Sprintf("%s is a JSON %s and the program has %s", place(wrong.Field), kind, wrong.Type)
	case errors.As(err, &broken):
		text = fmt.Sprintf("it is not JSON (offset %d of %d)", broken.Offset, len(data))
	case run != nil && !run.Task().Sealed.IsZero():
		text = fmt.Sprintf("the task is sealed, and so is the %T", err)
	}
	return kernel.Typed("decode", fmt.Errorf("does not decode: %s", text))
}

func place(field string) string {
	if field == "" {
		return "it"
	}
	return field
}
