package meminbox

import (
	"cmp"
	"context"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
	common "github.com/leat-go/leat/outbox/admin"
)

// Attempts implements admin.Inbox.
func (a *operators) Attempts(ctx context.Context, q admin.AttemptsQuery) (all []admin.Attempts, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.look(ctx, q.Consumer, func(s *Store) error {
		for r, h := range s.attempts {
			id := ids.Text(r.id)
			if r.consumer != q.Consumer || s.rows[r].committed || id <= q.After || h.Last.Before(q.Since) || !q.All && !failed(*h) {
				continue
			}
			all = append(all, admin.Attempts{Consumer: r.consumer, ID: id, History: copied(*h)})
		}
		return nil
	})
	slices.SortFunc(all, func(a, b admin.Attempts) int { return cmp.Compare(a.ID, b.ID) })
	return page(all, q.Limit), err
}

// failed reports whether an attempt has failed, or ended with its process.
func failed(h driver.History) bool {
	return len(h.Errors) > 0 || h.Attempts > 1
}

func copied(h driver.History) driver.History {
	h.Errors = slices.Clone(h.Errors)
	return h
}

// Parked implements admin.Inbox.
func (a *operators) Parked(ctx context.Context, q admin.ParkedQuery) (all []admin.ParkedMessage, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.look(ctx, q.Consumer, func(s *Store) error {
		for _, p := range s.parked {
			if p.matches(q) && len(all) < q.Limit {
				all = append(all, p.shown(q.OmitPayload))
			}
		}
		return nil
	})
	return all, err
}

// state returns the state of p.
func (p *parked) state() admin.ParkedState {
	switch {
	case p.redrive:
		return admin.StateRedrive
	case p.waits:
		return admin.StateWait
	default:
		return admin.StateParked
	}
}

func (p *parked) matches(q admin.ParkedQuery) bool {
	return p.no > q.After &&
		(q.Consumer == "" || p.consumer == q.Consumer) &&
		(q.Topic == "" || p.key.Topic == q.Topic) &&
		(q.Key == "" || p.key == driver.Key{Topic: q.Topic, Name: q.Key}) &&
		(q.ID == "" || p.id == q.ID) &&
		(q.State == "" || p.state() == q.State) &&
		(q.Fingerprint == "" || common.Fingerprint(p.reason) == q.Fingerprint) &&
		(q.Before.IsZero() || p.at.Before(q.Before))
}

func (p *parked) shown(omitPayload bool) admin.ParkedMessage {
	m := admin.ParkedMessage{
		No: p.no, Consumer: p.consumer, State: p.state(), ID: p.id, Topic: p.key.Topic, Key: p.key.Name,
		Message: p.msg.Copy(), PayloadBytes: len(p.msg.Payload),
		History: copied(p.history), Tries: p.tries, Reason: p.reason, ParkedAt: p.at,
	}
	if omitPayload {
		m.Message = message.NewMessage(p.msg.UUID, nil)
		m.Message.Metadata = p.msg.Copy().Metadata
	}
	return m
}

// Failures implements admin.Inbox.
func (a *operators) Failures(ctx context.Context, q admin.FailuresQuery) (all []admin.FailureGroup, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	type name struct{ consumer, topic, fingerprint string }
	groups := map[name]*admin.FailureGroup{}
	var order []name
	err = a.look(ctx, q.Consumer, func(s *Store) error {
		for _, p := range s.parked {
			if !p.matches(admin.ParkedQuery{Consumer: q.Consumer, Topic: q.Topic, State: admin.StateParked}) {
				continue
			}
			n := name{p.consumer, p.key.Topic, common.Fingerprint(p.reason)}
			if groups[n] == nil {
				order = append(order, n)
				groups[n] = &admin.FailureGroup{
					Consumer: n.consumer, Topic: n.topic, Fingerprint: n.fingerprint, Example: p.reason, First: p.at,
				}
			}
			groups[n].Count++
			groups[n].Last = p.at
		}
		return nil
	})
	for _, n := range order {
		all = append(all, *groups[n])
	}
	slices.SortStableFunc(all, func(a, b admin.FailureGroup) int { return cmp.Compare(b.Count, a.Count) })
	return page(all, q.Limit), err
}
