package inboxes

import (
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/proof/model"
)

const title = "inbox"

// Cases are the protocol and its forbidden variants.
func Cases() []model.Case {
	all := bounds{crashes: true}
	poison := bounds{crashes: true, poison: true}
	loss := bounds{crashes: true, loss: true}
	calm := bounds{loss: true}
	cases := []model.Case{
		{Model: title, Variant: "three workers", Run: check(protocol{bounds: all}, sights(false))},
		{Model: title, Variant: "three workers and a handler that always fails", Run: check(protocol{bounds: poison}, sights(true))},
	}
	for _, v := range []struct {
		variant, breaks string
		rules           rules
		bounds          bounds
	}{
		{"acks before the commit", "I3", rules{ackFirst: true}, all},
		{"acks what is in work elsewhere", "I3", rules{ackBusy: true}, all},
		{"takes a COMMIT without an answer for done", "I3", rules{trustCommit: true}, all},
		{"records the id before the handler", "I1", rules{markFirst: true}, loss},
		{"records the id before, and deletes it on failure", "I1", rules{markFirst: true, unmark: true}, calm},
		{"records the id after the handler's commit", "I1", rules{markAfter: true}, all},
		{"looks, and then runs", "I1", rules{lookFirst: true}, all},
		{"runs what is older than its memory", "I1", rules{forgetAll: true}, all},
		{"counts attempts in the handler's transaction", "I4", rules{innerAttempts: true}, poison},
		{"publishes from the handler", "I2", rules{publishBefore: true}, all},
		{"publishes after the commit", "I2", rules{publishAfter: true}, all},
	} {
		cases = append(cases, model.Case{
			Model: title, Variant: v.variant, Breaks: v.breaks, Run: check(protocol{rules: v.rules, bounds: v.bounds}, nil),
		})
	}
	return cases
}

func check(p protocol, sights []model.Sight[state]) func(context.Context) (model.Report, error) {
	m := model.Model[state]{
		Start:    []state{{poison: p.poison, again: 2, forget: !p.poison}},
		Next:     p.next,
		Rest:     func(s state) bool { return s.acked && s.workers == [3]worker{} && s.orphan.phase == none },
		Liveness: "I4",
		Always: []model.Promise[state]{
			{Name: "I1", Says: "at most one execution commits", Holds: func(s state) bool { return s.effects <= 1 }},
			{Name: "I3", Says: "what is acknowledged has taken effect or is parked", Holds: func(s state) bool {
				return p.loss || !s.acked || s.effects > 0 || s.parked
			}},
			{Name: "I2", Says: "nothing goes out of what was not committed", Holds: func(s state) bool { return s.out <= s.effects }},
		},
		AtRest: []model.Promise[state]{
			{Name: "I1", Says: "when all is done, one execution has committed or the message is parked", Holds: func(s state) bool {
				return s.effects > 0 || s.parked
			}},
			{Name: "I2", Says: "what was committed has gone out", Holds: func(s state) bool { return s.out == s.effects }},
		},
		Sights: sights,
		Show:   show,
	}
	return m.Check
}

func (p *protocol) next(s state, yield func(model.Step, state)) {
	for n := range s.workers {
		p.workerSteps(s, n, yield)
	}
	p.serverSteps(s, yield)
	p.forgetSteps(s, yield)
}

func sights(poison bool) []model.Sight[state] {
	if poison {
		return []model.Sight[state]{
			{Name: "parked, and a transaction of before still has the lock", Seen: func(s state) bool { return s.orphan.phase == claimed && s.attempts > tries }},
			{Name: "parked and acknowledged", Seen: func(s state) bool { return s.parked && s.acked }},
		}
	}
	return []model.Sight[state]{
		{Name: "a COMMIT is on its way whose worker is gone, and both others try to claim", Seen: func(s state) bool {
			return s.orphan.phase == committing && s.workers[0].phase == looking && s.workers[1].phase == counted
		}},
		{Name: "delivered again after the ack, and seen to be done", Seen: func(s state) bool {
			return s.acked && s.again == 0 && s.workers[0].phase == sure
		}},
		{Name: "too old, and set aside", Seen: func(s state) bool { return s.forgotten && s.parked && s.effects == 1 }},
	}
}

func show(s state) string {
	return fmt.Sprintf("committed %d, sent out %d, id known %t, parked %t, attempts %d, acknowledged %t",
		s.effects, s.out, s.row, s.parked, s.attempts, s.acked)
}
