package web

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/outlast-go/outlast/kernel"
)

// verbs is everything that can be done. It is filled by init of its parts, which refer to it.
var verbs = map[string]verb{
	"retry":  {askTasks("Retry", "They become ready again, with all their attempts before them."), eachTask("retried", retryTask)},
	"cancel": {askTasks("Cancel", "Those that wait end at once; those that run are asked to end.", reasonInput), eachTask("cancelled", cancelTask)},
	"free":   {askTasks("Free", "They become ready again, and their crashes are forgotten."), eachTask("freed", freeTask)},
	"delete": {askTasks("Delete", "They are removed with all that belongs to them. This cannot be undone."), eachTask("deleted", deleteTask)},
	"send":   {askSend, sendMessage},

	"pause":  {askPause, pause},
	"resume": {nil, resume},
	"limit":  {askLimit, putLimit},
	"weight": {askWeight, putWeight},

	"release-group": {askGroup("Release this batch?", "Its rows begin to run."), releaseGroup},
	"abort-group":   {askGroup("Abort this batch?", "Rows that wait end as cancelled, those that run are told. This cannot be undone.", reasonInput), abortGroup},
	"retry-group":   {askGroup("Retry the failed rows?", "They become ready again, and the batch ends anew when they have."), retryGroup},

	"signal":     {askSignal, sendSignal},
	"roll-back":  {askSaga("Cancel this saga?", "What was done is undone.", reasonInput), cancelSaga("rollback")},
	"abandon":    {askSaga("Abandon this saga?", "It ends, and what was done stays as it is.", reasonInput), cancelSaga("abandon")},
	"retry-undo": {askSaga("Try the undo again?", "What could not be undone is tried again.", noteInput), retryUndo},
	"resolve":    {askSaga("Was it put right by hand?", "The step counts as undone, and the rollback goes on.", noteInput), resolveStep},
	"skip":       {askSkip, skipStep},

	"pause-schedule":  {askSchedule("Pause this schedule?", "It submits nothing until it is resumed."), pauseSchedule(true)},
	"resume-schedule": {nil, pauseSchedule(false)},
	"delete-schedule": {askSchedule("Delete this schedule?", "Tasks that it has submitted stay. This cannot be undone."), deleteSchedule},
}

// dangerous verbs look so.
var dangerous = map[string]bool{"cancel": true, "delete": true, "abort-group": true, "roll-back": true, "abandon": true, "delete-schedule": true}

var (
	reasonInput = input{Name: "reason", Label: "Reason", Hint: "shown with the task; may be empty"}
	noteInput   = input{Name: "note", Label: "Note", Hint: "stands in the timeline; may be empty"}
)

func askPause(f form) (question, error) {
	s := f.scope()
	return question{
		Title: "Pause " + scopeText(s) + "?", Text: "No worker takes tasks from there until it is resumed. What runs goes on.", Label: "Pause",
		Inputs: []input{
			reasonInput,
			{Name: "for", Label: "For", Choices: []field{{"", "until somebody resumes it"}, {"5m", "5 minutes"}, {"1h", "1 hour"}, {"24h", "a day"}}},
		},
	}, nil
}

func pause(ctx context.Context, f form) (done, error) {
	var d time.Duration
	if text := f.Get("for"); text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil || d < 0 {
			return done{}, fmt.Errorf("%w: %.40q is no duration such as 5m", kernel.ErrInvalid, text)
		}
	}
	s := f.scope()
	if err := f.q.h.k.Pause(ctx, s, d, f.Get("reason")); err != nil {
		return done{}, err
	}
	undo := newAct("resume", "Undo", f.back(), "queue", s.Queue, "kind", s.Kind, "lane", s.Lane)
	return done{count: 1, text: "Paused " + scopeText(s) + ".", undo: &undo}, nil
}

func resume(ctx context.Context, f form) (done, error) {
	s := f.scope()
	pauses, err := f.q.h.k.Pauses(ctx)
	if err != nil {
		return done{}, err
	}
	if err := f.q.h.k.Resume(ctx, s); err != nil {
		return done{}, err
	}
	out := done{count: 1, text: "Resumed " + scopeText(s) + "."}
	for _, p := range pauses {
		if p.Scope != s {
			continue
		}
		left := ""
		if !p.Until.IsZero() {
			left = max(p.Until.Sub(f.q.now), time.Second).Round(time.Second).String()
		}
		undo := newAct("pause", "Undo", f.back(), "queue", s.Queue, "kind", s.Kind, "lane", s.Lane, "reason", p.Reason, "for", left, "sure", "yes")
		out.undo = &undo
	}
	return out, nil
}

