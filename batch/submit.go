package batch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/outlast-go/outlast/internal/encode"
	"github.com/outlast-go/outlast/kernel"
)

// Options are of one Submit. The zero value submits a batch that runs at once.
type Options struct {
	// Key makes the same Submit again the same batch: one that was cut off goes on where it stopped, one that has ended is found. A key
	// is taken for as long as its batch is on record. Default: each Submit is a batch of its own.
	Key string
	// Hold lets the batch wait for Release; until then rows may be added by Append.
	Hold bool
	// Context is given to each row and to Done, as JSON. It is stored with each row: keep it small. Default: none.
	Context any
	// Bad is told of each row that is not good, and the others are submitted. Default: one bad row, and nothing is submitted.
	Bad func(*LineError)
	// Labels are shown. Default: none.
	Labels map[string]string
}

// Bounds of one call of the store.
const (
	chunkRows  = 1000
	chunkBytes = 4 << 20
)

// Why a group was aborted by this package itself.
const (
	reasonSubmit    = "submit failed"
	reasonAbandoned = "submit abandoned"
	reasonUnserved  = "unserved"
)

// Submit stores a batch and returns when all of its rows are durable: from then on it ends, whatever dies. No row runs before. If
// the process dies on the way, or ctx ends, the same Submit under the same Key goes on; a batch on which nobody goes on is aborted
// after Config.FillTimeout. An empty batch ends at once, as success. After an error nothing of the batch runs; with
// kernel.ErrInDoubt, submit again under the same Key.
func (b *Batch[R, In, Out]) Submit(ctx context.Context, k *kernel.Kernel, rows Source[In], opts Options) (*Handle[In, Out], error) {
	h, err := b.submit(ctx, k, rows, opts)
	if err != nil {
		return nil, fmt.Errorf("submit %s %s: %w", b.face, b.name, err)
	}
	return h, nil
}

func (b *Batch[R, In, Out]) submit(ctx context.Context, k *kernel.Kernel, rows Source[In], opts Options) (*Handle[In, Out], error) {
	w, err := b.writer(k, opts)
	if err != nil {
		return nil, err
	}
	standing, err := b.find(ctx, k, w, opts.Key)
	if err != nil {
		return nil, err
	}
	h := b.Handle(k, w.group.ID)
	if h.existed = standing; standing {
		return h, nil
	}
	if !rows.once {
		if err := w.dry().all(ctx, rows); err != nil {
			return nil, err
		}
	}
	if err := w.all(ctx, rows); err != nil {
		return nil, errors.Join(err, w.giveUp(ctx, err, opts.Key))
	}
	return h, nil
}

// Check goes through the rows as Submit does, and stores nothing. bad is told of each row that is not good; good is how many the others are. The
// error is one that ends the rows before their time. A source of Seq is used up by it.
func (b *Batch[R, In, Out]) Check(ctx context.Context, k *kernel.Kernel, rows Source[In], bad func(*LineError)) (good int64, err error) {
	w, err := b.writer(k, Options{Bad: bad})
	if err == nil {
		w.trial = true
		err = w.all(ctx, rows)
	}
	if err != nil {
		return 0, fmt.Errorf("check rows of %s %s: %w", b.face, b.name, err)
	}
	return w.rows, nil
}

// find gives the batch its id, and reports whether it is submitted already.
func (b *Batch[R, In, Out]) find(ctx context.Context, k *kernel.Kernel, w *writer[R, In, Out], key string) (standing bool, err error) {
	if key == "" {
		w.group.ID = k.NewID()
		return false, nil
	}
	g, err := b.keyed(ctx, k, key)
	w.group.ID = g.ID
	if errors.Is(err, kernel.ErrNotFound) {
		return false, nil
	}
	return err == nil && g.State != kernel.GroupFilling, err
}

// keyed reads the group that stands under a key; with kernel.ErrNotFound it has the id of the one to come. One whose submit had failed does
// not keep the key.
func (b *Batch[R, In, Out]) keyed(ctx context.Context, k *kernel.Kernel, key string) (g kernel.Group, err error) {
	const tries = 1000
	for n := range tries {
		id := kernel.DeriveID(b.face, b.name, key, fmt.Sprint(n))
		g, err = k.Group(ctx, id)
		if g.ID = id; err != nil || g.Aborting != reasonSubmit && g.Aborting != reasonAbandoned {
			return g, err
		}
	}
	return g, fmt.Errorf("%w: key %q was submitted %d times without success; use another one", kernel.ErrInvalid, key, tries)
}

