package storetest

import (
	"fmt"

	"github.com/outlast-go/outlast/store"
)

// settingCommands set what governs claims, and schedules.
func settingCommands() map[string]func(c *chaos) {
	return map[string]func(c *chaos){
		"PutLimit": func(c *chaos) {
			key, running, rate := pick(c, "l0", "l1", ""), c.int(0, 2), c.int(0, 2)
			c.both("PutLimit "+key, func(d *side) (any, error) {
				l := store.Limit{Key: key, Running: running}
				if rate > 0 {
					l.Rates = []store.Rate{{N: rate, Per: d.units(10)}}
				}
				return wrapAny(d.st.PutLimit(c.ctx(), l))
			})
		},
		"Pause": func(c *chaos) {
			scope, units := c.scope(), pick(c, 0, 5)
			c.do(fmt.Sprint("Pause ", scope), func(d *side) error { return d.st.Pause(c.ctx(), scope, d.units(units), "why") })
		},
		"Resume": func(c *chaos) {
			scope := c.scope()
			c.do(fmt.Sprint("Resume ", scope), func(d *side) error { return d.st.Resume(c.ctx(), scope) })
		},
		"PutWeight": func(c *chaos) {
			queue, lane, weight := c.queue(), c.lane(), c.int(-1, 3)
			c.do("PutWeight "+lane, func(d *side) error { return d.st.PutWeight(c.ctx(), queue, lane, weight) })
		},
		"PutSchedule": putScheduleCommand,
		"DeleteSchedule": func(c *chaos) {
			name := c.name()
			c.do("DeleteSchedule "+name, func(d *side) error { return d.st.DeleteSchedule(c.ctx(), name) })
		},
		"Tick": func(c *chaos) {
			req := store.TickRequest{Name: c.last.Name, Version: c.last.Version, Last: c.last.LastTick, Tick: c.tickTime(), Next: c.tickTime()}
			if req.Name == "" {
				req.Name = c.name()
			}
			req.Skip = c.rarely(5)
			c.both(fmt.Sprint("Tick ", req), func(d *side) (any, error) { return wrapAny(d.st.Tick(c.ctx(), req)) })
			c.readSchedule(req.Name)
		},
	}
}

func putScheduleCommand(c *chaos) {
	s := store.Schedule{Name: c.name()}
	if c.last.Name != "" && c.bool() {
		s.Name, s.Version = c.last.Name, c.last.Version
	}
	s.Rule, s.Paused, s.NextAt = pick(c, "r0", "r1"), c.rarely(5), c.tickTime()
	s.Overlap = pick(c, store.OverlapSkip, store.OverlapAllow)
	s.Task = store.Spec{Kind: c.kind(), Queue: c.queue(), Lane: c.lane()}
	if c.rarely(15) {
		s.Task.Queue = ""
	}
	c.both("PutSchedule "+s.Name, func(d *side) (any, error) { return wrapAny(d.st.PutSchedule(c.ctx(), s)) })
	c.readSchedule(s.Name)
}

func (c *chaos) readSchedule(name string) {
	c.last = store.Schedule{}
	answer := c.both("Schedule "+name, func(d *side) (any, error) { return wrapAny(d.st.Schedule(c.ctx(), name)) })
	if s, ok := answer.(store.Schedule); ok {
		c.last = s
	}
}

func (c *chaos) scope() store.Scope {
	return store.Scope{Queue: pick(c, "", "q0", "q1"), Kind: pick(c, "", "k0"), Lane: pick(c, "", "a")}
}

// readCommands look, and change nothing.
func readCommands() map[string]func(c *chaos) {
	return map[string]func(c *chaos){
		"Get": func(c *chaos) {
			id := c.anyTask()
			c.both(fmt.Sprint("Get ", id), func(d *side) (any, error) { return wrapAny(d.st.Get(c.ctx(), id)) })
			c.both(fmt.Sprint("Load ", id), func(d *side) (any, error) { return wrapAny(d.st.Load(c.ctx(), id)) })
			c.both(fmt.Sprint("Messages ", id), func(d *side) (any, error) { return wrapAny(d.st.Messages(c.ctx(), id)) })
		},
		"List": func(c *chaos) {
			f := store.Filter{Queue: pick(c, "", "q0"), Worker: pick(c, "", c.worker())}
			if c.bool() {
				f.States = []store.State{pick(c, store.Ready, store.Running, store.Done, store.Failed, store.Cancelled, store.Parked, store.Held)}
			}
			if c.rarely(3) {
				f.Group = c.group()
			}
			page := store.PageRequest{Oldest: c.bool(), Limit: 1000, Payload: c.bool()}
			c.both(fmt.Sprintf("List %+v", f), func(d *side) (any, error) { return wrapAny(d.st.List(c.ctx(), f, page)) })
		},
		"fleet": func(c *chaos) {
			worker := c.worker()
			c.both("Workers", func(d *side) (any, error) { return wrapAny(d.st.Workers(c.ctx())) })
			c.both("Holds "+worker, func(d *side) (any, error) { return wrapAny(d.st.Holds(c.ctx(), worker)) })
		},
		"lanes": func(c *chaos) {
			queue := c.queue()
			c.both("LaneList "+queue, func(d *side) (any, error) { return wrapAny(d.st.LaneList(c.ctx(), queue, store.PageRequest{})) })
			c.both("LimitList", func(d *side) (any, error) { return wrapAny(d.st.LimitList(c.ctx())) })
			c.both("PauseList", func(d *side) (any, error) { return wrapAny(d.st.PauseList(c.ctx())) })
			c.both("Queues", func(d *side) (any, error) { return wrapAny(d.st.Queues(c.ctx())) })
		},
		"groups": func(c *chaos) {
			id := c.group()
			c.both(fmt.Sprint("Group ", id), func(d *side) (any, error) { return wrapAny(d.st.Group(c.ctx(), id)) })
			c.both("GroupList", func(d *side) (any, error) { return wrapAny(d.st.GroupList(c.ctx(), store.PageRequest{})) })
		},
		"schedules": func(c *chaos) {
			c.both("ScheduleList", func(d *side) (any, error) { return wrapAny(d.st.ScheduleList(c.ctx(), store.PageRequest{})) })
			c.both("DueSchedules", func(d *side) (any, error) {
				due, _, err := d.st.DueSchedules(c.ctx(), 9)
				return due, err
			})
		},
		"Stats": func(c *chaos) {
			c.both("Stats", func(d *side) (any, error) {
				return wrapAny(d.st.Stats(c.ctx(), d.start.AddDate(0, 0, -1), d.start.AddDate(0, 0, 1)))
			})
		},
	}
}
