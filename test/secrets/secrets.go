// Package secrets plants secrets in everything that users put into tasks, lets the tasks run, and searches for the secrets where
// none may be: files of the store, its logs, blobs, the log of the kernel. A search that finds nothing proves little by
// itself: the same search over a run without a sealer must find every one.
package secrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/kernel/kerneltest"
	"github.com/outlast-go/outlast/store"
)

// Planter makes secrets, one for each place that it is asked for.
type Planter struct {
	mu    sync.Mutex
	texts map[string]string // by place
}

// New makes a planter without secrets.
func New() *Planter { return &Planter{texts: map[string]string{}} }

// At returns the secret of a place: the same each time.
func (p *Planter) At(place string) []byte { return []byte(p.Text(place)) }

// Text is At as a text: a word of letters and digits that occurs nowhere by chance.
func (p *Planter) Text(place string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.texts[place] == "" {
		p.texts[place] = "secret" + rand.Text()
	}
	return p.texts[place]
}

// Large is the secret of a place, over and over: more than stays in a record where there are blobs.
func (p *Planter) Large(place string) []byte { return bytes.Repeat(p.At(place), 5000) }

// Places lists where secrets were planted.
func (p *Planter) Places() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for place := range p.texts {
		list = append(list, place)
	}
	slices.Sort(list)
	return list
}

// Find lists the places whose secrets are in a text: as they are, in hexadecimal, or in base64.
func (p *Planter) Find(text []byte) (found []string) {
	for _, place := range p.Places() {
		if slices.ContainsFunc(forms(p.At(place)), func(form []byte) bool { return bytes.Contains(text, form) }) {
			found = append(found, place)
		}
	}
	return found
}

// FindIn searches all files of a folder, and returns the places by file, each named by its path in the folder.
func (p *Planter) FindIn(t testing.TB, dir string) map[string][]string {
	t.Helper()
	found, files := map[string][]string{}, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went meanwhile
		}
		files++
		if places := p.Find(text); len(places) > 0 {
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			found[name] = places
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("search in %s: %d files, %v", dir, files, err)
	}
	return found
}

// forms are the ways in which an encoding may write a secret. What base64 makes of it depends on where it begins.
func forms(secret []byte) [][]byte {
	list := [][]byte{secret, []byte(hex.EncodeToString(secret))}
	for shift := range 3 {
		code := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		list = append(list, []byte(code[2*shift:len(code)-2]))
	}
	return list
}

// Handlers run what Submit submits. Each puts secrets where handlers can.
func (p *Planter) Handlers() map[string]kernel.Handler {
	return map[string]kernel.Handler{
		"plant.all":  p.runAll,
		"plant.fail": p.runFail,
		"plant.panic": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			panic(p.Text("panic"))
		},
		"plant.large": func(context.Context, *kernel.Run) (kernel.Outcome, error) {
			return kernel.Done(p.Large("large result")), nil
		},
		"plant.done": func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil },
	}
}

// runAll saves, waits for a message, and ends with all that an outcome can carry.
func (p *Planter) runAll(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
	messages, err := r.Messages(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	if len(messages) == 0 {
		out := r.Park(0)
		out.Entries = map[string][]byte{"b": p.At("entry of an outcome")}
		return out, r.Save(ctx, map[string][]byte{"a": p.At("entry of Save")})
	}
	if got := messages[0].Body; !bytes.Equal(got, p.At("message")) {
		return kernel.Outcome{}, kernel.Permanent(errors.New("the message was not opened"))
	}
	r.Progress(1, 2, p.Text("note"))
	return kernel.Outcome{
		Result: p.At("result"),
		Follow: []kernel.Spec{{Kind: "plant.done", Args: p.At("follow-up"), OnEnd: &kernel.Spec{Kind: "plant.done", Args: p.At("OnEnd of a follow-up")}}},
		Groups: []kernel.NewGroup{{Seal: true, OnClose: &kernel.Spec{Kind: "plant.done", Args: p.At("OnClose of an outcome's group")}}},
	}, nil
}

// runFail fails once with a text, and then for good with an outcome of its own.
func (p *Planter) runFail(_ context.Context, r *kernel.Run) (kernel.Outcome, error) {
	if r.Attempt() == 1 {
		return kernel.Outcome{}, errors.New(p.Text("error"))
	}
	return kernel.Outcome{
		Kind: store.OutcomeFail, Reason: "planted",
		Error: &store.Error{Message: p.Text("message of an error"), Detail: p.At("detail of an error")},
	}, nil
}

// Submit submits tasks with secrets in every field that has them, and waits until they have ended, and a tick of the schedule came.
func (p *Planter) Submit(t testing.TB, k *kernel.Kernel) {
	t.Helper()
	all := kernel.Spec{Kind: "plant.all", Args: p.At("args"), OnEnd: &kernel.Spec{Kind: "plant.done", Args: p.At("OnEnd")}}
	group := kernel.NewGroup{Seal: true, OnClose: &kernel.Spec{
		Kind: "plant.done", Args: p.At("OnClose"), OnEnd: &kernel.Spec{Kind: "plant.done", Args: p.At("OnEnd of OnClose")},
	}}
	waiting := kernel.NewGroup{OnClose: &kernel.Spec{Kind: "plant.done", Args: p.At("OnClose of a group that never closes")}}
	first, err := k.Submit(t.Context(), all)
	_, _, err1 := k.SubmitGroup(t.Context(), group, []kernel.Spec{{Kind: "plant.done", Args: p.At("member")}})
	_, _, err2 := k.SubmitGroup(t.Context(), waiting, nil)
	_, err3 := k.SubmitMany(t.Context(), []kernel.Spec{
		{Kind: "plant.fail", Retry: kernel.Retry{Max: 5, Exact: true}},
		{Kind: "plant.panic", Retry: kernel.Retry{Max: 1}},
		{Kind: "plant.done", Args: p.At("args of a task that waits"), Queue: "nobody"},
	})
	_, err4 := k.PutSchedule(t.Context(), kernel.Schedule{Name: "planted", Rule: "every 1s", Task: kernel.Spec{
		Kind: "plant.done", Args: p.At("schedule"), OnEnd: &kernel.Spec{Kind: "plant.done", Args: p.At("OnEnd of a schedule")},
	}})
	large, err6 := k.Submit(t.Context(), kernel.Spec{Kind: "plant.large", Args: p.Large("large args")})
	_, err5 := k.Send(t.Context(), kernel.Message{Task: first.ID, Name: "go", Body: p.At("message")})
	if err := errors.Join(err, err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatalf("plant: %v", err)
	}
	kerneltest.Wait(t, k, first.ID, store.Done)
	kerneltest.Wait(t, k, store.OnEndID(first.ID, 0), store.Done)
	kerneltest.Wait(t, k, large.ID, store.Done)
	for _, kind := range []string{"plant.fail", "plant.panic"} {
		for _, task := range kerneltest.Tasks(t, k, kind) {
			kerneltest.Wait(t, k, task.ID, store.Failed)
		}
	}
	for ticked := false; !ticked; {
		page, err := k.Schedules(t.Context(), store.PageRequest{})
		if err != nil || t.Context().Err() != nil {
			t.Fatalf("no tick came: %v", err)
		}
		ticked = !page.Items[0].LastTask.IsZero()
		<-time.After(10 * time.Millisecond)
	}
}
