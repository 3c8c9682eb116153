package endpoint

import (
	"encoding"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
)

// decodeForm sets the fields of a struct by the values of a form: by the name in the form tag, else in the json tag, else the field's
// own, whatever its case. A map of strings takes all. What has no field is ignored. The error is a Problem.
func decodeForm(form url.Values, into any) error {
	v := reflect.ValueOf(into).Elem()
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch m := v.Addr().Interface().(type) {
	case *url.Values:
		*m = form
		return nil
	case *map[string]string:
		*m = map[string]string{}
		for name := range form {
			(*m)[name] = form.Get(name)
		}
		return nil
	}
	if v.Kind() != reflect.Struct {
		return problem(http.StatusUnsupportedMediaType, "bad_type", "this endpoint takes no form; send JSON")
	}
	lower := map[string][]string{}
	for name, values := range form {
		lower[strings.ToLower(name)] = values
	}
	return setFields(v, lower)
}

func setFields(v reflect.Value, form map[string][]string) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			if err := setFields(v.Field(i), form); err != nil {
				return err
			}
			continue
		}
		name := fieldName(f)
		values := form[strings.ToLower(name)]
		if name == "" || len(values) == 0 {
			continue
		}
		if !setField(v.Field(i), values) {
			p := problem(http.StatusUnprocessableEntity, "bad_body", "%s must be of type %s", name, f.Type)
			p.More = map[string]any{"errors": []map[string]string{{"pointer": "/" + name, "detail": "must be of type " + f.Type.String()}}}
			return p
		}
	}
	return nil
}

// fieldName returns the name that a field has in a form; empty: none.
func fieldName(f reflect.StructField) string {
	if !f.IsExported() {
		return ""
	}
	for _, tag := range []string{"form", "json"} {
		name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
		if name == "-" {
			return ""
		}
		if name != "" {
			return name
		}
	}
	return f.Name
}

// setField reads values into a field, and reports whether they can be.
func setField(v reflect.Value, values []string) bool {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(values[0])) == nil
	}
	text := values[0]
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setField(v.Elem(), values)
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), len(values), len(values))
		for i := range values {
			if !setField(list.Index(i), values[i:i+1]) {
				return false
			}
		}
		v.Set(list)
		return true
	case reflect.String:
		v.SetString(text)
		return true
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		v.SetBool(b || text == "on") // what a ticked box sends
		return err == nil || text == "on"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return err == nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
		return err == nil
	case reflect.Float32, reflect.Float64:
		n, err := strconv.ParseFloat(text, v.Type().Bits())
		v.SetFloat(n)
		return err == nil
	}
	return false
}
