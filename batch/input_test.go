package batch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store/memory"
)

// line is a row of a file.
type line struct {
	Name  string  `json:"name"`
	Count int     `json:"count"`
	Price float64 `json:"price"`
	Good  *bool   `json:"good"`
}

// reading is an operation on such rows; nobody serves it.
var reading = batch.Define("reading", batch.Processor[none, line, int]{
	Row: func(context.Context, none, batch.Row[line]) (batch.Result[int], error) {
		return batch.Result[int]{}, nil
	},
}, batch.Config{})

// once hides that a reader can be rewound.
type once struct{ io.Reader }

// rowsOf submits, and reads back what is stored.
func rowsOf(t *testing.T, src batch.Source[line], opts batch.Options) ([]string, error) {
	t.Helper()
	k := kerneltest.New(t, memory.New(memory.Config{}), kernel.Config{})
	h, err := reading.Submit(t.Context(), k, src, opts)
	if err != nil {
		all, listErr := batch.List(t.Context(), k, batch.ListOptions{})
		if listErr != nil || len(all) != 0 {
			t.Errorf("after %v: List = %+v, %v; want that nothing was stored", err, all, listErr)
		}
		return nil, err
	}
	var list []string
	for r, err := range h.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		good := "-"
		if r.Input.Good != nil {
			good = fmt.Sprint(*r.Input.Good)
		}
		list = append(list, fmt.Sprintf("%d %s %d %g %s", r.Line, r.Input.Name, r.Input.Count, r.Input.Price, good))
	}
	return list, nil
}

func TestRowsAreReadFromFilesWithTheirLines(t *testing.T) {
	t.Parallel()
	csv := "\ufeffname,Count,price,good\nann,1,2.5,true\n\"two\nlines\",2,,\nbob,3,1e3,false\n"
	want := "2 ann 1 2.5 true|3 two\nlines 2 0 -|5 bob 3 1000 false"
	json := "{\"name\":\"ann\",\"count\":1}\n\n  \n{\"name\":\"bob\"}"
	for name, c := range map[string]struct {
		src  batch.Source[line]
		want string
	}{
		"csv":        {batch.CSV[line](strings.NewReader(csv), batch.CSVConfig{}), want},
		"csv once":   {batch.CSV[line](once{strings.NewReader(csv)}, batch.CSVConfig{}), want},
		"no header":  {batch.CSV[line](strings.NewReader("x;4\n"), batch.CSVConfig{Comma: ';', Header: []string{"name", "count"}}), "1 x 4 0 -"},
		"empty":      {batch.CSV[line](strings.NewReader(""), batch.CSVConfig{}), ""},
		"json":       {batch.JSONLines[line](strings.NewReader(json)), "1 ann 1 0 -|4 bob 0 0 -"},
		"json once":  {batch.JSONLines[line](once{strings.NewReader(json)}), "1 ann 1 0 -|4 bob 0 0 -"},
		"sequence":   {batch.Seq(func(yield func(batch.Row[line]) bool) { yield(batch.Row[line]{Line: 7, Input: line{Name: "z"}}) }), "7 z 0 0 -"},
		"any order":  {batch.Slice([]batch.Row[line]{{Line: 9}, {Line: 2}}), "2  0 0 -|9  0 0 -"},
		"the limits": {batch.Slice([]batch.Row[line]{{Line: 1}, {Line: batch.MaxLine}}), fmt.Sprintf("1  0 0 -|%d  0 0 -", int64(batch.MaxLine))},
	} {
		got, err := rowsOf(t, c.src, batch.Options{})
		if err != nil || strings.Join(got, "|") != c.want {
			t.Errorf("%s: rows = %q, %v; want %q", name, got, err, c.want)
		}
	}
}

