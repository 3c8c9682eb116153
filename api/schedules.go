package api

import (
	"fmt"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// Schedule is a rule by which tasks are submitted.
type Schedule struct {
	Name     string    `json:"name,omitempty"` // of answers: the path names it
	Rule     string    `json:"rule"`           // every 5m, or a cron expression
	Zone     string    `json:"zone,omitempty"`
	CatchUp  string    `json:"catchUp,omitempty"` // all, none; empty: the last tick that was missed
	Overlap  string    `json:"overlap,omitempty"` // allow, queue; empty: a tick passes while the task before has not ended
	Jitter   Span      `json:"jitter,omitempty"`
	Paused   bool      `json:"paused,omitempty"`
	Task     NewTask   `json:"task"`
	Version  int64     `json:"version,omitempty"` // of the one that is replaced; 0: there is none yet
	LastTick time.Time `json:"lastTick,omitzero"` // of answers
	NextAt   time.Time `json:"nextAt,omitzero"`   // of answers
	LastTask string    `json:"lastTask,omitempty"`
}

// Schedules is a page of a list.
type Schedules struct {
	Schedules []Schedule `json:"schedules"`
	Cursor    string     `json:"cursor,omitempty"`
}

func scheduleOf(s *kernel.Schedule) Schedule {
	task := NewTask{
		Kind: s.Task.Kind, Queue: s.Task.Queue, Lane: s.Task.Lane, Limit: s.Task.Limit, Order: string(s.Task.Order), Priority: s.Task.Priority,
		Timeout: Span(s.Task.Timeout), Labels: s.Task.Labels, Retention: Span(s.Task.Retention),
	}
	if s.Task.Sealed.IsZero() {
		task.Args, task.ArgsBase64 = shown(s.Task.Args)
	}
	return Schedule{
		Name: s.Name, Rule: s.Rule, Zone: s.Zone, CatchUp: s.CatchUp, Overlap: string(s.Overlap), Jitter: Span(s.Jitter), Paused: s.Paused, Task: task,
		Version: s.Version, LastTick: s.LastTick, NextAt: s.NextAt, LastTask: idText(s.LastTask),
	}
}

func listSchedules(q *request, _ none) (Schedules, error) {
	page, err := q.page()
	if err != nil {
		return Schedules{}, err
	}
	p, err := q.k.Schedules(q, page)
	out := Schedules{Schedules: make([]Schedule, len(p.Items)), Cursor: p.Cursor}
	for i := range p.Items {
		out.Schedules[i] = scheduleOf(&p.Items[i])
	}
	return out, err
}

func getSchedule(q *request, _ none) (Schedule, error) {
	s, err := q.k.Schedule(q, q.r.PathValue("name"))
	if err != nil {
		return Schedule{}, err
	}
	return scheduleOf(&s), nil
}

func putSchedule(q *request, in Schedule) (Schedule, error) {
	task, err := in.Task.spec()
	if err != nil {
		return Schedule{}, fmt.Errorf("task: %w", err)
	}
	s := kernel.Schedule{
		Name: q.r.PathValue("name"), Rule: in.Rule, Zone: in.Zone, CatchUp: in.CatchUp, Jitter: time.Duration(in.Jitter), Paused: in.Paused,
		Task: task, Version: in.Version,
	}
	switch in.Overlap {
	case "":
	case "allow":
		s.Overlap = "allow"
	case "queue":
		s.Overlap = "queue"
	default:
		return Schedule{}, fmt.Errorf("%w: overlap is %.40q; use allow, queue or nothing", kernel.ErrInvalid, in.Overlap)
	}
	stored, err := q.k.PutSchedule(q, s)
	if err != nil {
		return Schedule{}, err
	}
	return scheduleOf(&stored), nil
}

func deleteSchedule(q *request, _ none) (none, error) {
	return none{}, q.k.DeleteSchedule(q, q.r.PathValue("name"))
}

// pauseSchedule pauses a schedule, or lets it go on. The rest of it stays as it is, also what answers do not tell.
func pauseSchedule(paused bool) func(q *request, _ none) (Schedule, error) {
	return func(q *request, _ none) (Schedule, error) {
		s, err := q.k.EditSchedule(q, q.r.PathValue("name"), func(s *kernel.Schedule) error {
			s.Paused = paused
			return nil
		})
		if err != nil {
			return Schedule{}, err
		}
		return scheduleOf(&s), nil
	}
}
