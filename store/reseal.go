package store

import "fmt"

// ResealRequest replaces sealed bytes of one record. What is nil or empty stays as it is; what is named must be there.
type ResealRequest struct {
	Task     ID     // exactly one of Task, Group and Schedule is set
	Group    ID     // of a group: Args and OnEnd are those of its OnClose
	Schedule string // of a schedule: Args and OnEnd are those of its Task
	Version  int64  // of the record as it was read

	Args     []byte            // of the Spec
	OnEnd    []byte            // the args of its OnEnd
	Result   []byte            // of a task
	Detail   []byte            // of its Error
	Note     string            // of its Progress
	Entries  map[string][]byte // of its checkpoint
	Messages map[ID][]byte     // the bodies of those that were not consumed
}

// Validate says what of a request can never be done.
func (r *ResealRequest) Validate() error {
	named := 0
	for _, is := range []bool{!r.Task.IsZero(), !r.Group.IsZero(), r.Schedule != ""} {
		if is {
			named++
		}
	}
	if named != 1 {
		return invalid("Reseal", fmt.Sprintf("names %d records; name one task, group or schedule", named))
	}
	if r.Task.IsZero() && (r.Result != nil || r.Detail != nil || r.Note != "" || len(r.Entries) > 0 || len(r.Messages) > 0) {
		return invalid("Reseal", "names what only a task has; groups and schedules have Args and OnEnd")
	}
	for name, value := range r.Entries {
		if value == nil {
			return invalid("Reseal", fmt.Sprintf("would remove entry %.80q; it replaces alone", name))
		}
	}
	return nil
}

// Apply replaces what the request names in a record, or says ErrChanged if the record has not got it. Entries and messages are
// left to the engine. It changes nothing that others may hold: what is behind a pointer is replaced as a whole.
func (r *ResealRequest) Apply(t *Task) error {
	if t.Version != r.Version {
		return fmt.Errorf("reseal task %s at version %d, which is at %d: %w", t.ID, r.Version, t.Version, ErrChanged)
	}
	if t.State == Running && t.Staged != nil {
		return fmt.Errorf("reseal task %s, whose outcome is staged: %w", t.ID, ErrState)
	}
	if r.Result != nil && t.Result == nil || r.Detail != nil && (t.Error == nil || t.Error.Detail == nil) || r.Note != "" && t.Progress.Note == "" {
		return fmt.Errorf("reseal task %s, which has not got that: %w", t.ID, ErrChanged)
	}
	if err := r.apply(&t.Spec); err != nil {
		return err
	}
	if r.Result != nil {
		t.Result = r.Result
	}
	if r.Detail != nil {
		e := *t.Error
		e.Detail = r.Detail
		t.Error = &e
	}
	if r.Note != "" {
		t.Progress.Note = r.Note
	}
	return nil
}

// ApplyGroup is Apply for a group.
func (r *ResealRequest) ApplyGroup(g *Group) error {
	if g.Version != r.Version || g.OnClose == nil {
		return fmt.Errorf("reseal group %s at version %d, which is at %d: %w", g.ID, r.Version, g.Version, ErrChanged)
	}
	next := *g.OnClose
	if err := r.apply(&next); err != nil {
		return err
	}
	g.OnClose = &next
	return nil
}

// ApplySchedule is Apply for a schedule.
func (r *ResealRequest) ApplySchedule(s *Schedule) error {
	if s.Version != r.Version {
		return fmt.Errorf("reseal schedule %s at version %d, which is at %d: %w", s.Name, r.Version, s.Version, ErrChanged)
	}
	return r.apply(&s.Task)
}

func (r *ResealRequest) apply(s *Spec) error {
	if r.Args != nil && s.Args == nil || r.OnEnd != nil && (s.OnEnd == nil || s.OnEnd.Args == nil) {
		return fmt.Errorf("reseal args of %s, which has none: %w", s.ID, ErrChanged)
	}
	if r.Args != nil {
		s.Args = r.Args
	}
	if r.OnEnd != nil {
		next := *s.OnEnd
		next.Args = r.OnEnd
		s.OnEnd = &next
	}
	return nil
}
