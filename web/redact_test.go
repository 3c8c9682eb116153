package web_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
	"github.com/outlast-go/outlast/web"
)

// mirror seals by turning letters around: enough to see whether something was opened.
type mirror struct{}

func (mirror) Seal(_ string, plain []byte) ([]byte, error) {
	return append([]byte("sealed:"), turn(plain)...), nil
}

func (mirror) Open(_ string, sealed []byte) ([]byte, error) {
	return turn([]byte(strings.TrimPrefix(string(sealed), "sealed:"))), nil
}

func turn(data []byte) []byte {
	out := make([]byte, len(data))
	for i, c := range data {
		out[len(data)-1-i] = c
	}
	return out
}

func TestSealedTasksStaySealedUnlessTheyAreRevealed(t *testing.T) {
	t.Parallel()
	k, _ := kerneltest.StartOn(t, memory.New(memory.Config{}), kernel.Config{Sealer: mirror{}}, map[string]kernel.Handler{
		"job.bad": func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
			r.Progress(1, 2, "note of Waldo")
			if err := r.Save(ctx, map[string][]byte{"entry": []byte("entry of Waldo")}); err != nil {
				return kernel.Outcome{}, err
			}
			return kernel.Failed("permanent", errors.New("error of Waldo"), []byte("result of Waldo")), nil
		},
	})
	id := submit(t, k, kernel.Spec{Kind: "job.bad", Args: []byte(`{"of":"args of Waldo"}`)})
	ended(t, k, id)
	words := []string{"args of Waldo", "note of Waldo", "entry of Waldo", "error of Waldo", "result of Waldo"}
	s := open(t, k, web.Config{})
	for _, where := range []string{"/task/" + id.String(), "/tasks", "/dead", "/"} {
		if body := s.get(where); strings.Contains(body, "Waldo") {
			t.Errorf("%s shows what is sealed", where)
		}
	}
	if body := s.get("/task/" + id.String()); !strings.Contains(body, "Sealed, ") {
		t.Error("the page does not say that it is sealed")
	}
	body := open(t, k, web.Config{Reveal: true}).get("/task/" + id.String())
	for _, word := range words {
		if !strings.Contains(body, word) {
			t.Errorf("with Reveal the page does not show %q", word)
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	k := still(t)
	id := submit(t, k, kernel.Spec{Kind: "call.send", Args: []byte(`{"method":"POST","url":"https://ann:pw1@h.example/x?api_key=pw2&page=3","header":{"Authorization":["Bearer pw3"],"X-Plain":["shown"]},"deep":[{"password":"pw4"}],"card":"pw5","sealed":false}` +
		"\n" + `{"token":"pw6","note":"body"}`)})
	body := open(t, k, web.Config{Redact: func(_ kernel.Task, field, text string) string {
		return strings.ReplaceAll(text, "shown", field+" seen")
	}}).get("/task/" + id.String())
	for _, secret := range []string{"pw1", "pw2", "pw3", "pw4", "pw5", "pw6"} {
		if strings.Contains(body, secret) {
			t.Errorf("the page shows %s", secret)
		}
	}
	for _, want := range []string{"page=3", "h.example", "args seen", "body"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}
