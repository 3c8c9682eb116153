package saga

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// The checkpoint of a saga, whoever wrote it, is taken as it stands or refused as lacking: never half of an entry, and never by a panic.
// What was taken and is written anew reads the same.
func FuzzCheckpoint(f *testing.F) {
	f.Add("step/pay", []byte(`{"state":"done","seq":3,"result":{"a":1},"items":[{"task":"0197f1c2-7d1e-7b0a-9c55-3f0e8f6a1b2c"}],"events":[{"seq":9,"kind":"done"}]}`), []byte(`{"phase":"unwinding"}`))
	f.Add("step/a/0/b", []byte(`null`), []byte(`{"failure":{"fault":null},"stuck":[{}],"locked":[{}]}`))
	f.Add("secret/x", []byte(`{"state":7}`), []byte(`[]`))
	f.Add("step/", []byte(`{"next":"never","task":"x"}`), []byte(`{"since":1e400}`))
	f.Fuzz(func(t *testing.T, name string, entry, whole []byte) {
		e := bare()
		err := e.take(map[string][]byte{name: entry, lifeEntry: whole})
		if err != nil {
			var lacks *lacking
			if !errors.As(err, &lacks) {
				t.Errorf("take = %v; want what is lacking", err)
			}
			return
		}
		if name == lifeEntry || json.Unmarshal(whole, &life{}) != nil {
			return
		}
		again := bare()
		entries := map[string][]byte{lifeEntry: toJSON(e.life)}
		for path, r := range e.rec {
			entries[stepEntry+path] = toJSON(r)
		}
		if err := again.take(entries); err != nil || again.seq != e.seq || len(again.rec) != len(e.rec) {
			t.Errorf("written anew it is %v, %d, %d steps; want %d, %d", err, again.seq, len(again.rec), e.seq, len(e.rec))
		}
		for path, r := range e.rec {
			if got := again.rec[path]; got == nil || got.State != r.State || got.over() != r.over() || !reflect.DeepEqual(got.Items, r.Items) {
				t.Errorf("%s reads as %+v, and then as %+v", path, r, got)
			}
		}
	})
}

func bare() *engine {
	return &engine{life: &life{}, rec: map[string]*record{}, vault: map[string]json.RawMessage{}, dirty: map[string]bool{}}
}

// A name that passes can stand in the path of a checkpoint's entry without meaning another.
func FuzzName(f *testing.F) {
	f.Add("pay")
	f.Add("a/b")
	f.Add("")
	f.Add("é\x00")
	f.Fuzz(func(t *testing.T, name string) {
		if validName(name) && (name == "" || strings.ContainsAny(name, "/\x00\n ")) {
			t.Errorf("validName(%q)", name)
		}
	})
}
