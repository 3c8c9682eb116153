package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/store"
)

func watchTests() []test {
	return []test{
		{"a submit is noticed by those that serve its queue", watchSubmit},
		{"other queues are not noticed", watchOther},
		{"a submit that runs at once is no work for others", watchTaken},
		{"a release is noticed", watchRelease},
		{"a followed task is noticed when it ends", watchFollow},
		{"follows are counted", watchCounted},
		{"a request is noticed by the owner", watchAsked},
		{"what Promote made ready is noticed", watchPromote},
		{"that it listens is told first", watchStart},
		{"a slot that becomes free is noticed", watchSlot},
		{"an order that becomes free is noticed", watchOrder},
		{"a pause that ends is noticed", watchResume},
		{"a task due sooner than every other is noticed", watchSooner},
		{"who cannot keep up is told to look at everything", watchBehind},
		{"Watch ends with its context", watchEnds},
	}
}

// watcher collects the notices of one Watch.
type watcher struct {
	w       *world
	mu      sync.Mutex
	notices []store.Notice
	came    chan struct{}
}

// patience is how long a notice may take; a virtual clock has no say in it.
const patience = 10 * time.Second

// watch starts a Watch on a handle. It is ended, and waited for, when the test ends.
func (w *world) watch(st store.Store, worker string, queues ...string) *watcher {
	w.t.Helper()
	v := &watcher{w: w, came: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var g sync.WaitGroup
	g.Go(func() {
		if err := st.Watch(ctx, worker, queues, v.take); err != nil && !errors.Is(err, context.Canceled) {
			w.t.Errorf("Watch = %v, want no error", err)
		}
	})
	w.t.Cleanup(func() { cancel(); g.Wait() })
	return v
}

// ready waits until the Watch stands: notices that come before it are nobody's. It follows an id and changes it until heard.
func (v *watcher) ready(st store.Store) *watcher {
	v.w.t.Helper()
	probe := v.w.spec(func(s *store.Spec) { s.Queue, s.Kind = "probe", "probe" })
	st.Follow(probe.ID)
	v.w.submit(probe)
	for range 1000 {
		v.w.ok("Send", v.w.st.Send(v.w.ctx(), store.Message{ID: v.w.id(), Task: probe.ID, Name: "probe"}))
		if v.heard(store.NoticeTask, "", probe.ID, 10*time.Millisecond) {
			st.Unfollow(probe.ID)
			v.w.cancel(probe.ID)
			return v
		}
	}
	v.w.t.Fatalf("Watch heard nothing of a followed task")
	return v
}

func (v *watcher) take(n store.Notice) {
	v.mu.Lock()
	v.notices = append(v.notices, n)
	v.mu.Unlock()
	select {
	case v.came <- struct{}{}:
	default:
	}
}

// has tells whether a notice has come that everybody heeds who waits for what it tells: one that is Moving is none of an ending.
func (v *watcher) has(kind store.NoticeKind, queue string, task store.ID) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, n := range v.notices {
		if n.Kind == kind && (queue == "" || n.Queue == queue) && (task.IsZero() || n.Task == task) && !n.Moving {
			return true
		}
	}
	return false
}

func (v *watcher) heard(kind store.NoticeKind, queue string, task store.ID, within time.Duration) bool {
	end := time.NewTimer(within)
	defer end.Stop()
	for !v.has(kind, queue, task) {
		select {
		case <-v.came:
		case <-end.C:
			return v.has(kind, queue, task)
		}
	}
	return true
}

func (v *watcher) want(kind store.NoticeKind, queue string, task store.ID) {
	v.w.t.Helper()
	if !v.heard(kind, queue, task, patience) {
		v.w.t.Errorf("no notice %q of %s%v came", kind, queue, task)
	}
}

func (v *watcher) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notices = nil
}

func watchSubmit(_ *testing.T, w *world) {
	k := w.join()
	v := w.watch(k.st, k.id, queue).ready(k.st)
	w.put()
	v.want(store.NoticeWork, queue, store.ID{})
}

func watchTaken(t *testing.T, w *world) {
	k, other := w.join(), w.join()
	v := w.watch(other.st, other.id, queue, "after").ready(other.st)
	req := store.SubmitRequest{Specs: []store.Spec{w.spec()}, Claim: &store.ClaimRequest{Worker: k.id, Nonce: w.id()}}
	v.forget()
	res, err := k.st.Submit(w.ctx(), req)
	w.ok("Submit", err)
	w.sameIDs("Claimed", ids(res.Claimed), specIDs(req.Specs))
	w.put(func(s *store.Spec) { s.Queue = "after" })
	v.want(store.NoticeWork, "after", store.ID{})
	if v.has(store.NoticeWork, queue, store.ID{}) {
		t.Errorf("a notice of work came, and the task ran already")
	}
}

func watchOther(t *testing.T, w *world) {
	k := w.join()
	v := w.watch(k.st, k.id, queue).ready(k.st)
	w.put(func(s *store.Spec) { s.Queue = "other" })
	w.put()
	v.want(store.NoticeWork, queue, store.ID{})
	if v.has(store.NoticeWork, "other", store.ID{}) {
		t.Errorf("a notice of an unserved queue came")
	}
}