// Find returns a handle of the batch that stands under a key, submitted as a whole or not yet. kernel.ErrNotFound says that there is none.
func (b *Batch[R, In, Out]) Find(ctx context.Context, k *kernel.Kernel, key string) (*Handle[In, Out], error) {
	g, err := b.keyed(ctx, k, key)
	if err != nil {
		return nil, fmt.Errorf("find %s %s under key %q: %w", b.face, b.name, key, err)
	}
	return b.Handle(k, g.ID), nil
}

// writer stores the rows of one Submit or Append, chunk by chunk.
type writer[R, In, Out any] struct {
	b       *Batch[R, In, Out]
	k       *kernel.Kernel
	group   kernel.NewGroup
	context json.RawMessage
	bad     func(*LineError)
	seen    lineSet
	before  lineSet // lines that were there before an Append
	trial   bool    // store nothing
	append  bool    // the group is there
	keyed   bool    // others may submit the same batch: it is sealed only once it is seen to be this one
	begun   bool    // something is stored
	specs   []kernel.Spec
	bytes   int
	rows    int64
}

func (b *Batch[R, In, Out]) writer(k *kernel.Kernel, opts Options) (*writer[R, In, Out], error) {
	w := &writer[R, In, Out]{b: b, k: k, bad: opts.Bad, seen: lineSet{}, keyed: opts.Key != ""}
	if opts.Context != nil {
		data, err := encode.JSON(opts.Context)
		if err != nil {
			return nil, fmt.Errorf("%w: the context %w", kernel.ErrInvalid, err)
		}
		w.context = data
	}
	args, err := encode.JSON(closeArgs{Name: b.name, Key: opts.Key, Files: b.cfg.Files, Context: w.context})
	if err != nil {
		return nil, err
	}
	w.group = kernel.NewGroup{
		Name: b.groupName(), Hold: opts.Hold, Labels: maps.Clone(opts.Labels), Retention: b.cfg.Retention,
		OnClose: &kernel.Spec{
			Kind: b.DoneKind(), Queue: b.cfg.Queue, Priority: b.cfg.Priority, Args: args,
			Retry: b.cfg.DoneRetry, Timeout: b.cfg.DoneTimeout, Retention: b.cfg.Retention,
		},
	}
	return w, nil
}

// dry is a writer that goes through the rows and stores nothing.
func (w *writer[R, In, Out]) dry() *writer[R, In, Out] {
	trial := *w
	trial.trial, trial.seen, trial.specs, trial.bad = true, lineSet{}, nil, w.bad
	w.bad = tellNobody(w.bad) // the trial has told
	return &trial
}

func tellNobody(bad func(*LineError)) func(*LineError) {
	if bad == nil {
		return nil
	}
	return func(*LineError) {}
}

