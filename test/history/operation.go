package history

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/outlast-go/outlast/store"
)

// op names what a client did.
type op string

const (
	opSubmit   op = "submit"
	opClaim    op = "claim"
	opRepeat   op = "claim again" // the same nonce, after an answer was lost
	opComplete op = "complete"
	opSave     op = "save"
	opLoad     op = "load"
	opCancel   op = "cancel"
	opRetry    op = "retry"
	opFree     op = "free"
	opDelete   op = "delete"
	opAbort    op = "abort"
	opSend     op = "send"
	opMessages op = "messages"
	opGet      op = "get"
	opJoin     op = "join"
	opBeat     op = "beat"
	opLeave    op = "leave"
	opRecover  op = "recover"
)

// input is a call as the model sees it. Tasks and messages are known by their numbers in the cell, from 1.
type input struct {
	Op     op
	Task   int
	Worker string
	Fence  store.Fence // of Complete and Save; of a claim its nonce alone

	Policy  store.Conflict // of a submit
	Delayed bool           // of a submit or an outcome: there is a delay
	Kind    store.OutcomeKind
	Wakes   int64
	Value   string // a result, or what is saved
	Seq     int64
	Message int
	Consume []int

	Suspects bool
	Own      bool // of a claim inside a submit: it takes what is ready, also of a group that was aborted
	// Still says that nothing else is under way, all delays are over and the claim has room for all: it must take all that it may.
	Still bool

	// Loose says that the call may not have seen what was under way when it began: see Config.
	Loose     bool
	Call, Ret time.Duration // when it began and returned
}

// answer is what a caller was told. It is comparable: what the model says must be the same.
type answer struct {
	Err      string
	State    store.State
	Existed  bool
	Repeated bool
	Task     int // that stands, after a submit
	Replaced int
	Asked    bool
	Value    string
	Inbox    string
	View     view
}

// view is what a reader sees of a task.
type view struct {
	State    store.State
	Epoch    int64
	Nonce    store.ID
	Worker   string
	Asked    bool
	Wakes    int64
	Round    int
	Attempts int
	Crashes  int
	Result   string
	Settled  store.Settled
}

// output is what a call brought.
type output struct {
	Unknown bool // the answer was lost: it may have been applied, at any time until the end of the round
	Answer  answer
	Tasks   []taken // of a claim
	Crash   bool    // Recover counted a crash
}

// taken is a task as a claim gave it.
type taken struct {
	Task int
	View view
}

// errorName is how the model calls an error; known says that the store itself gave it.
func errorName(err error) (name string, known bool) {
	if err == nil {
		return "", true
	}
	for _, e := range []error{
		store.ErrFenced, store.ErrDead, store.ErrNotFound, store.ErrDuplicate, store.ErrState, store.ErrChanged, store.ErrInvalid, store.ErrClosed,
	} {
		if errors.Is(err, e) {
			return e.Error(), true
		}
	}
	return err.Error(), false
}

var (
	fenced    = store.ErrFenced.Error()
	dead      = store.ErrDead.Error()
	notFound  = store.ErrNotFound.Error()
	duplicate = store.ErrDuplicate.Error()
	wrongly   = store.ErrState.Error()
	changed   = store.ErrChanged.Error()
)

func short(id store.ID) string {
	if id.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%x", id[13:])
}

// String tells a call in the picture of a history.
func (in input) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", in.Op, in.Task)
	if in.Worker != "" {
		fmt.Fprintf(&b, " by %s", in.Worker)
	}
	if in.Fence.Epoch > 0 || !in.Fence.Nonce.IsZero() {
		fmt.Fprintf(&b, " [%d %s]", in.Fence.Epoch, short(in.Fence.Nonce))
	}
	for _, f := range []struct {
		name  string
		value any
		set   bool
	}{
		{"", in.Kind, in.Kind != ""},
		{"", in.Policy, in.Policy != ""},
		{"delayed", "", in.Delayed},
		{"wakes", in.Wakes, in.Kind == store.OutcomePark},
		{"value", in.Value, in.Value != ""},
		{"seq", in.Seq, in.Seq > 0},
		{"message", in.Message, in.Message > 0},
		{"uses", in.Consume, len(in.Consume) > 0},
		{"suspects", "", in.Suspects},
		{"own", "", in.Own},
		{"(still)", "", in.Still},
	} {
		if f.set {
			fmt.Fprintf(&b, " %s %v", f.name, f.value)
		}
	}
	return b.String()
}

// String tells an answer in the picture of a history.
func (out output) String() string {
	if out.Unknown {
		return "?"
	}
	a := out.Answer
	parts := []string{}
	for _, f := range []struct {
		text string
		set  bool
	}{
		{a.Err, a.Err != ""},
		{string(a.State), a.State != ""},
		{"existed", a.Existed},
		{"repeated", a.Repeated},
		{fmt.Sprintf("stands %d", a.Task), a.Task > 0},
		{fmt.Sprintf("replaced %d", a.Replaced), a.Replaced > 0},
		{"asked", a.Asked},
		{a.Value, a.Value != ""},
		{"inbox " + a.Inbox, a.Inbox != ""},
		{fmt.Sprintf("%+v", a.View), a.View != view{}},
		{fmt.Sprintf("%+v", out.Tasks), len(out.Tasks) > 0},
		{"crash", out.Crash},
	} {
		if f.set {
			parts = append(parts, f.text)
		}
	}
	if len(parts) == 0 {
		return "ok"
	}
	return strings.Join(parts, ", ")
}
