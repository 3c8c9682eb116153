package encode_test

import (
	"strings"
	"testing"

	"github.com/outlast-go/outlast/internal/encode"
)

func TestTheErrorNamesThePartThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	type inner struct{ F func() }
	for _, c := range []struct {
		value any
		where string
	}{
		{map[string]any{"a": []any{1, make(chan int)}}, "[a][1]"},
		{struct{ In []inner }{[]inner{{}}}, "In[0].F"},
		{func() {}, ""},
	} {
		_, err := encode.JSON(c.value)
		if err == nil || c.where != "" && !strings.Contains(err.Error(), " at "+c.where) {
			t.Errorf("JSON(%T) = %v, want the place %q", c.value, err, c.where)
		}
	}
	if b, err := encode.JSON(map[string]int{"a": 1}); err != nil || string(b) != `{"a":1}` {
		t.Errorf("JSON = %s, %v", b, err)
	}
}
