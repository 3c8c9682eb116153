// Command openapi holds a document against the schema that the OpenAPI Initiative publishes, each schema in it against that of JSON Schema
// 2020-12, and what was really sent and answered against the document; by a validator that others have written.
//
//	openapi DOCUMENT [EXCHANGES]
//
// EXCHANGES has one JSON object per line: method and path as the document has them, the JSON of a request that was answered well, the status
// and the JSON of the answer. It ends with 1 if something is wrong, and tells what.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed openapi-3.1.json
var official []byte

const (
	officialURL = "https://spec.openapis.org/oas/3.1/schema/2022-10-07"
	documentURL = "https://outlast.invalid/openapi.json"
)

// exchange is a request and its answer.
type exchange struct {
	Method, Path string
	Body         json.RawMessage
	Status       int
	Type         string // of the answer
	Answer       json.RawMessage
}

// checker knows a document.
type checker struct {
	*jsonschema.Compiler
	doc   any
	known map[string]*jsonschema.Schema // by pointer
	wrong []string
}

func main() {
	c, n, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, text := range c.wrong {
		fmt.Println(text)
	}
	if len(c.wrong) > 0 {
		os.Exit(1)
	}
	fmt.Printf("the document is valid, has %d schemas, and %d exchanges are as it says\n", len(c.known), n)
}

func run(args []string) (*checker, int, error) {
	c := &checker{Compiler: jsonschema.NewCompiler(), known: map[string]*jsonschema.Schema{}}
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	data, err := os.ReadFile(args[0])
	if err != nil {
		return c, 0, err
	}
	if c.doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(data)); err != nil {
		return c, 0, err
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(official))
	if err != nil {
		return c, 0, err
	}
	for url, doc := range map[string]any{officialURL: schema, documentURL: c.doc} {
		if err := c.AddResource(url, doc); err != nil {
			return c, 0, err
		}
	}
	whole, err := c.Compile(officialURL)
	if err != nil {
		return c, 0, err
	}
	if err := whole.Validate(c.doc); err != nil {
		c.wrong = append(c.wrong, "document: "+err.Error())
	}
	c.walk("", c.doc)
	if len(args) < 2 || len(c.wrong) > 0 {
		return c, 0, nil
	}
	n, err := c.exchanges(args[1])
	return c, n, err
}

// walk compiles each schema of the document: one that is none, or refers to none, is told.
func (c *checker) walk(at string, node any) {
	switch v := node.(type) {
	case map[string]any:
		for name, child := range v {
			next := at + "/" + escape(name)
			if name == "schema" || at == "/components/schemas" {
				c.schema(next)
				continue
			}
			c.walk(next, child)
		}
	case []any:
		for i, child := range v {
			c.walk(at+"/"+strconv.Itoa(i), child)
		}
	}
}

func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D").Replace(name)
}

// schema compiles the one at a pointer.
func (c *checker) schema(at string) *jsonschema.Schema {
	if s := c.known[at]; s != nil {
		return s
	}
	s, err := c.Compile(documentURL + "#" + at)
	if err != nil {
		c.wrong = append(c.wrong, "schema "+at+": "+err.Error())
		return nil
	}
	c.known[at] = s
	return s
}

func (c *checker) exchanges(path string) (n int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for ; lines.Scan(); n++ {
		var x exchange
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			return n, err
		}
		at := "/paths/" + escape(x.Path) + "/" + strings.ToLower(x.Method)
		if len(x.Body) > 0 && x.Status < 300 {
			c.hold(at+"/requestBody/content/application~1json/schema", x, x.Body)
		}
		if len(x.Answer) > 0 {
			c.hold(at+"/responses/"+strconv.Itoa(x.Status)+"/content/"+escape(x.Type)+"/schema", x, x.Answer)
		}
	}
	return n, lines.Err()
}

// hold validates a value by the schema at a pointer.
func (c *checker) hold(at string, x exchange, data []byte) {
	s := c.schema(at)
	if s == nil {
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err == nil {
		err = s.Validate(value)
	}
	if err != nil {
		c.wrong = append(c.wrong, fmt.Sprintf("%s %s %d: %v in %.300s", x.Method, x.Path, x.Status, err, data))
	}
}
