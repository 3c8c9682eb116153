package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/batch"
)

// price is a row of the operation that tests serve.
type price struct {
	Item string `json:"item"`
	Cent int    `json:"cent,string"`
}

// pricing doubles prices, and finds some rows not good.
func pricing(fail *atomic.Bool) *batch.Batch[struct{}, price, int] {
	return batch.Define("shop/price", batch.Processor[struct{}, price, int]{
		Row: func(_ context.Context, _ struct{}, row batch.Row[price]) (batch.Result[int], error) {
			if row.Input.Item == "stone" && fail.Load() {
				return batch.Result[int]{}, batch.Permanent(errors.New("stones have no price"))
			}
			return batch.Result[int]{Out: 2 * row.Input.Cent, Files: map[string]string{"good.txt": row.Input.Item}}, nil
		},
	}, batch.Config{Files: true})
}

// rows sends rows, and reads the answer.
func (p *place) rows(want int, query, media, text string, into any) *answer {
	p.Helper()
	p.media = media
	defer func() { p.media = "" }()
	return p.do(want, "POST /v1/batches?"+query, text, into)
}

func (p *place) batches(fail *atomic.Bool) {
	const text = "item,cent\ntea,100\nmilk,80\nstone,1\n"
	var up, again api.Uploaded
	p.rows(201, "app=shop&op=price&held=true&key=november&label=by:ann", "text/csv; charset=utf-8", text, &up)
	p.rows(201, "app=shop&op=price&held=true&key=november&label=by:ann", "text/csv", text, &again)
	if up.Rows != 3 || again.ID != up.ID || !again.Existed {
		p.Errorf("upload = %+v, again = %+v; want one batch of 3 rows", up, again)
	}
	var s api.BatchStatus
	if p.do(200, "GET /v1/batches/{id}", nil, &s, up.ID); s.State != "wait" || s.Name != "shop/price" || s.Labels["by"] != "ann" {
		p.Errorf("batch = %+v, want it to wait", s)
	}
	var change api.BatchChange
	p.do(200, "POST /v1/batches/{id}/release", m{}, &change, up.ID)
	if p.do(200, "GET /v1/batches/{id}?wait=30", nil, &s, up.ID); s.State != "failed" || s.Success != 2 || s.Failed != 1 {
		p.Fatalf("batch = %+v, want 2 of 3 done", s)
	}
	var rows api.BatchRows
	p.do(200, "GET /v1/batches/{id}/rows?state=success&limit=1", nil, &rows, up.ID)
	if len(rows.Rows) != 1 || rows.Rows[0].Line != 2 || string(rows.Rows[0].Result) != "200" || rows.Cursor == "" {
		p.Errorf("rows = %+v, want the first, and where to go on", rows)
	}
	p.do(200, "GET /v1/batches/{id}/rows?state=success,failed&limit=9&cursor="+url.QueryEscape(rows.Cursor), nil, &rows, up.ID)
	if len(rows.Rows) != 2 || rows.Rows[1].State != "failed" || !strings.Contains(rows.Rows[1].Error, "no price") {
		p.Errorf("rows = %+v, want the other two", rows)
	}
	fail.Store(false)
	if p.do(200, "POST /v1/batches/{id}/retry", m{}, &change, up.ID); change.Rows != 1 {
		p.Errorf("retry = %+v, want one row", change)
	}
	if p.do(200, "GET /v1/batches/{id}?wait=30", nil, &s, up.ID); s.State != "success" || s.Generation != 2 {
		p.Errorf("batch = %+v, want it to end well", s)
	}
	var files api.BatchFiles
	if p.do(200, "GET /v1/batches/{id}/files", nil, &files, up.ID); len(files.Files) != 1 || files.Files[0].Lines != 3 {
		p.Errorf("files = %+v", files)
	}
	if a := p.do(200, "GET /v1/batches/{id}/files/{file}", nil, nil, up.ID, "good.txt"); a.body != "tea\nmilk\nstone\n" {
		p.Errorf("the file = %q", a.body)
	}
	p.refused(404, "not_found", "GET /v1/batches/{id}/files/{file}", nil, up.ID, "bad.txt")
	var list api.Batches
	if p.do(200, "GET /v1/batches?app=shop&op=price&limit=1", nil, &list); len(list.Batches) != 1 || list.Batches[0].ID != up.ID || list.Before == "" {
		p.Errorf("list = %+v", list)
	}
	if p.do(200, "GET /v1/batches?app=shop&before="+list.Before, nil, &list); len(list.Batches) != 0 {
		p.Errorf("the next page = %+v, want nothing", list)
	}
	p.rows(201, "op=nobodys&queue=far", "application/x-ndjson", `{"a":1}`+"\n", &up)
	if p.do(200, "POST /v1/batches/{id}/abort", m{"reason": "wrong file"}, &s, up.ID); s.Reason != "wrong file" {
		p.Errorf("abort = %+v", s)
	}
	p.refused(404, "not_found", "GET /v1/batches/{id}", nil, p.k.NewID())
}

