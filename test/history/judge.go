package history

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/anishathalye/porcupine"
)

// judge asks of each partition whether its history can be.
func (r *run) judge(parts map[place][]record) error {
	places := make([]place, 0, len(parts))
	for p := range parts {
		places = append(places, p)
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.name(), b.name()) })
	for _, p := range places {
		model := workerModel()
		if p.cell != nil {
			model = p.cell.kind.model()
		}
		history := operations(parts[p])
		r.report.Partitions++
		r.report.Largest = max(r.report.Largest, len(history))
		switch porcupine.CheckOperationsTimeout(model, history, r.cfg.Patience) {
		case porcupine.Unknown:
			r.report.Unknown++
		case porcupine.Illegal:
			r.report.Violations++
			if err := r.draw(p, model, history); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p place) name() string {
	if p.cell == nil {
		return "worker-" + p.worker
	}
	return fmt.Sprintf("%s-%d", p.cell.queue, p.task)
}

// operations are the records of a partition as porcupine takes them.
func operations(records []record) []porcupine.Operation {
	var list []porcupine.Operation
	for _, r := range records {
		list = append(list, porcupine.Operation{
			ClientId: r.client, Input: r.in, Output: r.out, Call: r.call.Nanoseconds(), Return: max(r.ret, r.call).Nanoseconds(),
		})
	}
	return list
}

// draw writes the picture of a history that cannot be.
func (r *run) draw(p place, model porcupine.Model, history []porcupine.Operation) error {
	_, info := porcupine.CheckOperationsVerbose(model, history, r.cfg.Patience)
	f, err := os.CreateTemp(r.cfg.Pictures, fmt.Sprintf("history-%s-seed%d-%s-*.html", r.cfg.Engine, r.cfg.Seed, p.name()))
	if err != nil {
		return fmt.Errorf("draw a history: %w", err)
	}
	r.report.Pictures = append(r.report.Pictures, f.Name())
	if err := porcupine.Visualize(model, info, f); err != nil {
		return fmt.Errorf("draw a history: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("draw a history: %w", err)
	}
	return nil
}
