package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/api"
)

// exchange is what tools/openapi reads.
type exchange struct {
	Method, Path string
	Body         json.RawMessage `json:",omitempty"`
	Status       int
	Type         string
	Answer       json.RawMessage `json:",omitempty"`
}

// record keeps an exchange for the validator that is not ours.
func (p *place) record(method, pattern string, body any, a *answer) {
	p.Helper()
	x := exchange{Method: method, Path: pattern, Status: a.StatusCode, Type: a.Header.Get("Content-Type")}
	if _, text := body.(string); body != nil && !text {
		data, err := json.Marshal(body)
		if err != nil {
			p.Fatal(err)
		}
		x.Body = data
	}
	if strings.HasSuffix(x.Type, "json") {
		x.Answer = json.RawMessage(a.body)
	}
	p.exchanges = append(p.exchanges, x)
}

// judge lets the validator look at a document and at exchanges.
func judge(t *testing.T, doc any, exchanges []exchange) (string, error) {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, x := range exchanges {
		if err := json.NewEncoder(&lines).Encode(x); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string][]byte{"openapi.json": data, "exchanges.jsonl": lines.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "run", "-C", filepath.Join("..", "tools", "openapi"), ".",
		filepath.Join(dir, "openapi.json"), filepath.Join(dir, "exchanges.jsonl"))
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The judge can say no: a document that is none, and an answer that is not as it says.
func TestTheValidatorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	doc := api.Document()
	bad := []exchange{{Method: "GET", Path: "/v1/tasks", Status: 200, Type: "application/json", Answer: json.RawMessage(`{"tasks":[{"id":7}]}`)}}
	if out, err := judge(t, doc, bad); err == nil || !strings.Contains(out, "/v1/tasks 200") {
		t.Errorf("a wrong answer passes: %s", out)
	}
	doc["info"] = "none"
	if out, err := judge(t, doc, nil); err == nil || !strings.Contains(out, "info") {
		t.Errorf("a wrong document passes: %s", out)
	}
}
