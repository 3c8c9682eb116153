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

// checkRecords lets fsck compare the records with each other.
func (s *Sim) checkRecords(after string) {
	if s.broken != nil {
		return
	}
	findings, err := s.eye.check()
	if err != nil {
		s.fail("SIM", "fsck: %v", err)
	}
	if len(findings) > 0 {
		s.fail("FSCK", "after %s: %s (%d findings)", after, findings[0], len(findings))
	}
}