// all stores the rows of a source, and seals the group unless it was there.
func (w *writer[R, In, Out]) all(ctx context.Context, rows Source[In]) error {
	seq, end, err := rows.open()
	if err != nil {
		return fmt.Errorf("read rows: %w", err)
	}
	defer end()
	for row, err := range seq {
		if err == nil {
			err = w.add(ctx, row)
		}
		var line *LineError
		if errors.As(err, &line) && w.bad != nil {
			w.bad(line)
			continue
		}
		if err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return w.end(ctx)
}

// add makes the task of a row, and stores a chunk if one is full.
func (w *writer[R, In, Out]) add(ctx context.Context, row Row[In]) error {
	if err := w.seen.check(row.Line); err != nil {
		return err
	}
	in, err := encode.JSON(row.Input)
	if err != nil {
		return lineError(row.Line, "%w: the input %w", kernel.ErrInvalid, err)
	}
	args, err := json.Marshal(rowArgs{Context: w.context, In: in})
	if err != nil {
		return lineError(row.Line, "%w: %w", kernel.ErrInvalid, err)
	}
	if most := w.k.MaxPayload(); most >= 0 && len(args) > most {
		return lineError(row.Line, "%w: the input has %d bytes; at most %d are allowed", kernel.ErrInvalid, len(args), most)
	}
	w.rows++
	if err := w.known(ctx, row.Line, args); err != nil || w.trial {
		return err
	}
	spec := w.b.rowSpec(w.group.ID, row.Line, args)
	spec.Fingerprint = w.print(args)
	w.specs, w.bytes = append(w.specs, spec), w.bytes+len(args)
	if len(w.specs) >= chunkRows || w.bytes >= chunkBytes {
		return w.flush(ctx, false)
	}
	return nil
}

// print tells one input from another. Of what is sealed nothing is told.
func (w *writer[R, In, Out]) print(args []byte) string {
	if w.k.Seals() {
		return ""
	}
	sum := sha256.Sum256(args)
	return hex.EncodeToString(sum[:16])
}

// known refuses a line that an Append finds in the batch already, unless it is the same row.
func (w *writer[R, In, Out]) known(ctx context.Context, line int64, args []byte) error {
	if !w.before.has(line) {
		return nil
	}
	t, err := w.k.Get(ctx, rowID(w.group.ID, line))
	if err != nil {
		return err
	}
	if mark := w.print(args); mark == "" || mark != t.Fingerprint {
		return lineError(line, "%w: the batch has a row of this line", ErrDuplicate)
	}
	return nil
}

// end stores what is left and lets the batch go.
func (w *writer[R, In, Out]) end(ctx context.Context) error {
	whole := !w.begun && !w.append && !w.keyed // all of it in one call
	switch {
	case w.trial:
		return nil
	case len(w.specs) > 0 || !w.begun && !w.append:
		if err := w.flush(ctx, whole); err != nil {
			return err
		}
	}
	if whole || w.append {
		return nil
	}
	g, err := w.k.Group(ctx, w.group.ID)
	if err != nil {
		return err
	}
	if g.Total != w.rows {
		return fmt.Errorf("%w: %d rows are stored of this batch, and it has %d: others were submitted under the key", ErrDuplicate, g.Total, w.rows)
	}
	_, err = w.k.Seal(ctx, w.group.ID)
	return err
}

// flush stores a chunk; the first one with the group.
func (w *writer[R, In, Out]) flush(ctx context.Context, last bool) error {
	var answers []kernel.Submitted
	var err error
	if w.begun || w.append {
		answers, err = w.k.SubmitMany(ctx, w.specs)
	} else {
		if err := w.watch(ctx, last); err != nil {
			return err
		}
		args := *w.group.OnClose
		if args.Args, err = nameBatch(args.Args, w.group.ID); err != nil {
			return err
		}
		w.group.OnClose, w.group.Seal = &args, last
		w.begun = true // perhaps: what is in doubt is there until somebody knows better
		_, answers, err = w.k.SubmitGroup(ctx, w.group, w.specs)
	}
	if err != nil {
		return err
	}
	for i, a := range answers {
		spec := &w.specs[i]
		switch {
		case a.Err != nil:
			return lineError(spec.Line, "%w", a.Err)
		case a.Existed && spec.Fingerprint != "" && a.Fingerprint != spec.Fingerprint:
			return lineError(spec.Line, "%w: the batch has a row of this line with another input", ErrDuplicate)
		}
	}
	w.specs, w.bytes = nil, 0
	return nil
}

func nameBatch(args []byte, id kernel.ID) ([]byte, error) {
	var a closeArgs
	if err := json.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	a.Batch = id
	return encode.JSON(a)
}

// giveUp sees to it that nothing of a batch runs whose Submit has failed. With a key, one that was only cut off is left to be gone on with.
func (w *writer[R, In, Out]) giveUp(ctx context.Context, why error, key string) error {
	cut := ctx.Err() != nil || errors.Is(why, kernel.ErrInDoubt) || errors.Is(why, kernel.ErrClosed)
	if !w.begun || errors.Is(why, ErrDuplicate) || errors.Is(why, ErrState) || cut && key != "" {
		return nil
	}
	// The caller's context may have ended; the batch must end all the same. If this is lost too, its FillTimeout ends it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_, err := w.k.Abort(ctx, w.group.ID, reasonSubmit)
	if errors.Is(err, kernel.ErrNotFound) {
		return nil
	}
	return err
}
