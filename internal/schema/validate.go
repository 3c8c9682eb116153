package schema

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// At walks into nested objects; nil: there is nothing.
func At(v any, path ...string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// Validate says what of a value is not as a schema of an OpenAPI document wants it. It knows as much of JSON Schema as the documents of
// this module use. doc is the document, for references.
func Validate(doc map[string]any, schema, value any) (wrong []string) {
	return (&validator{doc}).validate(schema, value, "")
}

// validator is as much of JSON Schema as the documents use.
type validator struct{ doc map[string]any }

func (v *validator) validate(schema, value any, where string) (wrong []string) {
	s, ok := schema.(map[string]any)
	if !ok {
		return []string{where + " has no schema"}
	}
	if ref, ok := s["$ref"].(string); ok {
		return v.validate(At(v.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...), value, where)
	}
	if choice, ok := s["anyOf"].([]any); ok {
		for _, one := range choice {
			if len(v.validate(one, value, where)) == 0 {
				return nil
			}
		}
		return []string{where + " is none of anyOf"}
	}
	if kinds := words(s["type"]); len(kinds) > 0 && !fits(kinds, value) {
		return []string{fmt.Sprintf("%s is %v, want %v", where, value, kinds)}
	}
	if enum, ok := s["enum"].([]any); ok && !strings.Contains(fmt.Sprintf("%q", enum), fmt.Sprintf("%q", value)) {
		wrong = append(wrong, fmt.Sprintf("%s is %v, want one of %v", where, value, enum))
	}
	if text, ok := value.(string); ok && s["format"] == "date-time" {
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			wrong = append(wrong, where+" is no time")
		}
	}
	return append(wrong, v.parts(s, value, where)...)
}

func (v *validator) parts(s map[string]any, value any, where string) (wrong []string) {
	switch value := value.(type) {
	case []any:
		for i, item := range value {
			if s["items"] == nil {
				break
			}
			wrong = append(wrong, v.validate(s["items"], item, fmt.Sprintf("%s/%d", where, i))...)
		}
	case map[string]any:
		for _, name := range words(s["required"]) {
			if _, ok := value[name]; !ok {
				wrong = append(wrong, where+"/"+name+" is missing")
			}
		}
		for name, part := range value {
			if p := At(s["properties"], name); p != nil {
				wrong = append(wrong, v.validate(p, part, where+"/"+name)...)
			} else if more := s["additionalProperties"]; more != nil {
				wrong = append(wrong, v.validate(more, part, where+"/"+name)...)
			} else if s["properties"] != nil {
				wrong = append(wrong, where+"/"+name+" is not described")
			}
		}
	}
	return wrong
}

func words(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, w := range v {
			list = append(list, fmt.Sprint(w))
		}
	}
	return list
}

func fits(kinds []string, value any) bool {
	have := map[bool]string{true: "integer", false: "number"}
	name := ""
	switch value := value.(type) {
	case nil:
		name = "null"
	case bool:
		name = "boolean"
	case string:
		name = "string"
	case []any:
		name = "array"
	case map[string]any:
		name = "object"
	case float64:
		name = have[value == float64(int64(value))]
	}
	all := strings.Join(kinds, " ")
	return regexp.MustCompile(`\b`+name+`\b`).MatchString(all) || name == "integer" && strings.Contains(all, "number")
}
