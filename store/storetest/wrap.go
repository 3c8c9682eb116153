package storetest

import (
	"context"
	"time"

	"github.com/outlast-go/outlast/store"
)

// Around is called in place of a call to a store. It runs do never, once or several times, now or later, and returns what the
// caller is to see. What do found goes to the caller only if Around returns nil.
//
//   - die before: return an error without do. The call was not applied.
//   - die after, or an answer that was lost: do, then return an error. The call was applied, and the caller cannot know.
//   - stall: keep do, return an error, and call do when the caller has long given up. A call that is under way in a network
//     may do that.
type Around func(ctx context.Context, op string, do func() error) error

// Wrap puts around between a caller and a store: every method that may fail goes through it under its own name. Info, Follow
// and Unfollow do not: they cannot fail. The result is a store.Stager if st is one.
func Wrap(st store.Store, around Around) store.Store {
	w := wrapped{st, around}
	if stager, ok := st.(store.Stager); ok {
		return wrappedStager{w, stager}
	}
	return w
}

type wrapped struct {
	store.Store
	around Around
}

type wrappedStager struct {
	wrapped
	stager store.Stager
}

var (
	_ store.Store  = wrapped{}
	_ store.Stager = wrappedStager{}
)

// through makes a call that answers something.
func through[T any](ctx context.Context, w wrapped, op string, call func() (T, error)) (T, error) {
	var answer, none T
	err := w.around(ctx, op, func() error {
		got, err := call()
		answer = got
		return err
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

func (w wrappedStager) Stage(ctx context.Context, c store.Completion) error {
	return w.around(ctx, "Stage", func() error { return w.stager.Stage(ctx, c) })
}

func (w wrapped) Submit(ctx context.Context, req store.SubmitRequest) (store.SubmitResult, error) {
	return through(ctx, w, "Submit", func() (store.SubmitResult, error) { return w.Store.Submit(ctx, req) })
}

func (w wrapped) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimResult, error) {
	return through(ctx, w, "Claim", func() (store.ClaimResult, error) { return w.Store.Claim(ctx, req) })
}

func (w wrapped) Complete(ctx context.Context, req store.CompleteRequest) (store.CompleteResult, error) {
	return through(ctx, w, "Complete", func() (store.CompleteResult, error) { return w.Store.Complete(ctx, req) })
}

func (w wrapped) Save(ctx context.Context, req store.SaveRequest) (string, error) {
	return through(ctx, w, "Save", func() (string, error) { return w.Store.Save(ctx, req) })
}

func (w wrapped) Load(ctx context.Context, id store.ID, names ...string) (map[string][]byte, error) {
	return through(ctx, w, "Load", func() (map[string][]byte, error) { return w.Store.Load(ctx, id, names...) })
}

func (w wrapped) Cancel(ctx context.Context, id store.ID, reason string) (store.State, error) {
	return through(ctx, w, "Cancel", func() (store.State, error) { return w.Store.Cancel(ctx, id, reason) })
}

func (w wrapped) Retry(ctx context.Context, id store.ID) error {
	return w.around(ctx, "Retry", func() error { return w.Store.Retry(ctx, id) })
}

func (w wrapped) Free(ctx context.Context, id store.ID) error {
	return w.around(ctx, "Free", func() error { return w.Store.Free(ctx, id) })
}

func (w wrapped) Delete(ctx context.Context, id store.ID) error {
	return w.around(ctx, "Delete", func() error { return w.Store.Delete(ctx, id) })
}

func (w wrapped) Promote(ctx context.Context, limit int) (store.PromoteResult, error) {
	return through(ctx, w, "Promote", func() (store.PromoteResult, error) { return w.Store.Promote(ctx, limit) })
}

func (w wrapped) Prune(ctx context.Context, limit int) (int, error) {
	return through(ctx, w, "Prune", func() (int, error) { return w.Store.Prune(ctx, limit) })
}

func (w wrapped) Join(ctx context.Context, req store.JoinRequest) error {
	return w.around(ctx, "Join", func() error { return w.Store.Join(ctx, req) })
}

func (w wrapped) Beat(ctx context.Context, req store.BeatRequest) (store.BeatResult, error) {
	return through(ctx, w, "Beat", func() (store.BeatResult, error) { return w.Store.Beat(ctx, req) })
}

func (w wrapped) Leave(ctx context.Context, worker string) (bool, error) {
	return through(ctx, w, "Leave", func() (bool, error) { return w.Store.Leave(ctx, worker) })
}

func (w wrapped) Recover(ctx context.Context, req store.RecoverRequest) (store.RecoverResult, error) {
	return through(ctx, w, "Recover", func() (store.RecoverResult, error) { return w.Store.Recover(ctx, req) })
}

func (w wrapped) Holds(ctx context.Context, worker string) ([]store.HeldTask, error) {
	return through(ctx, w, "Holds", func() ([]store.HeldTask, error) { return w.Store.Holds(ctx, worker) })
}

func (w wrapped) Workers(ctx context.Context) ([]store.Worker, error) {
	return through(ctx, w, "Workers", func() ([]store.Worker, error) { return w.Store.Workers(ctx) })
}

func (w wrapped) Seal(ctx context.Context, id store.ID) (store.Group, error) {
	return through(ctx, w, "Seal", func() (store.Group, error) { return w.Store.Seal(ctx, id) })
}

func (w wrapped) Release(ctx context.Context, id store.ID) (store.Group, error) {
	return through(ctx, w, "Release", func() (store.Group, error) { return w.Store.Release(ctx, id) })
}

func (w wrapped) Abort(ctx context.Context, id store.ID, reason string) (store.Group, error) {
	return through(ctx, w, "Abort", func() (store.Group, error) { return w.Store.Abort(ctx, id, reason) })
}

func (w wrapped) Group(ctx context.Context, id store.ID) (store.Group, error) {
	return through(ctx, w, "Group", func() (store.Group, error) { return w.Store.Group(ctx, id) })
}

func (w wrapped) GroupList(ctx context.Context, page store.PageRequest) (store.Page[store.Group], error) {
	return through(ctx, w, "GroupList", func() (store.Page[store.Group], error) { return w.Store.GroupList(ctx, page) })
}

func (w wrapped) Send(ctx context.Context, m store.Message) error {
	return w.around(ctx, "Send", func() error { return w.Store.Send(ctx, m) })
}

func (w wrapped) Messages(ctx context.Context, task store.ID) ([]store.Message, error) {
	return through(ctx, w, "Messages", func() ([]store.Message, error) { return w.Store.Messages(ctx, task) })
}

func (w wrapped) PutLimit(ctx context.Context, l store.Limit) (store.Limit, error) {
	return through(ctx, w, "PutLimit", func() (store.Limit, error) { return w.Store.PutLimit(ctx, l) })
}

func (w wrapped) LimitList(ctx context.Context, keys ...string) ([]store.LimitStatus, error) {
	return through(ctx, w, "LimitList", func() ([]store.LimitStatus, error) { return w.Store.LimitList(ctx, keys...) })
}

func (w wrapped) Pause(ctx context.Context, s store.Scope, d time.Duration, reason string) error {
	return w.around(ctx, "Pause", func() error { return w.Store.Pause(ctx, s, d, reason) })
}

func (w wrapped) Resume(ctx context.Context, s store.Scope) error {
	return w.around(ctx, "Resume", func() error { return w.Store.Resume(ctx, s) })
}

func (w wrapped) PauseList(ctx context.Context) ([]store.Pause, error) {
	return through(ctx, w, "PauseList", func() ([]store.Pause, error) { return w.Store.PauseList(ctx) })
}

func (w wrapped) PutWeight(ctx context.Context, queue, lane string, weight int) error {
	return w.around(ctx, "PutWeight", func() error { return w.Store.PutWeight(ctx, queue, lane, weight) })
}

func (w wrapped) LaneList(ctx context.Context, queue string, page store.PageRequest) (store.Page[store.LaneStatus], error) {
	return through(ctx, w, "LaneList", func() (store.Page[store.LaneStatus], error) { return w.Store.LaneList(ctx, queue, page) })
}

func (w wrapped) PutSchedule(ctx context.Context, s store.Schedule) (store.Schedule, error) {
	return through(ctx, w, "PutSchedule", func() (store.Schedule, error) { return w.Store.PutSchedule(ctx, s) })
}

func (w wrapped) Schedule(ctx context.Context, name string) (store.Schedule, error) {
	return through(ctx, w, "Schedule", func() (store.Schedule, error) { return w.Store.Schedule(ctx, name) })
}

func (w wrapped) ScheduleList(ctx context.Context, page store.PageRequest) (store.Page[store.Schedule], error) {
	return through(ctx, w, "ScheduleList", func() (store.Page[store.Schedule], error) { return w.Store.ScheduleList(ctx, page) })
}

func (w wrapped) DeleteSchedule(ctx context.Context, name string) error {
	return w.around(ctx, "DeleteSchedule", func() error { return w.Store.DeleteSchedule(ctx, name) })
}

func (w wrapped) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Duration, error) {
	var wait time.Duration
	due, err := through(ctx, w, "DueSchedules", func() (due []store.Schedule, err error) {
		due, wait, err = w.Store.DueSchedules(ctx, limit)
		return due, err
	})
	if err != nil {
		return nil, 0, err
	}
	return due, wait, nil
}

func (w wrapped) Tick(ctx context.Context, req store.TickRequest) (store.TickResult, error) {
	return through(ctx, w, "Tick", func() (store.TickResult, error) { return w.Store.Tick(ctx, req) })
}

func (w wrapped) Get(ctx context.Context, id store.ID) (store.Task, error) {
	return through(ctx, w, "Get", func() (store.Task, error) { return w.Store.Get(ctx, id) })
}

func (w wrapped) List(ctx context.Context, f store.Filter, page store.PageRequest) (store.Page[store.Task], error) {
	return through(ctx, w, "List", func() (store.Page[store.Task], error) { return w.Store.List(ctx, f, page) })
}

func (w wrapped) Queues(ctx context.Context) ([]store.QueueStatus, error) {
	return through(ctx, w, "Queues", func() ([]store.QueueStatus, error) { return w.Store.Queues(ctx) })
}

func (w wrapped) Stats(ctx context.Context, from, until time.Time) ([]store.Minute, error) {
	return through(ctx, w, "Stats", func() ([]store.Minute, error) { return w.Store.Stats(ctx, from, until) })
}

func (w wrapped) Watch(ctx context.Context, worker string, queues []string, fn func(store.Notice)) error {
	return w.around(ctx, "Watch", func() error { return w.Store.Watch(ctx, worker, queues, fn) })
}

func (w wrapped) Now(ctx context.Context) (time.Time, error) {
	return through(ctx, w, "Now", func() (time.Time, error) { return w.Store.Now(ctx) })
}

func (w wrapped) Export(ctx context.Context, fn func(store.Entry) error) error {
	return w.around(ctx, "Export", func() error { return w.Store.Export(ctx, fn) })
}

func (w wrapped) Close() error {
	return w.around(context.Background(), "Close", w.Store.Close)
}
