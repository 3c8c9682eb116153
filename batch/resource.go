package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/outlast-go/outlast/kernel"
)

// Resource is what the operations of an app share in one process: a pool of connections, a client, a model. It is made when a row first
// needs it, once per kernel, and used by many rows at a time. If it has a method Alive() bool that says no, the next row gets
// another one; if it is an io.Closer it is closed when the last row that uses it has returned and the kernel has stopped, or it
// was dead. Processors that name the same Resource share it.
type Resource[R any] struct {
	init func(ctx context.Context) (R, error)

	mu   sync.Mutex
	made map[*kernel.Kernel]*instance[R] // nil: there was one
}

// Init makes a Resource. An error of init is a failed attempt of the row that needed it, type "init", and the next row tries anew.
func Init[R any](init func(ctx context.Context) (R, error)) *Resource[R] {
	if init == nil {
		panic("batch.Init: the function is nil")
	}
	return &Resource[R]{init: init, made: map[*kernel.Kernel]*instance[R]{}}
}

// instance is one made resource and its users.
type instance[R any] struct {
	once  sync.Once
	value R
	err   error
	made  bool

	mu     sync.Mutex
	users  int
	retire bool // the last user closes it
	closed bool
}

// use returns the resource of a kernel, and what to call when it is no longer used.
func (r *Resource[R]) use(ctx context.Context, k *kernel.Kernel) (R, func(), error) {
	var none R
	if r == nil {
		return none, func() {}, nil
	}
	inst := r.take(k)
	// Made for all rows: it must not end with the row that came first.
	inst.once.Do(func() {
		inst.value, inst.err = r.make(context.WithoutCancel(ctx))
		inst.made = inst.err == nil
	})
	if inst.err != nil {
		r.drop(k, inst)
		inst.leave()
		return none, nil, kernel.Typed("init", fmt.Errorf("init: %w", inst.err))
	}
	if living, ok := any(inst.value).(interface{ Alive() bool }); ok && !living.Alive() {
		r.drop(k, inst)
		inst.leave()
		return none, nil, errDead
	}
	return inst.value, inst.leave, nil
}

// errDead lets the caller take another one.
var errDead = errors.New("the resource is dead")

// acquire is use that replaces one that is dead, once: what is dead as soon as it is made is an error.
func (r *Resource[R]) acquire(ctx context.Context, k *kernel.Kernel) (R, func(), error) {
	value, leave, err := r.use(ctx, k)
	if errors.Is(err, errDead) {
		value, leave, err = r.use(ctx, k)
	}
	if errors.Is(err, errDead) {
		err = kernel.Typed("init", fmt.Errorf("init: %w as soon as it is made", errDead))
	}
	return value, leave, err
}

// make calls the user's function; a panic of its is an error, lest the once remembers a resource that is none.
func (r *Resource[R]) make(ctx context.Context) (value R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return r.init(ctx)
}

// take returns the present instance with one user more.
func (r *Resource[R]) take(k *kernel.Kernel) *instance[R] {
	r.mu.Lock()
	inst, known := r.made[k]
	if inst == nil {
		inst = &instance[R]{}
		r.made[k] = inst
	}
	inst.mu.Lock()
	inst.users++
	inst.mu.Unlock()
	r.mu.Unlock()
	if !known {
		k.OnStop(func() { r.stop(k) })
	}
	return inst
}

// stop forgets a kernel.
func (r *Resource[R]) stop(k *kernel.Kernel) {
	r.mu.Lock()
	inst := r.made[k]
	r.mu.Unlock()
	if inst != nil {
		r.drop(k, inst)
	}
	r.mu.Lock()
	if r.made[k] == nil {
		delete(r.made, k)
	}
	r.mu.Unlock()
}

// drop lets nobody else take the instance; the last who uses it closes it.
func (r *Resource[R]) drop(k *kernel.Kernel, inst *instance[R]) {
	r.mu.Lock()
	if r.made[k] == inst {
		r.made[k] = nil
	}
	r.mu.Unlock()
	inst.mu.Lock()
	inst.retire = true
	inst.mu.Unlock()
	inst.tryClose()
}

func (i *instance[R]) leave() {
	i.mu.Lock()
	i.users--
	i.mu.Unlock()
	i.tryClose()
}

func (i *instance[R]) tryClose() {
	i.mu.Lock()
	last := i.retire && i.users == 0 && !i.closed
	i.closed = i.closed || last
	i.mu.Unlock()
	if c, ok := any(i.value).(io.Closer); ok && last && i.made {
		_ = c.Close() // nobody is left to tell
	}
}
