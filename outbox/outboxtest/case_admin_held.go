package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// listed pages through what q selects, two a page, and returns payloads or ids.
func (s *setAside) listed(ctx context.Context, list func(context.Context, admin.HeldQuery) ([]admin.HeldRecord, error), q admin.HeldQuery) ([]admin.HeldRecord, error) {
	var all []admin.HeldRecord
	for q.Limit = 2; ; {
		page, err := list(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < q.Limit {
			return all, nil
		}
		q.After = page[len(page)-1].Seq
	}
}

func heldIsSelected(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		query admin.HeldQuery
		want  string
	}{
		{admin.HeldQuery{}, "a b c d e f"},
		{admin.HeldQuery{State: admin.HeldParked}, "a b c f"},
		{admin.HeldQuery{State: admin.HeldRetrying}, "d e"},
		{admin.HeldQuery{Group: testGroup, Key: "k"}, "a b"},
		{admin.HeldQuery{Topic: "ord*", Key: "m"}, "d e"},
		{admin.HeldQuery{Topic: "mails"}, ""},
		{admin.HeldQuery{Key: "m", State: admin.HeldParked}, ""},
	} {
		all, err := s.listed(ctx, s.op.Held, c.query)
		if err != nil {
			return fmt.Errorf("held %+v: %w", c.query, err)
		}
		if err := expect(recordsIn(all), strings.Fields(c.want)...); err != nil {
			return fmt.Errorf("held %+v: %w", c.query, err)
		}
		for _, h := range all {
			waits := slices.Contains([]string{"b", "e"}, string(h.Payload))
			state := admin.HeldParked
			if slices.Contains([]string{"d", "e"}, string(h.Payload)) {
				state = admin.HeldRetrying
			}
			if h.Waits != waits || h.State != state || h.Group != testGroup || h.Since.IsZero() {
				return fmt.Errorf("held %+v: %+v, want %s, waits: %t", c.query, h, state, waits)
			}
		}
	}
	bare, err := s.listed(ctx, s.op.Held, admin.HeldQuery{OmitPayload: true})
	if err != nil || len(bare) != 6 || slices.ContainsFunc(bare, func(h admin.HeldRecord) bool { return len(h.Payload) > 0 || h.ID == "" }) {
		return fmt.Errorf("held without payloads: %d records, %w", len(bare), errors.Join(err, errors.New("want 6 with ids and no payload")))
	}
	dead, err := s.listed(ctx, s.op.Dead, admin.HeldQuery{Key: "o"})
	if err != nil {
		return err
	}
	return expect(recordsIn(dead), "g")
}

func recordsIn(all []admin.HeldRecord) []outbox.Record {
	records := make([]outbox.Record, len(all))
	for i := range all {
		records[i] = all[i].Record
	}
	return records
}
