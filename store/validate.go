package store

import (
	"fmt"
	"time"
	"unicode/utf8"
)

// Lengths that names and keys may have, in bytes.
const (
	NameLimit = 200
	KeyLimit  = 512
)

// Validate says what of a Spec can never be stored: ErrInvalid with the field and the fix.
func (s *Spec) Validate() error {
	if s.ID.IsZero() {
		return invalid("ID", "is empty; make one with MakeID")
	}
	return s.validate()
}

func (s *Spec) validate() error {
	if err := CheckName("Kind", s.Kind); err != nil {
		return err
	}
	if err := CheckName("Queue", s.Queue); err != nil {
		return err
	}
	for _, f := range []struct{ field, value string }{
		{"Lane", s.Lane},
		{"Limit", s.Limit},
		{"Unique.Key", s.Unique.Key},
		{"Fingerprint", s.Fingerprint},
		{"Correlation", s.Correlation},
		{"Trace", s.Trace},
	} {
		if err := CheckKey(f.field, f.value); err != nil {
			return err
		}
	}
	for k, v := range s.Labels {
		if err := CheckName("label", k); err != nil {
			return err
		}
		if err := CheckKey("label "+k, v); err != nil {
			return err
		}
	}
	if err := s.validateTimes(); err != nil {
		return err
	}
	return s.validateChoices()
}

func (s *Spec) validateTimes() error {
	for _, f := range []struct {
		field string
		value time.Duration
	}{
		{"Delay", s.Delay}, {"StartBy", s.StartBy}, {"Timeout", s.Timeout}, {"Retry.Base", s.Retry.Base}, {"Retry.Cap", s.Retry.Cap},
	} {
		if f.value < 0 {
			return invalid(f.field, fmt.Sprintf("is %v; it must not be negative", f.value))
		}
	}
	return nil
}

func (s *Spec) validateChoices() error {
	switch s.Order {
	case Unordered, OrderSkip, OrderBlock, OrderFail:
	default:
		return invalid("Order", fmt.Sprintf("is %q; use skip, block, fail or nothing", s.Order))
	}
	switch s.Unique.OnConflict {
	case Keep, Reject, Replace, Latest:
	default:
		return invalid("Unique.OnConflict", fmt.Sprintf("is %q; use reject, replace, latest or nothing", s.Unique.OnConflict))
	}
	if s.OnEnd == nil {
		return nil
	}
	if s.OnEnd.OnEnd != nil {
		return invalid("OnEnd.OnEnd", "is set; a task that follows an ending is followed by nothing: let its handler submit what comes next")
	}
	if err := s.OnEnd.validate(); err != nil {
		return fmt.Errorf("OnEnd: %w", err)
	}
	return nil
}

// CheckName says what is wrong with the name of a kind, a queue, a label or a schedule: 1 to NameLimit letters, digits and . _ - : / of ASCII.
func CheckName(field, name string) error {
	if name == "" {
		return invalid(field, "is empty")
	}
	if len(name) > NameLimit {
		return invalid(field, fmt.Sprintf("%.40q… has %d bytes; at most %d are allowed", name, len(name), NameLimit))
	}
	for _, r := range name {
		if !nameRune(r) {
			return invalid(field, fmt.Sprintf("%.80q contains %q; use ASCII letters, digits and . _ - : /", name, r))
		}
	}
	return nil
}

func nameRune(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return r == '.' || r == '_' || r == '-' || r == ':' || r == '/'
}

// CheckKey says what is wrong with a key or another free text: at most KeyLimit bytes of UTF-8 without control characters. Empty is fine.
func CheckKey(field, key string) error {
	if len(key) > KeyLimit {
		return invalid(field, fmt.Sprintf("%.40q… has %d bytes; at most %d are allowed: use a hash of it", key, len(key), KeyLimit))
	}
	if !utf8.ValidString(key) {
		return invalid(field, fmt.Sprintf("%.80q is not UTF-8", key))
	}
	for _, r := range key {
		if r < ' ' || r == 0x7f {
			return invalid(field, fmt.Sprintf("%.80q contains the control character %q", key, r))
		}
	}
	return nil
}

func invalid(field, text string) error { return fmt.Errorf("%w: %s %s", ErrInvalid, field, text) }

// Validate says what of a new group can never be stored.
func (g *NewGroup) Validate() error {
	if g.ID.IsZero() {
		return invalid("group ID", "is empty; make one with MakeID")
	}
	if err := CheckKey("group name", g.Name); err != nil {
		return err
	}
	if g.OnClose == nil {
		return nil
	}
	if !g.OnClose.Group.IsZero() {
		return invalid("OnClose.Group", "is set; a task that follows the closing of a group is a member of none")
	}
	if err := g.OnClose.validate(); err != nil {
		return fmt.Errorf("OnClose: %w", err)
	}
	return nil
}

// Validate says what of a limit can never be stored.
func (l *Limit) Validate() error {
	if l.Key == "" {
		return invalid("limit key", "is empty")
	}
	if err := CheckKey("limit key", l.Key); err != nil {
		return err
	}
	if l.Running < 0 {
		return invalid("limit "+l.Key, fmt.Sprintf("allows %d running; it must be at least 1, or 0 for no bound", l.Running))
	}
	for _, r := range l.Rates {
		if r.N < 1 || r.Per <= 0 || r.Burst < 0 || r.Per < time.Duration(r.N) {
			return invalid("limit "+l.Key, fmt.Sprintf("has a rate of %d per %v with burst %d; it needs at least 1 start in a time above 0", r.N, r.Per, r.Burst))
		}
	}
	return nil
}

// Validate says what of a schedule can never be stored.
func (s *Schedule) Validate() error {
	if err := CheckName("schedule", s.Name); err != nil {
		return err
	}
	switch s.Overlap {
	case OverlapSkip, OverlapAllow:
	case OverlapQueue:
		if s.Task.Order == Unordered {
			return invalid("Overlap", "is queue, and its Task is not ordered; give it an Order, and a Lane of its own")
		}
	default:
		return invalid("Overlap", fmt.Sprintf("is %q; use allow, queue or nothing", s.Overlap))
	}
	if s.Jitter < 0 {
		return invalid("Jitter", fmt.Sprintf("is %v; it must not be negative", s.Jitter))
	}
	if !s.Task.Group.IsZero() {
		return invalid("Task.Group", "is set; a scheduled task is a member of no group")
	}
	if err := s.Task.validate(); err != nil {
		return fmt.Errorf("Task: %w", err)
	}
	return nil
}
