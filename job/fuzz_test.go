package job

import (
	"strings"
	"testing"
)

// Args that do not decode are told without repeating them: the text is stored and logged where the args may be sealed.
func FuzzDecode(f *testing.F) {
	f.Add("{\"n\":\"", "\"}")
	f.Add("{\"n\":1", "}")
	f.Add("", "")
	f.Add("[", "]")
	f.Add("{\"at\":\"", "\"}")
	const secret = "hunter2hunter2"
	f.Fuzz(func(t *testing.T, before, after string) {
		var in struct {
			N    int8    `json:"n"`
			S    string  `json:"s"`
			List []bool  `json:"list"`
			F    float64 `json:"f"`
		}
		if err := decode(nil, []byte(before+secret+after), &in); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("decode tells what it read: %v", err)
		}
	})
}
