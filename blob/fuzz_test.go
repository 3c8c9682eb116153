package blob_test

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/outlast-go/outlast/blob"
)

// Whatever passes CheckKey stays below the folder it is put into, and is the same in a URL; a reference from outside is read without a
// panic, and prints no secret.
func FuzzKey(f *testing.F) {
	const good = "0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"
	f.Add(good+"/abcdefgh0123456789", []byte(`{"store":"s","key":"k","size":1,"secret":"c2VjcmV0c2VjcmV0"}`))
	f.Add("../../../../etc/passwd", []byte(`{}`))
	f.Add(good+"/../../../../../../../../../x", []byte(`{"size":-1}`))
	f.Add(strings.Repeat("a", 36)+"/\x00", []byte(`[]`))
	f.Fuzz(func(t *testing.T, key string, ref []byte) {
		if blob.CheckKey(key) == nil {
			if !filepath.IsLocal(key) || path.Clean(key) != key || url.PathEscape(key) != strings.Replace(key, "/", "%2F", 1) || strings.Count(key, "/") != 1 {
				t.Errorf("CheckKey(%q) lets it pass", key)
			}
			if task := blob.Task(key); task != key[:36] {
				t.Errorf("Task(%q) = %q", key, task)
			}
		}
		var r blob.Ref
		if json.Unmarshal(ref, &r) == nil && len(r.Secret) > 8 && r.Store == "" {
			if shown := r.String() + r.GoString(); strings.Contains(shown, string(r.Secret)) && !strings.Contains(r.Key, string(r.Secret)) {
				t.Errorf("a reference prints its secret: %s", shown)
			}
		}
		_ = r.Task()
	})
}
