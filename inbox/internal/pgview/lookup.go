package pgview

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgpin"
)

// Lookup returns the record that each consumer has of a message.
func (v *View) Lookup(ctx context.Context, q admin.LookupQuery) (all []admin.Sighting, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = v.base.Use(ctx, q.Consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		l := lookup{View: v, conn: conn, id: q.ID, stored: pgclaim.StoredID(q.ID)}
		all, err = l.run(ctx, about)
		return err
	})
	return all, err
}

// lookup is one call of Lookup.
type lookup struct {
	*View

	conn   *pgx.Conn
	id     string
	stored pgtype.UUID
}

func (l *lookup) run(ctx context.Context, about pgclaim.Asked) ([]admin.Sighting, error) {
	numbers, names, err := l.consumers(ctx, about)
	if err != nil {
		return nil, err
	}
	locks := make([]int64, len(names))
	for i, name := range names {
		locks[i] = about.Named(name).Lock(l.stored)
	}
	rows, err := pgpin.On{DB: l.conn}.Query(ctx, l.sql["lookup"], numbers, locks, l.stored)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (admin.Sighting, error) {
		return l.sighting(row, names)
	})
	if err != nil {
		return nil, err
	}
	return all, l.parked(ctx, about, all)
}

// consumers returns the consumers to ask, without those that remember positions.
func (l *lookup) consumers(ctx context.Context, about pgclaim.Asked) (numbers []int16, names []string, err error) {
	rows, err := pgpin.On{DB: l.conn}.Query(ctx, l.sql["lookup_consumers"], about.Number)
	if err != nil {
		return nil, nil, err
	}
	var number int16
	var name string
	_, err = pgx.ForEachRow(rows, []any{&number, &name}, func() error {
		numbers, names = append(numbers, number), append(names, name)
		return nil
	})
	return numbers, names, err
}

func (l *lookup) sighting(row pgx.CollectableRow, names []string) (s admin.Sighting, err error) {
	var (
		place                        int
		recorded, running, forgotten bool
		arrived                      *int64 // in minutes since 1970
		noted, first, last           *time.Time
		note                         driver.Note
		attempts                     *int
		errs                         string
	)
	err = row.Scan(&place, &recorded, &arrived, &running, &forgotten, &noted, &note.Fingerprint, &note.Reply, &attempts, &first, &last, &errs)
	if err != nil {
		return s, err
	}
	s.Consumer, s.State = names[place-1], admin.NotSeen
	if noted != nil {
		s.Note = &note
	}
	_, timed := ids.Time(l.stored.Bytes)
	switch {
	case recorded:
		s.State, s.ProcessedAt = admin.Processed, orZero(noted)
		if noted == nil && arrived != nil {
			s.ProcessedAt = time.Unix(*arrived*60, 0).UTC()
		}
	case running:
		s.State = admin.Running
	case attempts != nil:
		s.State = admin.Failing
	case timed && forgotten:
		s.State = admin.Forgotten
	}
	if attempts != nil && !recorded {
		s.History = driver.History{Attempts: *attempts, First: orZero(first), Last: orZero(last)}
		s.History.Errors, err = parkjson.DecodeErrors(errs)
	}
	return s, err
}

// parked adds the parked messages with the id.
func (l *lookup) parked(ctx context.Context, about pgclaim.Asked, all []admin.Sighting) error {
	rows, err := pgpin.On{DB: l.conn}.Query(ctx, l.sql["lookup_parked"], about.Number, []byte(l.id))
	if err != nil {
		return err
	}
	var (
		no   int64
		name string
		h    driver.History
		errs string
	)
	_, err = pgx.ForEachRow(rows, []any{&no, &name, &h.Attempts, &h.First, &h.Last, &errs}, func() (err error) {
		for i := range all {
			s := &all[i]
			if s.Consumer != name {
				continue
			}
			if s.Parked == nil {
				s.State, s.ProcessedAt = admin.Parked, time.Time{}
				s.History = driver.History{Attempts: h.Attempts, First: h.First.UTC(), Last: h.Last.UTC()}
				s.History.Errors, err = parkjson.DecodeErrors(errs)
			}
			s.Parked = append(s.Parked, no)
		}
		return err
	})
	return err
}
