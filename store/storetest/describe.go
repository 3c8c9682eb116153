package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// describer writes answers down so that two engines can be compared: times as the distance from the start of their world, what
// an engine may choose freely not at all.
type describer struct {
	start time.Time
	exact bool // the clock stands still between steps: times are compared, not only whether they are set
}

// free are the fields that engines may fill as they like.
var free = map[string]bool{
	"Task.Version": true, "Task.UpdatedAt": true, "Group.Version": true, "Group.UpdatedAt": true, "Event.Text": true,
	"ClaimResult.Cursors": true, "Page.Cursor": true,
}

// loose are the fields that are compared only where time stands still.
var loose = map[string]bool{
	"BeatResult.Suspects": true, "RecoverResult.Gated": true, "Minute.At": true, "LaneStatus.OldestAt": true, "QueueStatus.OldestAt": true,
}

func (d describer) text(v any) string {
	var b strings.Builder
	d.write(&b, reflect.ValueOf(v))
	return b.String()
}

func (d describer) write(b *strings.Builder, v reflect.Value) {
	if !v.IsValid() {
		b.WriteString("-")
		return
	}
	switch x := v.Interface().(type) {
	case time.Time:
		b.WriteString(d.time(x))
		return
	case time.Duration:
		if !d.exact && x != 0 {
			b.WriteString("some time")
			return
		}
		b.WriteString(x.String())
		return
	case store.ID:
		b.WriteString(x.String())
		return
	case []byte:
		fmt.Fprintf(b, "%q", x)
		return
	case error:
		b.WriteString(sentinel(x))
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		d.write(b, v.Elem())
	case reflect.Struct:
		d.writeStruct(b, v)
	case reflect.Slice:
		d.writeList(b, v)
	case reflect.Map:
		d.writeMap(b, v)
	default:
		fmt.Fprintf(b, "%v", v.Interface())
	}
}

func (d describer) time(at time.Time) string {
	switch {
	case at.IsZero():
		return "never"
	case !d.exact:
		return "a time"
	}
	return at.Sub(d.start).Round(time.Microsecond).String()
}

func (d describer) writeStruct(b *strings.Builder, v reflect.Value) {
	name := v.Type().Name()
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	b.WriteString("{")
	for i := range v.NumField() {
		field := v.Type().Field(i)
		full := name + "." + field.Name
		if free[full] || loose[full] && !d.exact || v.Field(i).IsZero() {
			continue
		}
		// What the store itself says of an error is for people; the type is for machines.
		if full == "Error.Message" && v.FieldByName("Type").String() != "" {
			continue
		}
		b.WriteString(field.Name + ":")
		d.write(b, v.Field(i))
		b.WriteString(" ")
	}
	b.WriteString("}")
}

// writeList writes a list; one whose order the contract leaves open is sorted.
func (d describer) writeList(b *strings.Builder, v reflect.Value) {
	items := make([]string, v.Len())
	for i := range items {
		items[i] = d.text(v.Index(i).Interface())
	}
	switch v.Interface().(type) {
	case []store.Recovered, []store.HeldTask, []store.Worker, []store.Pause, []store.Minute:
		slices.Sort(items)
	}
	b.WriteString("[" + strings.Join(items, ", ") + "]")
}

func (d describer) writeMap(b *strings.Builder, v reflect.Value) {
	var items []string
	for _, key := range v.MapKeys() {
		items = append(items, d.text(key.Interface())+"="+d.text(v.MapIndex(key).Interface()))
	}
	slices.Sort(items)
	b.WriteString("(" + strings.Join(items, ", ") + ")")
}

// sentinel is what a caller decides on.
func sentinel(err error) string {
	var names []string
	for _, e := range []error{
		store.ErrFenced, store.ErrDead, store.ErrNotFound, store.ErrDuplicate, store.ErrState, store.ErrChanged, store.ErrInvalid, store.ErrClosed,
	} {
		if errors.Is(err, e) {
			names = append(names, e.Error())
		}
	}
	if len(names) == 0 {
		return "unknown error: " + err.Error()
	}
	return strings.Join(names, " and ")
}