func askLimit(f form) (question, error) {
	q := question{
		Title: "Change the limit " + f.Get("key"), Text: "It holds for the whole fleet, from now on. A limit without bounds is removed.", Label: "Set limit",
		Inputs: []input{
			{Name: "running", Label: "Running at once", Hint: "a number; empty: no bound", Value: f.Get("running")},
			{Name: "rate", Label: "Starts", Hint: "such as 100/1m; several with spaces between; empty: no bound", Value: f.Get("rate")},
		},
	}
	if f.Get("key") == "" {
		q.Title = "Set a limit"
		q.Inputs = append([]input{{Name: "key", Label: "Key", Hint: "that tasks name as their limit", Need: true}}, q.Inputs...)
	}
	return q, nil
}

func putLimit(ctx context.Context, f form) (done, error) {
	l := kernel.Limit{Key: f.Get("key")}
	var err error
	if text := strings.TrimSpace(f.Get("running")); text != "" {
		if l.Running, err = strconv.Atoi(text); err != nil || l.Running < 0 {
			return done{}, fmt.Errorf("%w: %.40q is no number of tasks", kernel.ErrInvalid, text)
		}
	}
	if l.Rates, err = readRates(f.Get("rate")); err != nil {
		return done{}, err
	}
	before, err := f.q.h.k.PutLimit(ctx, l)
	if err != nil {
		return done{}, err
	}
	undo := newAct("limit", "Undo", f.back(), "key", l.Key, "running", strconv.Itoa(before.Running), "rate", rateText(before.Rates), "sure", "yes")
	return done{count: 1, text: "Set the limit " + l.Key + ".", undo: &undo}, nil
}

// readRates reads what rateText writes: 100/1m0s+10 100/1h.
func readRates(text string) ([]kernel.Rate, error) {
	var list []kernel.Rate
	for _, word := range strings.Fields(text) {
		number, rest, ok := strings.Cut(word, "/")
		per, burst, _ := strings.Cut(rest, "+")
		var r kernel.Rate
		var err1, err2, err3 error
		r.N, err1 = strconv.Atoi(number)
		if per != "" && !strings.ContainsAny(per[:1], "0123456789") {
			per = "1" + per // 100/m
		}
		r.Per, err2 = time.ParseDuration(per)
		if burst != "" {
			r.Burst, err3 = strconv.Atoi(burst)
		}
		if !ok || cmp.Or(err1, err2, err3) != nil || r.N <= 0 || r.Per <= 0 || r.Burst < 0 {
			return nil, fmt.Errorf("%w: %.40q is no rate such as 100/1m", kernel.ErrInvalid, word)
		}
		list = append(list, r)
	}
	return list, nil
}

func rateText(rates []kernel.Rate) string {
	var parts []string
	for _, r := range rates {
		text := fmt.Sprintf("%d/%s", r.N, r.Per)
		if r.Burst > 0 {
			text += fmt.Sprintf("+%d", r.Burst)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func askWeight(f form) (question, error) {
	return question{
		Title: "Weight of the lane " + cmp.Or(f.Get("lane"), "(none)"), Text: "How many tasks it gives in a turn, beside the other lanes of the queue " + f.Get("queue") + ".",
		Label: "Set weight", Inputs: []input{{Name: "weight", Label: "Weight", Value: f.Get("weight"), Need: true}},
	}, nil
}

func putWeight(ctx context.Context, f form) (done, error) {
	n, err := strconv.Atoi(strings.TrimSpace(f.Get("weight")))
	if err != nil || n < 1 {
		return done{}, fmt.Errorf("%w: a weight is 1 or more", kernel.ErrInvalid)
	}
	out := done{count: 1, text: "Set the weight."}
	if before := f.Get("before"); before != "" {
		undo := newAct("weight", "Undo", f.back(), "queue", f.Get("queue"), "lane", f.Get("lane"), "weight", before, "before", strconv.Itoa(n), "sure", "yes")
		out.undo = &undo
	}
	return out, f.q.h.k.PutWeight(ctx, f.Get("queue"), f.Get("lane"), n)
}

func askSchedule(title, text string) func(f form) (question, error) {
	return func(f form) (question, error) {
		return question{Title: title, Text: f.Get("schedule") + ": " + text, Label: strings.Fields(title)[0]}, nil
	}
}

func pauseSchedule(paused bool) func(ctx context.Context, f form) (done, error) {
	return func(ctx context.Context, f form) (done, error) {
		name, word, back, do := f.Get("schedule"), "Resumed", "pause-schedule", f.q.h.k.ResumeSchedule
		if paused {
			word, back, do = "Paused", "resume-schedule", f.q.h.k.PauseSchedule
		}
		if err := do(ctx, name); err != nil {
			return done{}, err
		}
		undo := newAct(back, "Undo", f.back(), "schedule", name, "sure", "yes")
		return done{count: 1, text: word + " the schedule " + name + ".", undo: &undo}, nil
	}
}

func deleteSchedule(ctx context.Context, f form) (done, error) {
	name := f.Get("schedule")
	return done{count: 1, text: "Deleted the schedule " + name + "."}, f.q.h.k.DeleteSchedule(ctx, name)
}
