package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/outlast-go/outlast/batch"
	"github.com/outlast-go/outlast/kernel"
)

// Download is the verb of taking an output file of a batch. It changes nothing, so ReadOnly allows it.
const Download = "download"

// fileTypes are the types that a download may have. What a browser would show as a page is none of them, whatever it is called.
var fileTypes = map[string]string{
	".csv": "text/csv; charset=utf-8", ".tsv": "text/tab-separated-values; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".json": "application/json", ".jsonl": "application/x-ndjson", ".ndjson": "application/x-ndjson",
}

// file sends an output file of a batch, as something to be kept, not shown. Its length is told before: who gets less knows it.
func (q *request) file(ctx context.Context, w http.ResponseWriter) {
	name := q.r.URL.Query().Get("name")
	text := strings.TrimPrefix(q.where, "file/")
	a := Action{Verb: Download, Page: "batch", Target: []string{text, name}}
	f, r, err := q.openFile(ctx, a, text, name)
	q.audit(ctx, form{q: q}, a, done{count: boolInt(err == nil)}, err)
	if err != nil {
		q.fail(w, statusOf(err), err)
		return
	}
	defer func() { _ = r.Close() }() // it was read
	head := w.Header()
	head.Set("Content-Type", "application/octet-stream")
	if known, ok := fileTypes[strings.ToLower(path.Ext(name))]; ok {
		head.Set("Content-Type", known)
	}
	head.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(name)}))
	head.Set("Content-Length", strconv.FormatInt(f.Bytes, 10))
	if q.r.Method == http.MethodHead {
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // who cannot set it is cut off, and sees that the file is short
	if _, err := io.Copy(w, r); err != nil && ctx.Err() == nil {
		q.h.cfg.Logger.Error("file of a batch not sent whole", "batch", text, "err", err)
	}
}

// openFile finds a file that somebody may have.
func (q *request) openFile(ctx context.Context, a Action, batchID, name string) (f batch.File, r io.ReadCloser, err error) {
	id, err := kernel.ParseID(batchID)
	if err != nil || id.IsZero() {
		return f, nil, errNoPage
	}
	if q.now, err = q.h.k.Now(ctx); err != nil {
		return f, nil, err
	}
	if err := q.allowed(a); err != nil {
		return f, nil, err
	}
	g, err := q.h.k.Group(ctx, id)
	if err != nil {
		return f, nil, err
	}
	if q.sealedFiles(ctx, g) {
		return f, nil, errRefused{errors.New("what this batch carries is sealed")}
	}
	h := batch.Open(q.h.k, id)
	files, err := h.Files(ctx)
	if err != nil {
		return f, nil, err
	}
	i := slices.IndexFunc(files, func(f batch.File) bool { return f.Name == name })
	if i < 0 || files[i].Apart && !q.h.k.KeepsBlobs() {
		return f, nil, fmt.Errorf("%w: the batch has no file of this name that can be had here", kernel.ErrNotFound)
	}
	r, err = h.OpenFile(ctx, name)
	return files[i], r, err
}

// sealedFiles reports whether the files of a group must not be shown: its closing task, which has written them, is sealed.
func (q *request) sealedFiles(ctx context.Context, g kernel.Group) bool {
	if g.OnClose == nil {
		return false
	}
	t, err := q.h.k.Get(ctx, kernel.CloseID(g))
	if t.ID.IsZero() && errors.Is(err, kernel.ErrNotFound) {
		return false // gone by its retention, and its files with it
	}
	return err != nil || q.sealed(&t)
}

// fileName is a name that no system takes for a path or for a command.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == '"' || unicode.IsControl(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	if name = strings.TrimLeft(name, "."); name == "" {
		return "file"
	}
	return name
}
