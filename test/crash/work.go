package crash

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/store"
)

// The kinds of work.
const (
	kindPlain   = "crash.plain"   // some milliseconds
	kindInstant = "crash.instant" // nothing at all
	kindLong    = "crash.long"    // seconds
	kindParent  = "crash.parent"  // parks until its children have ended
	kindChild   = "crash.child"
	kindSignal  = "crash.signal"  // parks until it was sent a message
	kindPoison  = "crash.poison"  // kills its process
	kindEndless = "crash.endless" // until its context ends
)

// workerArgs are the arguments of a worker process.
type workerArgs struct {
	journal string
	slots   int
	beat    time.Duration
	dead    time.Duration
	grace   time.Duration
	sink    string
	offset  time.Duration
	drift   float64
}

func (a workerArgs) list() []string {
	return []string{
		"-journal", a.journal, "-slots", fmt.Sprint(a.slots), "-beat", a.beat.String(), "-dead", a.dead.String(), "-grace", a.grace.String(),
		"-sink", a.sink, "-clock", a.offset.String(), "-drift", fmt.Sprint(a.drift),
	}
}

// Work is a worker process: it runs tasks and writes down what it does, until ctx ends.
func Work(ctx context.Context, st store.Store, args []string) error {
	var a workerArgs
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.StringVar(&a.journal, "journal", "", "where to write down what happens")
	flags.IntVar(&a.slots, "slots", 10, "runs at once")
	flags.DurationVar(&a.beat, "beat", 0, "beat of the worker")
	flags.DurationVar(&a.dead, "dead", 0, "dead-after of the worker")
	flags.DurationVar(&a.grace, "grace", 0, "how long runs may go on when the worker is asked to end")
	flags.StringVar(&a.sink, "sink", "", "where to tell what is done outside; empty: nowhere")
	flags.DurationVar(&a.offset, "clock", 0, "how wrong the clock of this process is")
	flags.Float64Var(&a.drift, "drift", 0, "how much too fast it goes: 0.05 is three minutes an hour")
	if err := flags.Parse(args); err != nil {
		return err
	}
	j, err := openJournal(a.journal)
	if err != nil {
		return err
	}
	if a.sink != "" {
		j.sink = &outside{path: a.sink}
	}
	k, err := kernel.New(st, kernel.Config{
		Env:   wrongClock{Env: kernel.Real(), begin: time.Now(), offset: a.offset, drift: a.drift},
		Slots: map[string]int{kernel.DefaultQueue: a.slots}, Beat: a.beat, DeadAfter: a.dead,
		ShutdownTimeout: a.grace,
		Logger:          slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Observe:         func(e kernel.Event) { j.observe(e) },
		Around:          []func(kernel.Handler) kernel.Handler{j.around},
	})
	if err != nil {
		return err
	}
	defer k.Close()
	for kind, h := range work {
		k.Handle(kind, h)
	}
	var canary sync.WaitGroup
	defer canary.Wait()
	living, end := context.WithCancel(ctx)
	defer end()
	canary.Go(func() { starved(living, j.pause) })
	return k.Run(ctx)
}

// wrongClock is the world of a process whose clock is wrong, and goes too fast or too slow.
type wrongClock struct {
	kernel.Env
	begin  time.Time
	offset time.Duration
	drift  float64
}

func (c wrongClock) Now() time.Time {
	now := c.Env.Now()
	return now.Add(c.offset + time.Duration(c.drift*float64(now.Sub(c.begin))))
}

// observe writes down what the store answered.
func (j *journal) observe(e kernel.Event) {
	kinds := map[kernel.EventKind]string{
		kernel.WorkerJoined: lineJoined, kernel.WorkerDead: lineDead, kernel.WorkerLost: lineLost, kernel.WorkerFenced: lineFenced,
		kernel.TaskSettled: lineAccepted, kernel.TaskFenced: lineRefused, kernel.TaskRecovered: lineBack,
	}
	kind := kinds[e.Kind]
	if kind == "" || kind == lineAccepted && e.Err != nil {
		return
	}
	text := string(e.State)
	if e.Kind == kernel.WorkerDead {
		text = string(e.Death)
	}
	j.write(line{kind: kind, worker: e.Worker, task: e.Task.String(), epoch: e.Epoch, text: text})
}

// around writes down when a handler begins, and when it has done what it is about to say.
func (j *journal) around(next kernel.Handler) kernel.Handler {
	return func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		l := line{kind: lineStart, task: r.ID().String(), epoch: r.Fence().Epoch, text: r.Task().Kind}
		j.write(l)
		told := context.WithoutCancel(ctx) // the sink is quick; a run that is to end finds out by itself
		if err := j.sink.tell(told, l); err != nil {
			return kernel.Outcome{}, err
		}
		out, err := next(ctx, r)
		if err == nil && (out.Kind == "" || out.Kind == store.OutcomeDone) {
			l.kind = lineEffect
			j.write(l)
			err = j.sink.tell(told, l)
		}
		return out, err
	}
}

// work is what each kind does.
var work = map[string]kernel.Handler{
	kindInstant: func(context.Context, *kernel.Run) (kernel.Outcome, error) { return kernel.Outcome{}, nil },
	kindChild: func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		return takes(ctx, share(r, 20*time.Millisecond))
	},
	kindPlain: func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		return takes(ctx, share(r, 50*time.Millisecond))
	},
	kindLong: func(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
		return takes(ctx, time.Second+share(r, 3*time.Second))
	},
	kindEndless: func(ctx context.Context, _ *kernel.Run) (kernel.Outcome, error) { return takes(ctx, time.Hour) },
	kindParent:  runParent,
	kindSignal:  runSignal,
	kindPoison: func(context.Context, *kernel.Run) (kernel.Outcome, error) {
		die()
		return kernel.Outcome{}, errors.New("survived its own kill")
	},
}

// takes lets time pass as work would.
func takes(ctx context.Context, d time.Duration) (kernel.Outcome, error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return kernel.Outcome{}, nil
	case <-ctx.Done():
		return kernel.Outcome{}, context.Cause(ctx)
	}
}

// share is a part of d that is the same on every run of a task.
func share(r *kernel.Run, d time.Duration) time.Duration {
	id := r.ID()
	return time.Duration(binary.BigEndian.Uint64(id[8:]) % uint64(d))
}

// runParent starts children in a group and parks until all have ended.
func runParent(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
	group := store.DeriveID(r.Key(), "children")
	seen, err := r.Load(ctx, "started")
	if err != nil {
		return kernel.Outcome{}, err
	}
	if seen["started"] != nil {
		return kernel.Outcome{}, nil
	}
	out := r.Park(0)
	out.Entries = map[string][]byte{"started": []byte(group.String())}
	out.Groups = []kernel.NewGroup{{ID: group, Seal: true, Parent: r.ID()}}
	for i := range 5 {
		out.Follow = append(out.Follow, kernel.Spec{ID: store.DeriveID(r.Key(), fmt.Sprint(i)), Kind: kindChild, Group: group})
	}
	return out, nil
}

// runSignal parks until a message is there, and uses it once.
func runSignal(ctx context.Context, r *kernel.Run) (kernel.Outcome, error) {
	messages, err := r.Messages(ctx)
	if err != nil {
		return kernel.Outcome{}, err
	}
	if len(messages) == 0 {
		return r.Park(0), nil
	}
	return kernel.Outcome{Consume: []kernel.ID{messages[0].ID}}, nil
}
