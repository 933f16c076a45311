package wmforward

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/erase"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

var _ driver.Eraser = (*Source)(nil)

const (
	// eraseSpan is how many rows one statement reads, so that none delays the server's clean-up
	// for long; eraseChunk is how many one transaction deletes.
	eraseSpan  = 10_000
	eraseChunk = 1000
)

// erasable are rows of the forwarder's table to delete.
type erasable struct {
	xids        []uint64
	numbers     []int64
	ids, topics []string
}

// Erase implements driver.Eraser, for all groups. It deletes rows of the forwarder's table, sent or
// not. A row that is not an envelope has neither key nor headers: select it by its uuid.
//
// It needs DELETE on the forwarder's table, and the rights of the owner of the Source's own
// tables.
func (s *Source) Erase(ctx context.Context, r driver.EraseRequest) (driver.Erased, error) {
	if err := erase.Check(&r); err != nil {
		return driver.Erased{}, err
	}
	found, err := s.erase(ctx, r)
	return found, describe(err)
}

func (s *Source) erase(ctx context.Context, r driver.EraseRequest) (found driver.Erased, err error) {
	rows, err := s.findErasable(ctx, &r)
	if err != nil {
		return found, err
	}
	for i, id := range rows.ids {
		erase.Add(&found, erase.Log, id, rows.topics[i])
	}
	held, _, err := s.held.FindErased(ctx, s.pool, &r)
	if err != nil {
		return found, err
	}
	erase.Merge(&found, held)
	all := erase.With(r, found.IDs)
	audited, err := s.held.FindAudited(ctx, s.pool, &all)
	erase.Count(&found, erase.Audit, audited)
	if err != nil || r.DryRun {
		return found, err
	}
	return found, s.eraseFound(ctx, &all, rows)
}

// eraseFound deletes what was found. The audit comes first, since after an interruption the ids
// can no longer be found by a header, and once more at the end, for entries added in the
// meantime.
func (s *Source) eraseFound(ctx context.Context, r *driver.EraseRequest, rows erasable) error {
	if err := s.held.EraseAudited(ctx, s.pool, r); err != nil {
		return err
	}
	for from := 0; from < len(rows.ids); from += eraseChunk {
		to := min(from+eraseChunk, len(rows.ids))
		err := pgheld.Durably(ctx, s.pool, s.sql.eraseLog,
			rows.xids[from:to], rows.numbers[from:to], rows.ids[from:to], rows.topics[from:to], r.Actor, r.Reason, s.slot.Group)
		if err != nil {
			return err
		}
	}
	_, groups, err := s.held.FindErased(ctx, s.pool, r) // relays may have set more aside
	if err != nil {
		return err
	}
	if err := s.held.Erase(ctx, s.pool, r, groups); err != nil {
		return err
	}
	return s.held.EraseAudited(ctx, s.pool, r)
}

// findErasable reads through the table.
func (s *Source) findErasable(ctx context.Context, r *driver.EraseRequest) (all erasable, err error) {
	var xid uint64
	var number, done int64
	for {
		rows, err := s.pool.Query(ctx, s.sql.eraseFind, xid, number, eraseSpan)
		if err != nil {
			return all, err
		}
		seen := 0
		var uuid string
		var payload []byte
		_, err = pgx.ForEachRow(rows, []any{&xid, &number, &uuid, &payload}, func() error {
			seen++
			record, _ := decode(row{number: number, uuid: uuid, payload: payload}, s.cfg.KeyFunc) // a malformed row only has its id
			if erase.Matches(r, record.ID, record.Topic, record.Key, func() map[string]string { return record.Headers }) {
				all.xids, all.numbers = append(all.xids, xid), append(all.numbers, number)
				all.ids, all.topics = append(all.ids, record.ID), append(all.topics, record.Topic)
			}
			return nil
		})
		done += int64(seen)
		erase.Walked(r, done, 0)
		if err != nil || seen < eraseSpan {
			return all, err
		}
	}
}
