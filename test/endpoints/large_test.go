package endpoints_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/blob"
	"github.com/outlast-go/outlast/blob/file"
	"github.com/outlast-go/outlast/endpoint"
	"github.com/outlast-go/outlast/kernel"
)

// blobFolder is a place for blobs, and counts what lies there.
func blobFolder(t *testing.T) (stores []blob.Named, count func() int) {
	t.Helper()
	dir := t.TempDir()
	st, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return []blob.Named{{Name: "files", Store: st}}, func() int {
		n := 0
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				n++
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return n
	}
}

func sum(data []byte) string { return fmt.Sprintf("%d %x", len(data), sha256.Sum256(data)) }

// Large bodies, JSON, raw and files, lie beside the record: the args stay small, repeats are told apart, and what is refused leaves
// nothing behind. FT-26
func TestLargeBodiesLieBesideTheRecord(t *testing.T) {
	const large = 3 << 20
	raws := endpoint.Define("raws", func(_ context.Context, in endpoint.Request[[]byte]) (string, error) { return sum(in.Body), nil })
	texts := endpoint.Define("texts", func(_ context.Context, in endpoint.Request[Order]) (string, error) {
		text := sum([]byte(in.Body.Item))
		for _, f := range in.Files {
			text += " " + f.Name + " " + sum(f.Data)
		}
		return text, nil
	}).Validate(func(_ http.ResponseWriter, _ *http.Request, in endpoint.Request[Order]) error {
		if in.Body.Item == "" {
			return fmt.Errorf("no item")
		}
		return nil
	})
	t.Parallel()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			stores, count := blobFolder(t)
			p := newPlace(t, setup{kernel: kernel.Config{Blobs: stores}}, e.open(t, setup{}.timing))
			p.mux.Handle("POST /raws", raws.Handler(p.k, endpoint.Config{Site: p.site, MaxBody: 2 * large}))
			p.mux.Handle("POST /texts", texts.Handler(p.k, endpoint.Config{Site: p.site, MaxBody: 2 * large}))
			body := strings.Repeat("0123456789abcdef", large/16)
			multipart := "--b\r\nContent-Disposition: form-data; name=\"item\"\r\n\r\ntea\r\n" +
				"--b\r\nContent-Disposition: form-data; name=\"scan\"; filename=\"a.bin\"\r\n\r\n" + body + "\r\n--b--\r\n"
			first := p.accepted("/raws", body, "Content-Type", "image/x", "Idempotency-Key", "k")
			again := p.accepted("/raws", body, "Content-Type", "image/x", "Idempotency-Key", "k")
			if first.doc.ID != again.doc.ID || count() != 1 {
				t.Errorf("a repeat is %s and leaves %d blobs, want %s and 1", again.doc.ID, count(), first.doc.ID)
			}
			p.want(p.send("POST", "/raws", body+"!", "Content-Type", "image/x", "Idempotency-Key", "k"), 422, "other content")
			p.want(p.send("POST", "/raws", strings.Repeat(body, 3), "Content-Type", "image/x"), 413, "over MaxBody")
			p.want(p.send("POST", "/texts", strings.Replace(multipart, "tea", "", 1), "Content-Type", "multipart/form-data; boundary=b"), 422, "validation")
			if n := count(); n != 1 {
				t.Errorf("what was refused leaves %d blobs, want none beside the one", n-1)
			}
			text := p.accepted("/texts", `{"item":"`+body+`"}`)
			files := p.accepted("/texts", multipart, "Content-Type", "multipart/form-data; boundary=b")
			for _, task := range p.tasks() {
				if len(task.Args) > 2000 {
					t.Errorf("the args of %s have %d bytes, want the large part elsewhere", task.Kind, len(task.Args))
				}
			}
			p.work(func(k *kernel.Kernel) { raws.Serve(k); texts.Serve(k) }, kernel.Config{Blobs: stores})
			whole := sum([]byte(body))
			for location, want := range map[string]string{
				first.Header.Get("Location"): whole, text.Header.Get("Location"): whole, files.Header.Get("Location"): sum([]byte("tea")) + " a.bin " + whole,
			} {
				var got string
				if err := json.Unmarshal(p.ended(location, endpoint.Completed).Result, &got); err != nil || got != want {
					t.Errorf("the function saw %s (%v), want %s", got, err, want)
				}
			}
		})
	}
}