func watchRelease(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	v := w.watch(k.st, k.id, queue).ready(k.st)
	k.end(task, store.Outcome{Kind: store.OutcomeRelease})
	v.want(store.NoticeWork, queue, store.ID{})
}

func watchFollow(_ *testing.T, w *world) {
	k := w.join()
	client := w.Open(w.t)
	v := w.watch(client, "").ready(client)
	task := k.start()
	client.Follow(task.ID)
	v.forget()
	k.done(task)
	v.want(store.NoticeTask, "", task.ID)
}

func watchCounted(t *testing.T, w *world) {
	k := w.join()
	client := w.Open(w.t)
	v := w.watch(client, "").ready(client)
	twice, once := k.start(), k.start()
	client.Follow(twice.ID)
	client.Follow(twice.ID)
	client.Unfollow(twice.ID)
	client.Follow(once.ID)
	client.Unfollow(once.ID)
	v.forget()
	k.done(once)
	k.done(twice)
	v.want(store.NoticeTask, "", twice.ID)
	if v.has(store.NoticeTask, "", once.ID) {
		t.Errorf("a notice came of a task that nobody follows any more")
	}
}

func watchAsked(_ *testing.T, w *world) {
	k := w.join()
	task := k.start()
	v := w.watch(k.st, k.id, queue).ready(k.st)
	w.cancel(task.ID)
	v.want(store.NoticeAsked, "", task.ID)
}

func watchPromote(_ *testing.T, w *world) {
	k := w.join()
	v := w.watch(k.st, k.id, queue).ready(k.st)
	w.put(w.delay(5))
	w.pass(6)
	v.forget()
	w.promote()
	v.want(store.NoticeWork, queue, store.ID{})
}

func watchEnds(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(w.ctx())
	ended := make(chan error, 1)
	var g sync.WaitGroup
	g.Go(func() { ended <- w.st.Watch(ctx, "", []string{queue}, func(store.Notice) {}) })
	cancel()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatalf("Watch did not end with its context")
	}
	g.Wait()
}

// listen starts a Watch of a worker and forgets what it has heard so far.
func (k *worker) listen() *watcher {
	k.w.t.Helper()
	v := k.w.watch(k.st, k.id, queue).ready(k.st)
	v.forget()
	return v
}

func watchStart(t *testing.T, w *world) {
	v := w.watch(w.st, "", queue)
	v.want(store.NoticeStart, "", store.ID{})
	v.mu.Lock()
	defer v.mu.Unlock()
	if got := v.notices[0].Kind; got != store.NoticeStart {
		t.Errorf("the first notice = %q, want %q", got, store.NoticeStart)
	}
}

func watchSlot(_ *testing.T, w *world) {
	k := w.join()
	w.limit(store.Limit{Key: "one", Running: 1})
	w.submit(w.specs(2, limited("one"))...)
	task := k.take()
	v := k.listen()
	k.done(task)
	v.want(store.NoticeWork, queue, store.ID{})
}

func watchOrder(_ *testing.T, w *world) {
	k := w.join()
	w.chain(2, store.OrderSkip)
	task := k.take()
	v := k.listen()
	k.done(task)
	v.want(store.NoticeWork, queue, store.ID{})
}

func watchResume(_ *testing.T, w *world) {
	k := w.join()
	w.ok("Pause", w.st.Pause(w.ctx(), store.Scope{Queue: queue}, 0, "test"))
	w.put()
	v := k.listen()
	w.ok("Resume", w.st.Resume(w.ctx(), store.Scope{Queue: queue}))
	v.want(store.NoticeWork, queue, store.ID{})
}

func watchSooner(_ *testing.T, w *world) {
	k := w.join()
	w.put(w.delay(50))
	v := k.listen()
	w.put(w.delay(5))
	v.want(store.NoticeWork, queue, store.ID{})
}

// watchBehind holds a reader up while many followed tasks change: afterwards it has heard of each, or of a new start.
func watchBehind(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(w.ctx())
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	started, held, heard := make(chan struct{}), make(chan struct{}), make(chan store.Notice, 4096)
	var once sync.Once
	reading.Go(func() {
		_ = w.st.Watch(ctx, "", nil, func(n store.Notice) { // that it ends with ctx is another case
			once.Do(func() { close(started); <-held })
			heard <- n
		})
	})
	<-started
	specs := w.specs(300)
	left := map[store.ID]bool{}
	for _, s := range specs {
		w.st.Follow(s.ID)
		left[s.ID] = true
	}
	for _, s := range specs {
		w.submit(s)
	}
	close(held)
	first := true
	for len(left) > 0 {
		select {
		case n := <-heard:
			if n.Kind == store.NoticeStart && !first {
				return
			}
			first = false
			delete(left, n.Task)
		case <-time.After(patience):
			t.Fatalf("%d of %d changes were neither noticed nor made up for by a new start", len(left), len(specs))
		}
	}
}