// Bad rows are named, each by its line, and nothing of the batch is stored; or the others are, if that was asked for.
func TestBadRowsAreNamed(t *testing.T) {
	t.Parallel()
	p := begin(t, setup{})
	var text strings.Builder
	for i := range 300 {
		if i%2 == 1 {
			fmt.Fprintf(&text, "{\"n\":%d}\n", i)
		} else {
			text.WriteString("{\"n\":\n")
		}
	}
	var problem struct {
		Code    string
		Bad     int
		BadRows []api.BadRow
	}
	p.rows(422, "op=count", "application/x-ndjson", text.String(), &problem)
	if problem.Code != "bad_rows" || problem.Bad != 150 || len(problem.BadRows) != 100 || problem.BadRows[1].Line != 3 || problem.BadRows[1].Error == "" {
		t.Errorf("problem = %+v, want 150 bad rows, and the lines of the first hundred", problem)
	}
	var list api.Batches
	if p.do(200, "GET /v1/batches", nil, &list); len(list.Batches) != 0 {
		t.Errorf("%d batches are there, want none", len(list.Batches))
	}
	var up api.Uploaded
	p.rows(201, "op=count&skip_bad=true", "application/x-ndjson", text.String(), &up)
	if up.Rows != 150 || up.Bad != 150 || len(up.BadRows) != 100 {
		t.Errorf("upload = %+v, want the good ones", up)
	}
	p.rows(422, "op=count", "text/csv", "a,b\n1,2\n3\n", &problem)
	if problem.Bad != 1 || problem.BadRows[0].Line != 3 {
		t.Errorf("problem = %+v, want line 3", problem)
	}
	for _, c := range []struct {
		status            int
		code, query, kind string
	}{
		{422, "invalid", "", "text/csv"},
		{422, "invalid", "op=a%20b", "text/csv"},
		{422, "invalid", "op=a&url=http://x", "text/csv"},
		{422, "invalid", "op=a&held=perhaps", "text/csv"},
		{400, "bad_query", "op=a&attempts=many", "text/csv"},
		{400, "bad_query", "op=a&label=x", "text/csv"},
		{415, "bad_type", "op=a", "application/json"},
		{501, "no_calls", "url=http://x", "text/csv"},
	} {
		var got struct{ Code string }
		if p.rows(c.status, c.query, c.kind, "a\n1\n", &got); got.Code != c.code {
			t.Errorf("%s as %s = %s, want %s", c.query, c.kind, got.Code, c.code)
		}
	}
}

// The bound of uploads is their own, and counts what comes.
func TestAnUploadIsBounded(t *testing.T) {
	t.Parallel()
	p := begin(t, setup{api: api.Config{MaxBody: 100, MaxUpload: 10_000}})
	var up api.Uploaded
	if p.rows(201, "op=count", "text/csv", "n\n"+strings.Repeat("1\n", 1000), &up); up.Rows != 1000 {
		t.Errorf("upload = %+v", up)
	}
	var got struct{ Code string }
	if p.rows(413, "op=count", "text/csv", "n\n"+strings.Repeat("1\n", 10_000), &got); got.Code != "too_large" {
		t.Errorf("code = %s", got.Code)
	}
}

// A worker elsewhere can process rows, and close the batch: its args and results are those that docs/batches.md tells.
func TestRowsCanBeProcessedOverHTTP(t *testing.T) {
	t.Parallel()
	p := begin(t, setup{})
	var up api.Uploaded
	p.rows(201, "app=far&op=double&queue=far", "application/x-ndjson", "{\"n\":1}\n{\"n\":2}\n", &up)
	var w api.Joined
	p.do(201, "POST /v1/workers", m{"name": "py"}, &w)
	kinds := []string{"batch.far/double", "batch-done.far/double"}
	for range 3 {
		var got api.Claimed
		p.do(200, "POST /v1/workers/{worker}/claim", m{"queues": m{"far": 1}, "kinds": kinds, "wait": 30}, &got, w.Worker)
		if len(got.Tasks) != 1 {
			t.Fatalf("claim = %+v", got)
		}
		one := got.Tasks[0]
		var args struct{ In struct{ N int } }
		if err := json.Unmarshal(one.Args, &args); err != nil {
			t.Fatal(err)
		}
		end := m{"fence": one.Fence, "verdict": "done"}
		if one.Kind == kinds[0] {
			end["result"] = m{"out": 2 * args.In.N}
		}
		p.do(200, "POST /v1/tasks/{id}/complete", end, nil, one.ID)
	}
	var s api.BatchStatus
	var rows api.BatchRows
	p.do(200, "GET /v1/batches/{id}?wait=30", nil, &s, up.ID)
	p.do(200, "GET /v1/batches/{id}/rows", nil, &rows, up.ID)
	if s.State != "success" || len(rows.Rows) != 2 || string(rows.Rows[1].Result) != "4" {
		t.Errorf("batch = %+v with %+v, want both rows doubled", s, rows)
	}
}
