package meminbox

import (
	"context"
	"maps"
	"slices"

	"github.com/leat-go/leat/inbox/admin"
)

// Lookup implements admin.Inbox.
func (a *operators) Lookup(ctx context.Context, q admin.LookupQuery) (all []admin.Sighting, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.look(ctx, q.Consumer, func(s *Store) error {
		for _, name := range slices.Sorted(maps.Keys(s.consumers)) {
			if q.Consumer == "" || q.Consumer == name {
				all = append(all, s.sighting(name, q.ID))
			}
		}
		return nil
	})
	return all, err
}

// sighting returns what consumer knows about a message. The caller holds the lock.
func (s *Store) sighting(consumer, id string) admin.Sighting {
	r := newRow(consumer, id)
	known, found := s.rows[r]
	see := admin.Sighting{Consumer: consumer, State: admin.NotSeen}
	if n, kept := s.notes[r]; kept {
		see.Note = &n
	}
	for _, p := range s.parked {
		if p.consumer != consumer || p.id != id {
			continue
		}
		if see.Parked == nil {
			see.History = copied(p.history)
		}
		see.Parked = append(see.Parked, p.no)
	}
	h := s.attempts[r]
	if h != nil && !known.committed && see.Parked == nil {
		see.History = copied(*h)
	}
	switch {
	case see.Parked != nil:
		see.State = admin.Parked
	case found && !known.committed:
		see.State = admin.Running
	case known.committed:
		see.State, see.ProcessedAt = admin.Processed, known.at
	case h != nil:
		see.State = admin.Failing
	}
	return see
}
