package sim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// mostReported bounds the violations that are reported for one rule.
const mostReported = 3

// verdicts collects violations.
type verdicts struct {
	list  []Violation
	count map[string]int
}

func (v *verdicts) add(rule, format string, args ...any) {
	if v.count == nil {
		v.count = make(map[string]int)
	}
	if v.count[rule]++; v.count[rule] <= mostReported {
		v.list = append(v.list, Violation{Rule: rule, Detail: fmt.Sprintf(format, args...)})
	}
}

// check implements scenario.
func (p *pipeline) check() []Violation {
	v := &verdicts{}
	if p.failed != nil {
		v.add("usage", "%v", p.failed)
	}
	checkRecords(v, p.w.events)
	checkHeld(v, p.w.events)
	checkOrder(v, p.w.events)
	checkEffects(v, p.w.events, p.topics)
	p.checkEnds(v)
	return v.list
}

// checkRecords: a record is at the broker if and only if its transaction has committed (O1, O2,
// O3), as it was written (O4). No position passes a record that is neither there nor set aside
// (O12), or moves under a lost lease (O9).
func checkRecords(v *verdicts, events []Event) {
	written := make(map[string]Event)
	landed, aside := make(map[string]bool), make(map[string]bool)
	given := make(map[string]bool) // dead or skipped
	for _, e := range events {
		switch e.What {
		case Committed:
			written[e.ID] = e
		case Landed:
			landed[e.ID] = true
			w, ok := written[e.ID]
			if !ok {
				v.add("O3", "sent before it was committed, if ever: %s", e)
			} else if w.Topic != e.Topic || w.Key != e.Key || w.Note != e.Note {
				v.add("O4", "sent as %s, written as %s", e, w)
			}
		case HeldBack, Resolved:
			aside[e.ID] = true
			given[e.ID] = e.Note == driver.FateDead.String() || e.Note == driver.FateSkip.String()
		case Settled:
			if !landed[e.ID] && !aside[e.ID] {
				v.add("O12", "passed, but neither sent nor set aside: %s", e)
			}
		case Stale:
			v.add("O9", "write under a lost lease: %s", e)
		default:
		}
	}
	for _, e := range events {
		if e.What == Committed && !landed[e.ID] && !given[e.ID] {
			v.add("O2", "lost: %s", e)
		}
	}
}

// checkHeld: after a record is parked, no later call sends anything of its key until it is redriven
// (O6), and only failures of the record itself count as attempts (O8).
func checkHeld(v *verdicts, events []Event) {
	parked := make(map[driver.Key]Event)
	failed, counted := make(map[string]int64), make(map[string]int64)
	for _, e := range events {
		key := driver.Key{Topic: e.Topic, Key: e.Key}
		if e.Key == "" {
			key.Key = "\x00" + e.ID
		}
		switch e.What {
		case Failed:
			failed[e.ID]++
		case HeldBack, Resolved:
			if counted[e.ID] += e.N; counted[e.ID] > failed[e.ID] {
				v.add("O8", "%d attempts count, of which %d failed: %s", counted[e.ID], failed[e.ID], e)
			}
			if e.Note == driver.FatePark.String() {
				parked[key] = e
			}
		case Redriven:
			delete(parked, key)
		case Landed:
			if p, ok := parked[key]; ok && e.Since > p.At {
				v.add("O6", "sent behind a parked record: %s, %s", p, e)
			}
		default:
		}
	}
}

// checkOrder: the first copies of a key are in the order of the commits (O5). A record that was dead
// or skipped can still arrive, by a call that began before (O9).
func checkOrder(v *verdicts, events []Event) {
	order := make(map[string]int)
	last := make(map[driver.Key]Event)
	seen := make(map[string]bool)
	given := make(map[string]time.Duration)
	for _, e := range events {
		switch e.What {
		case Committed:
			order[e.ID] = len(order)
		case HeldBack, Resolved:
			if e.Note == driver.FateDead.String() || e.Note == driver.FateSkip.String() {
				given[e.ID] = e.At
			}
		case Landed:
			if at, ok := given[e.ID]; seen[e.ID] || e.Key == "" || ok && e.Since <= at {
				continue
			}
			seen[e.ID] = true
			key := driver.Key{Topic: e.Topic, Key: e.Key}
			if before, ok := last[key]; ok && order[e.ID] < order[before.ID] {
				v.add("O5", "%s came before %s", before, e)
			}
			last[key] = e
		default:
		}
	}
}

// checkEffects: a message takes effect once, and before it is acknowledged (I1, I3).
func checkEffects(v *verdicts, events []Event, topics []string) {
	effects := make(map[string]int)
	for _, e := range events {
		switch e.What {
		case Effect:
			if effects[e.ID]++; effects[e.ID] > 1 {
				v.add("I1", "took effect %d times: %s", effects[e.ID], e)
			}
		case Acked:
			if effects[e.ID] == 0 {
				v.add("I3", "acked before it took effect: %s", e)
			}
		default:
		}
	}
	for _, e := range events {
		if e.What == Landed && slices.Contains(topics, e.Topic) && effects[e.ID] == 0 {
			v.add("I1", "never took effect: %s", e)
		}
	}
	checkChildren(v, events)
}

// checkChildren: the message of a handler is committed with its effect (I2), which means at the same
// instant.
func checkChildren(v *verdicts, events []Event) {
	took := make(map[string]time.Duration)
	for _, e := range events {
		if e.What == Effect {
			took[e.ID] = e.At
		}
	}
	written := make(map[string]bool)
	for _, e := range events {
		parent, child := strings.CutSuffix(e.ID, ">")
		if e.What != Committed || !child {
			continue
		}
		written[parent] = true
		if at, ok := took[parent]; !ok || at != e.At {
			v.add("I2", "committed apart from the effect: %s", e)
		}
	}
	for _, e := range events {
		if e.What == Effect && !written[e.ID] {
			v.add("I2", "took effect without the message of its handler: %s", e)
		}
	}
}

// checkEnds: relays end as they should, and leave no lease behind (O13).
func (p *pipeline) checkEnds(v *verdicts) {
	for _, n := range p.relays {
		done, err := n.ended()
		refused := errors.Is(err, relay.ErrDrainTimeout) || errors.Is(err, driver.ErrSourceUnusable)
		if !n.dead && (!done || err != nil && !refused) {
			v.add("O13", "%s has ended: %v, error %v", n.name, done, err)
		}
	}
	for _, s := range p.db.slots {
		if l := s.lease; l.owner != nil && l.until > p.w.now() {
			v.add("O13", "%s has stopped with the lease of slot %d", l.owner.name, s.no)
		}
	}
}

// once: without a fault each record is sent once (O10), and each run happens once (D1).
func once(events []Event) []Violation {
	v := &verdicts{}
	ran := make(map[string]int)
	for _, e := range events {
		if e.What == Landed && e.N > 1 {
			v.add("O10", "sent again without a fault: %s", e)
		}
		if e.What == Claimed {
			if ran[e.ID]++; ran[e.ID] > 1 {
				v.add("D1", "ran again without a fault: %s", e)
			}
		}
	}
	return v.list
}
