package wmforward

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox/admin"
)

var _ admin.Outbox = (*Source)(nil)

// byIndex applies to the implicit transaction of a batch. Compiling the statement would take
// seconds, running it takes milliseconds. Bounded counts walk an index: with the planner's
// guesses for tables that were not analysed, it would sort all rows to find the first.
const byIndex = "SELECT set_config('jit', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)"

// Stats implements admin.Outbox. It needs SELECT on the forwarder's table and its
// sequence, and on the tables of the Source.
func (s *Source) Stats(ctx context.Context) (admin.Stats, error) {
	var stats admin.Stats
	stats.Groups = []admin.GroupStats{{Name: s.slot.Group}}
	group := &stats.Groups[0]
	batch := &pgx.Batch{}
	batch.Queue(byIndex)
	batch.Queue(s.sql.stats, s.cfg.log().Qualified(""), s.slot.Group).QueryRow(func(row pgx.Row) error {
		var slot *int
		var owner, problem *string
		var epoch, window, pending *int64
		var oldest, waiting, left, age, lag *int64 // in µs
		err := row.Scan(&stats.LastSeq, &stats.Bytes, &stats.Rows, &group.Held, &group.Retrying, &group.Parked, &group.Dead, &group.Estimated, &oldest, &waiting,
			&slot, &owner, &epoch, &left, &window, &age, &problem, &pending, &lag)
		group.OldestRetried, group.OldestWaiting = ageOf(oldest), ageOf(waiting)
		if slot != nil {
			group.Slots = []admin.SlotStats{{
				Slot: *slot, Owner: or0(owner), Epoch: or0(epoch), LeaseLeft: ageOf(left), Window: or0(window), WindowAge: ageOf(age),
				Problem: or0(problem), Backlog: or0(pending), Lag: ageOf(lag),
			}}
		}
		return err
	})
	s.held.QueueOutages(batch, &stats.Groups)
	err := s.pool.SendBatch(ctx, batch).Close()
	return stats, describe(err)
}

// Groups implements admin.Outbox: the Source's own, if it has begun.
func (s *Source) Groups(ctx context.Context) ([]admin.Group, error) {
	slot, err := s.slotStats(ctx)
	if err != nil || slot == nil {
		return nil, err
	}
	group := admin.Group{Name: s.slot.Group, Slots: 1}
	if slot.LeaseLeft > 0 {
		group.Leases, group.Relays = 1, 1
	}
	_, err = s.KeepPolicies(ctx, func(note string, now time.Time) string {
		group.Policies = basis.ParsePolicies(note).Alive("", now).Texts()
		return note
	})
	return []admin.Group{group}, err
}

var claimNumber = regexp.MustCompile(`/[0-9]+$`)

// Members implements admin.Outbox: the relay that leads. Standbys write nothing and are
// not known.
func (s *Source) Members(ctx context.Context, group string) ([]admin.Member, error) {
	slot, err := s.slotStats(ctx)
	switch {
	case err != nil:
		return nil, err
	case slot == nil || group != s.slot.Group:
		return nil, fmt.Errorf("%w: %q", admin.ErrNoSuchGroup, group)
	case slot.LeaseLeft == 0:
		return nil, nil
	}
	name := claimNumber.ReplaceAllString(slot.Owner, "")
	return []admin.Member{{Name: name, Slots: []int{slot.Slot}, Until: time.Now().Add(slot.LeaseLeft).UTC()}}, nil
}

// slotStats returns the only slot; nil if no relay has begun.
func (s *Source) slotStats(ctx context.Context) (*admin.SlotStats, error) {
	stats, err := s.Stats(ctx)
	if err != nil || len(stats.Groups[0].Slots) == 0 {
		return nil, err
	}
	return &stats.Groups[0].Slots[0], nil
}

// or0 returns the zero value if the value is not known.
func or0[T any](v *T) (value T) {
	if v != nil {
		value = *v
	}
	return value
}

// ageOf returns a time that the database gives in µs; 0 if it is not known.
func ageOf(v *int64) time.Duration {
	return max(0, time.Duration(or0(v))*time.Microsecond)
}
