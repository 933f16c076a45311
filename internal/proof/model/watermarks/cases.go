package watermarks

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/proof/model"
)

const title = "watermark inbox"

// Cases returns the protocol and its forbidden variants.
func Cases() []model.Case {
	cases := []model.Case{
		{Model: title, Variant: "two sessions of two messages each", Run: check(protocol{remakes: 1}, sights())},
		{Model: title, Variant: "commits are lost", Run: check(protocol{losses: 1}, lossSights())},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
		remakes, losses uint8
	}{
		{"wants the very offset (= for <=)", "I8", rules{equal: true}, 0, 0},
		{"does not ask for the message before (<= alone)", "I1", rules{noPrev: true}, 0, 0},
		{"does not ask whether the offset was passed", "I1", rules{noMark: true}, 0, 0},
		{"looks, and updates later", "I1", rules{lookFirst: true}, 0, 0},
		{"acks before the commit", "I3", rules{ackFirst: true}, 0, 0},
		{"acks what is in work elsewhere", "I3", rules{ackBusy: true}, 0, 0},
		{"takes a topic that was made again for the one before", "I1", rules{anySource: true}, 1, 0},
		{"stays at a gap", "I8", rules{stays: true}, 0, 1},
		{"does not look where nothing comes", "I8", rules{blind: true}, 0, 1},
	} {
		cases = append(cases, model.Case{
			Model: title, Variant: v.variant, Breaks: v.breaks, Run: check(protocol{rules: v.rules, remakes: v.remakes, losses: v.losses}, nil),
		})
	}
	return cases
}

func check(p protocol, sights []model.Sight[state]) func(context.Context) (model.Report, error) {
	m := model.Model[state]{
		Start:    []state{{known: true, remakes: p.remakes, losses: p.losses}},
		Next:     p.next,
		Rest:     func(s state) bool { return s.effects == [messages]uint8{1, 1, 1} && s.mark == logEnd },
		Liveness: "I8",
		Always: []model.Promise[state]{
			{Name: "I1", Says: "each message takes effect once, and none before the mark is left out", Holds: exact},
			{Name: "I3", Says: "what is acknowledged has taken effect, in the history that is left", Holds: func(s state) bool {
				for m := range uint8(messages) {
					if s.acked&^s.lost&bit(m) != 0 && s.effects[m] == 0 {
						return false
					}
				}
				return true
			}},
		},
		Moves: []model.Move[state]{
			{Name: "I8", Says: "the mark never goes back, unless the log or its history is another", Holds: func(from, to state) bool {
				return to.mark >= from.mark || to.known && !from.known || to.losses < from.losses
			}},
		},
		Sights: sights,
		Show: func(s state) string {
			return fmt.Sprintf("mark %d, effects %v, acknowledged %03b", s.mark, s.effects, s.acked)
		},
	}
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for n := range s.sessions {
		p.sessionSteps(s, n, yield)
	}
	p.remake(s, yield)
	p.lose(s, yield)
}

// exact reports whether every message has taken effect at most once, and exactly once if
// the mark has passed it.
func exact(s state) bool {
	for m := range uint8(messages) {
		if s.effects[m] > 1 || s.known && s.mark > offset(m) && s.effects[m] == 0 {
			return false
		}
	}
	return true
}

func sights() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "a COMMIT is on its way of a session that has ended, and another has the message", Seen: func(s state) bool {
			old, other := s.sessions[0], s.sessions[1]
			return !old.on && old.work[0].phase == committing && other.work[0].phase == got && other.work[0].message == old.work[0].message
		}},
		{Name: "a message waits for the one before it", Seen: func(s state) bool {
			w := s.sessions[0].work
			return w[0].phase == running && w[1].phase == looking && w[1].message == w[0].message+1
		}},
		{Name: "a topic that was made again has been read", Seen: func(s state) bool { return s.remakes == 0 && s.mark == logEnd }},
	}
}

func lossSights() []model.Sight[state] {
	return []model.Sight[state]{
		{Name: "a session is ahead of the database, and another one is not", Seen: func(s state) bool {
			a, b := s.sessions[0], s.sessions[1]
			return a.on && b.on && s.lost != 0 && s.mark < a.prev && s.mark >= b.prev
		}},
		{Name: "all was acknowledged, some of it was lost, and has taken effect", Seen: func(s state) bool {
			return s.lost != 0 && s.mark == logEnd && s.effects == [messages]uint8{1, 1, 1}
		}},
	}
}
