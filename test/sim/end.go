package sim

// checkEnd is what must be true when everything has ended.
func (s *Sim) checkEnd() {
	for key, n := range s.shadow.running {
		if n != 0 {
			s.fail("I23", "limit %s has %d slots taken, and nothing runs", key, n)
		}
	}
	for _, t := range s.shadow.order {
		switch {
		case t.owner != nil:
			s.fail("I8", "task %v still belongs to %s", t.id, t.owner.worker)
		case t.acked && t.ended == nil && !t.deleted && !t.expired:
			s.fail("I8", "task %v was acknowledged and has not ended", t.id)
		}
	}
	for _, judge := range s.work.judges {
		judge()
	}
}
