package meminbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/inbox/admin"
)

// change is a change of parked messages that an operator requests.
type change struct {
	admin.By

	consumer  string
	selection admin.Selection
	dryRun    bool
	action    string
	whole     bool                      // change the selected messages themselves, not the first ones of their keys
	can       func(p *parked) bool      // whether p can be changed
	do        func(s *Store, p *parked) // changes it
}

// Redrive implements admin.Inbox.
func (a *operators) Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.change(ctx, change{
		By: r.By, consumer: r.Consumer, selection: r.Selection, dryRun: r.DryRun, action: "redrive",
		can: func(p *parked) bool { return p.state() == admin.StateParked },
		do: func(s *Store, p *parked) {
			p.redrive, p.next, p.tries = true, time.Time{}, 0
			s.note(p, "redrive", r.By, nil)
		},
	})
}

// SkipHead implements admin.Inbox.
func (a *operators) SkipHead(ctx context.Context, r admin.SkipHeadRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.drop(ctx, change{
		By: r.By, consumer: r.Consumer, dryRun: r.DryRun, action: "skip_head",
		selection: admin.Selection{Topic: r.Topic, Key: r.Key, Limit: 1},
	})
}

// Drop implements admin.Inbox.
func (a *operators) Drop(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error) {
	err := admin.Complete(&r)
	if err != nil {
		return admin.Changed{}, err
	}
	return a.drop(ctx, change{
		By: r.By, consumer: r.Consumer, selection: r.Selection, dryRun: r.DryRun, action: "drop", whole: true,
	})
}

func (a *operators) drop(ctx context.Context, c change) (admin.Changed, error) {
	c.can = func(*parked) bool { return true }
	c.do = func(s *Store, p *parked) {
		s.remove(p)
		s.note(p, c.action, c.By, p.details())
	}
	return a.change(ctx, c)
}

func (a *operators) change(ctx context.Context, c change) (changed admin.Changed, err error) {
	err = a.look(ctx, c.consumer, func(s *Store) error {
		targets, err := s.targets(c)
		if err != nil {
			return err
		}
		for _, p := range targets {
			changed.Add(p.id, p.key.Topic, p.key.Name, p.at)
			if !c.dryRun {
				c.do(s, p)
			}
		}
		if !c.dryRun {
			for _, p := range targets {
				s.promote(c.consumer, p.key)
			}
		}
		if changed.Count == 0 && (c.selection.Key != "" || c.selection.ID != "") {
			return fmt.Errorf("%w: consumer %s, %s", admin.ErrNotParked, c.consumer, c.selection)
		}
		return nil
	})
	if err != nil {
		return admin.Changed{}, err
	}
	return changed, nil
}

// targets returns the messages that c changes. The caller holds the lock.
func (s *Store) targets(c change) (all []*parked, err error) {
	for _, p := range page(s.selected(c.consumer, c.selection), c.selection.Limit) {
		if queue := s.queue(c.consumer, p.key); !c.whole && len(queue) > 0 {
			p = queue[0]
		}
		if p.redrive {
			return nil, fmt.Errorf("%w: consumer %s, message %.200q", admin.ErrBeingRetried, c.consumer, p.id)
		}
		if c.can(p) && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all, nil
}

// selected returns the messages that sel selects; a filter selects only those that wait for an
// operator.
func (s *Store) selected(consumer string, sel admin.Selection) (all []*parked) {
	q := admin.ParkedQuery{Consumer: consumer, Topic: sel.Topic, Key: sel.Key, ID: sel.ID, Before: sel.Before}
	if sel.ID == "" && sel.Key == "" {
		q.Topic, q.State, q.Fingerprint = sel.OfTopic, admin.StateParked, sel.Fingerprint
	}
	for _, p := range s.parked {
		if p.matches(q) {
			all = append(all, p)
		}
	}
	return all
}
