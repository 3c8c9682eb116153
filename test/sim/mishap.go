package sim

import (
	"math"
	"time"
)

// mishaps plants the first of each kind that the plan allows; each plants its successor.
func (s *Sim) mishaps() {
	for m := range mishapCount {
		if s.plan.every[m] > 0 {
			s.nextMishap(m)
		}
	}
}

func (s *Sim) nextMishap(m mishap) {
	d := time.Duration(-math.Log(1-s.chance.Float64()) * float64(s.plan.every[m]))
	s.after(d, nil, func() {
		if s.healing {
			return
		}
		s.befall(m)
		s.nextMishap(m)
	})
}

// befall lets a mishap happen to the world, or to a process that chance picks.
func (s *Sim) befall(m mishap) {
	switch m {
	case mishapRestart:
		s.stats.Restarts++
		s.memory.Restart()
		s.away(between(s.chance, 0.01, 0.5), true)
		return
	case mishapOutage:
		s.stats.Outages++
		s.away(between(s.chance, 0.3, 2), false)
		return
	}
	p := s.pick()
	if p == nil {
		return
	}
	deadAfter := float64(s.plan.deadAfter)
	switch m {
	case mishapKill:
		if s.mayKill(p) {
			p.kill("out of the blue")
		}
	case mishapPause:
		p.pause(time.Duration(between(s.chance, 0.1, 3) * deadAfter))
	case mishapDrain:
		s.terminate(p)
	case mishapCut:
		p.cut(time.Duration(between(s.chance, 0.1, 3) * deadAfter))
	case mishapSession:
		p.loseSession()
	case mishapClock:
		p.step(time.Duration(between(s.chance, 0.001, 1) * float64(time.Hour)))
	}
}

// terminate asks a process to stop, and kills it inside of the drain at times.
func (s *Sim) terminate(p *process) {
	if p.role != roleWorker || p.paused {
		return
	}
	p.drain()
	if s.chance.IntN(2) == 0 {
		s.after(time.Duration(s.chance.Int64N(int64(s.plan.shutdown+time.Second))), nil, func() {
			if !p.ended && s.mayKill(p) {
				p.kill("inside of its drain")
			}
		})
	}
}

// away takes the store from everybody for so many dead-afters.
func (s *Sim) away(factor float64, restart bool) {
	d := time.Duration(factor * float64(s.plan.deadAfter))
	s.awayUntil, s.awayHangs, s.restarting = max(s.awayUntil, s.now+d), s.chance.IntN(2) == 0, restart
	if s.tracing {
		s.tracef(nil, "the store is away for %v, hanging=%v, restart=%v", d, s.awayHangs, restart)
	}
}

// pick chooses a living process; workers more often than clients.
func (s *Sim) pick() *process {
	var all []*process
	for _, p := range s.procs {
		if p.dead || p.ended || p.role == roleOperator {
			continue
		}
		all = append(all, p)
		if p.role == roleWorker {
			all = append(all, p, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[s.chance.IntN(len(all))]
}

func (s *Sim) mayKill(p *process) bool {
	return !s.healing && !p.dead && p.role != roleOperator && s.kills < s.plan.crashes
}

// killed plants the successor of a killed process.
func (s *Sim) killed(p *process) {
	s.kills++
	d := time.Duration(s.chance.Int64N(int64(s.plan.deadAfter)))
	switch p.role {
	case roleWorker:
		s.startWorker(d)
	case roleClient:
		s.work.restart(p, d)
	}
}