func TestWhatCannotBeReadIsToldWithItsLineAndNothingIsStored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		src  batch.Source[line]
		want string
	}{
		"line 0":         {batch.Slice([]batch.Row[line]{{Line: 1}, {Line: 0}}), "line 0: bad line number"},
		"line too high":  {batch.Slice([]batch.Row[line]{{Line: batch.MaxLine + 1}}), "bad line number"},
		"twice":          {batch.Slice([]batch.Row[line]{{Line: 3}, {Line: 3}}), "line 3: bad line number: it is there twice"},
		"number":         {batch.CSV[line](strings.NewReader("name,count\na,1\nb,x\n"), batch.CSVConfig{}), `line 3: invalid: column "count": "x" is not a int`},
		"fields":         {batch.CSV[line](strings.NewReader("name,count\na,1\nb\n"), batch.CSVConfig{}), "line 3: invalid: it has 1 fields; the header has 2"},
		"quote":          {batch.CSV[line](strings.NewReader("name,count\na,\"1\n"), batch.CSVConfig{}), "line 2"},
		"unknown column": {batch.CSV[line](strings.NewReader("name,colour\n"), batch.CSVConfig{}), `column "colour" has no field`},
		"column twice":   {batch.CSV[line](strings.NewReader("name,name\n"), batch.CSVConfig{}), "there twice"},
		"no name":        {batch.CSV[line](strings.NewReader("name,\n"), batch.CSVConfig{}), "column 2 has no name"},
		"not JSON":       {batch.JSONLines[line](strings.NewReader("{}\n{\"name\":\n")), "line 2: invalid: the JSON is cut off"},
		"two values":     {batch.JSONLines[line](strings.NewReader("{} {}\n")), "line 1: invalid: there is more"},
		"unknown field":  {batch.JSONLines[line](once{strings.NewReader("{\"colour\":1}\n")}), "line 1: invalid"},
		"too large":      {batch.Inputs(line{Name: strings.Repeat("x", 2<<20)}), "line 1: invalid: the input has"},
	} {
		if _, err := rowsOf(t, c.src, batch.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Submit = %v, want %q", name, err, c.want)
		}
	}
}

func TestBadRowsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	var bad []string
	src := batch.CSV[line](strings.NewReader("name,count\na,1\nb,x\nc\nd,4\n"), batch.CSVConfig{})
	got, err := rowsOf(t, src, batch.Options{Bad: func(e *batch.LineError) { bad = append(bad, fmt.Sprint(e.Line)) }})
	if err != nil || strings.Join(got, "|") != "2 a 1 0 -|5 d 4 0 -" || strings.Join(bad, " ") != "3 4" {
		t.Errorf("rows = %q, bad = %q, %v; want 2 and 5, and 3 and 4 told once", got, bad, err)
	}
}

func TestASequenceThatBreaksOffLeavesNothingThatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ran := false
		b := batch.Define("seq", op(func(context.Context, int64, int) (batch.Result[int], error) {
			ran = true
			return batch.Result[int]{}, nil
		}), batch.Config{})
		k := start(t, kernel.Config{}, b)
		broken := func(lines ...int64) iter.Seq[batch.Row[int]] {
			return func(yield func(batch.Row[int]) bool) {
				for i := int64(1); i <= 2500 && yield(batch.Row[int]{Line: i}); i++ {
				}
				for _, l := range lines {
					yield(batch.Row[int]{Line: l})
				}
			}
		}
		if _, err := b.Submit(t.Context(), k, batch.Seq(broken(17)), batch.Options{Key: "k"}); !errors.Is(err, batch.ErrLine) {
			t.Fatalf("Submit = %v, want ErrLine", err)
		}
		synctest.Wait()
		kerneltest.Drain(t, k)
		all, err := batch.List(t.Context(), k, batch.ListOptions{Name: "SEQ"})
		if err != nil || len(all) != 1 || all[0].State != batch.Aborted || all[0].Success != 0 || ran {
			t.Errorf("List = %+v, %v, ran %v; want an aborted batch of which nothing ran", all, err, ran)
		}
		// The key is free again.
		h, err := b.Submit(t.Context(), k, batch.Seq(broken()), batch.Options{Key: "k"})
		if err != nil || h.Existed() {
			t.Fatalf("Submit of the mended rows = %v", err)
		}
		if s := ended(t, h); s.State != batch.Success || s.Success != 2500 {
			t.Errorf("Status = %+v", s)
		}
	})
}
