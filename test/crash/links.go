package crash

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// linked picks up to most workers that run, and now and then a producer, by chance.
func (r *run) linked(most int) (procs []*process, links []*Link, names string) {
	var all []*process
	for _, p := range r.fleet.all() {
		if p.link != nil && !p.ended() && !p.isStopped() {
			all = append(all, p)
		}
	}
	r.chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), 1+r.chance.IntN(most))]
	said := make([]string, 0, len(all)+1)
	for _, p := range all {
		procs, links, said = append(procs, p), append(links, p.link), append(said, p.name)
	}
	if p := r.producers[r.chance.IntN(len(r.producers))]; r.chance.IntN(2) == 0 {
		links, said = append(links, p.link), append(said, "a producer")
	}
	return procs, links, strings.Join(said, ", ")
}

// cutLinks ends all connections of some.
func (r *run) cutLinks(context.Context) error {
	procs, links, names := r.linked(r.cfg.Workers / 2)
	rude := r.chance.IntN(2) == 0
	for _, p := range procs {
		p.wasCut()
	}
	for _, l := range links {
		l.Cut(rude)
	}
	r.count(&r.cuts, 1)
	r.show(fmt.Sprintf("connections of %s are cut", names), false)
	return nil
}

// loseAnswers lets some be heard and not answered, or answered by half.
func (r *run) loseAnswers(context.Context) error {
	procs, links, names := r.linked(r.cfg.Workers / 2)
	n := r.chance.IntN(1 << r.chance.IntN(13))
	for _, p := range procs {
		p.wasCut()
	}
	for _, l := range links {
		l.Lose(n)
	}
	r.count(&r.cuts, 1)
	r.count(&r.losses, 1)
	r.show(fmt.Sprintf("what %s ask is done, and the answers are lost after %d bytes", names, n), false)
	return nil
}

// delayLinks makes the way long for some.
func (r *run) delayLinks(context.Context) error {
	procs, links, names := r.linked(r.cfg.Workers / 2)
	d := time.Duration(r.chance.Int64N(int64(150 * time.Millisecond)))
	lasting := time.Second + time.Duration(r.chance.Int64N(int64(3*time.Second)))
	for _, p := range procs {
		p.cutOff(lasting)
	}
	for _, l := range links {
		l.Delay(d, lasting)
	}
	r.count(&r.delays, 1)
	r.show(fmt.Sprintf("the way of %s is %v longer for %v", names, d.Round(time.Millisecond), lasting.Round(time.Millisecond)), false)
	return nil
}

// holdLink lets nothing of one worker pass, for less or more than others wait for it.
func (r *run) holdLink(context.Context) error {
	procs, _, _ := r.linked(1)
	if len(procs) == 0 {
		return nil
	}
	lasting := r.cfg.Dead/10 + time.Duration(r.chance.Int64N(int64(r.cfg.Dead*3/2)))
	procs[0].cutOff(lasting)
	procs[0].link.Hold(lasting)
	r.count(&r.holds, 1)
	r.show(fmt.Sprintf("nothing of %s passes for %v", procs[0].name, lasting.Round(time.Millisecond)), false)
	return nil
}
