package batch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/outlast-go/outlast/kernel"
)

// File is an output file of a batch: the lines that its rows gave for a name, by line.
type File struct {
	Name  string `json:"name"`
	Lines int64  `json:"lines"`
	Bytes int64  `json:"bytes"`
	Apart bool   `json:"-"` // it stands among the blobs: a process without a place for blobs cannot open it
}

// storedFile is a file and where it is. Without a Ref there is no place for blobs: it is read from the rows.
type storedFile struct {
	File
	Ref kernel.Ref `json:"ref,omitzero"`
}

// Files lists the output files of a batch whose closing task has written them, by name; before that there is none.
func (h *Handle[In, Out]) Files(ctx context.Context) ([]File, error) {
	_, files, err := h.storedFiles(ctx)
	list := make([]File, 0, len(files))
	for _, f := range files {
		f.Apart = !f.Ref.IsZero()
		list = append(list, f.File)
	}
	return list, err
}

// OpenFile returns a reader of an output file, which the caller closes. ErrNoFile says that there is none of this name, or not yet. The end is
// io.EOF only if all of it was there.
func (h *Handle[In, Out]) OpenFile(ctx context.Context, name string) (io.ReadCloser, error) {
	g, files, err := h.storedFiles(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		switch {
		case f.Name != name:
		case f.Ref.IsZero():
			return &rowReader{ctx: ctx, k: h.k, g: g, name: name}, nil
		case f.Ref.Task() != kernel.CloseID(g).String():
			return nil, fmt.Errorf("file %s of batch %s: %w: its reference is not one of this batch", name, h.id, kernel.ErrInvalid)
		default:
			return h.k.OpenBlob(ctx, f.Ref)
		}
	}
	return nil, fmt.Errorf("file %.60q of batch %s: %w", name, h.id, ErrNoFile)
}

func (h *Handle[In, Out]) storedFiles(ctx context.Context) (g kernel.Group, files []storedFile, err error) {
	g, err = h.group(ctx)
	if err != nil || g.State != kernel.GroupClosed {
		return g, nil, err
	}
	t, err := h.k.Get(ctx, kernel.CloseID(g))
	if err == nil {
		var entries map[string][]byte
		if entries, err = h.k.Load(ctx, t, entryFiles); err == nil && entries[entryFiles] != nil {
			err = json.Unmarshal(entries[entryFiles], &files)
		}
	}
	if errors.Is(err, kernel.ErrNotFound) {
		return g, nil, nil // gone by its retention
	}
	return g, files, err
}

// fileLine is one line of one file.
type fileLine struct{ name, text string }

// eachLine goes through the lines that the rows of a batch gave, by row, then by name.
func eachLine(ctx context.Context, k *kernel.Kernel, id kernel.ID, fn func(fileLine) error) error {
	page := kernel.PageRequest{Limit: rowPage, Payload: true}
	for {
		lines, next, err := linePage(ctx, k, id, page)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := fn(l); err != nil {
				return err
			}
		}
		if page.Cursor = next; next == "" {
			return nil
		}
	}
}

// linePage reads the lines of one page of rows: of those that were processed, whether they ended well or not.
func linePage(ctx context.Context, k *kernel.Kernel, id kernel.ID, page kernel.PageRequest) (lines []fileLine, next string, err error) {
	p, err := k.Members(ctx, id, []kernel.TaskState{"done", "failed"}, page)
	if err != nil {
		return nil, "", err
	}
	for i := range p.Items {
		var result rowResult
		if t := &p.Items[i]; len(t.Result) > 0 {
			if err := json.Unmarshal(t.Result, &result); err != nil {
				return nil, "", fmt.Errorf("line %d: %w", t.Line, err)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(result.Files)) {
			lines = append(lines, fileLine{name, result.Files[name] + "\n"})
		}
	}
	return lines, p.Cursor, nil
}

// rowReader reads an output file from the rows, a page at a time.
type rowReader struct {
	ctx  context.Context //nolint:containedctx // of the reader's own span, as OpenFile was given it
	k    *kernel.Kernel
	g    kernel.Group
	name string
	page string
	over bool
	buf  bytes.Buffer
}

func (r *rowReader) Read(p []byte) (int, error) {
	for r.buf.Len() == 0 && !r.over {
		lines, next, err := linePage(r.ctx, r.k, r.g.ID, kernel.PageRequest{Limit: rowPage, Payload: true, Cursor: r.page})
		if err != nil {
			return 0, err
		}
		for _, l := range lines {
			if l.name == r.name {
				r.buf.WriteString(l.text)
			}
		}
		r.page, r.over = next, next == ""
	}
	return r.buf.Read(p)
}

func (r *rowReader) Close() error { return nil }

// stream is a file on its way to its blob.
type stream struct {
	storedFile
	to  *io.PipeWriter
	buf *bufio.Writer
	err error
}

// writeFiles writes the output files of a batch through blobs of its closing task, all at once and none of them in memory. Without a place
// for blobs it counts what is in them.
func writeFiles(ctx context.Context, k *kernel.Kernel, g kernel.Group, task kernel.ID) ([]storedFile, error) {
	streams := map[string]*stream{}
	var writing sync.WaitGroup
	err := eachLine(ctx, k, g.ID, func(l fileLine) error {
		s := streams[l.name]
		if s == nil {
			if len(streams) == filesLimit {
				return kernel.Permanent(kernel.Typed("file", fmt.Errorf("rows name more than %d output files", filesLimit)))
			}
			s = &stream{storedFile: storedFile{File: File{Name: l.name}}}
			streams[l.name] = s
			if k.KeepsBlobs() {
				s.begin(ctx, k, task, &writing)
			}
		}
		return s.write(l.text)
	})
	for _, s := range streams {
		if s.to != nil {
			err = errors.Join(err, s.buf.Flush())
			_ = s.to.CloseWithError(err) // a pipe's never fails; nil is the end of the file
		}
	}
	writing.Wait()
	files := make([]storedFile, 0, len(streams))
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		s := streams[name]
		err = errors.Join(err, s.err)
		files = append(files, s.storedFile)
	}
	if err != nil {
		drop(ctx, k, files)
		return nil, err
	}
	return files, nil
}

// begin puts what is written to the stream into a blob.
func (s *stream) begin(ctx context.Context, k *kernel.Kernel, task kernel.ID, writing *sync.WaitGroup) {
	from, to := io.Pipe()
	s.to, s.buf = to, bufio.NewWriterSize(to, 64<<10)
	writing.Go(func() {
		s.Ref, s.err = k.PutBlob(ctx, task, from)
		_ = from.CloseWithError(errors.Join(s.err, io.ErrClosedPipe)) // whoever still writes is told
	})
}

func (s *stream) write(text string) error {
	s.Lines++
	s.Bytes += int64(len(text))
	if s.to == nil {
		return nil
	}
	_, err := s.buf.WriteString(text)
	return err
}

// drop removes what an attempt has written in vain. What it cannot remove goes with the closing task.
func drop(ctx context.Context, k *kernel.Kernel, files []storedFile) {
	for _, f := range files {
		if !f.Ref.IsZero() {
			_ = k.DropBlob(context.WithoutCancel(ctx), f.Ref)
		}
	}
}
