package sqlinbox

import (
	"context"
	"database/sql"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/internal/sqlstore"
)

// Lookup implements admin.Inbox.
func (a *operators) Lookup(ctx context.Context, q admin.LookupQuery) (all []admin.Sighting, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	number, err := a.known(ctx, q.Consumer)
	if err != nil {
		return nil, err
	}
	var numbers []int64
	if all, numbers, err = a.sightings(ctx, number, q.ID); err != nil || len(all) == 0 {
		return nil, a.Describe(err)
	}
	running, err := a.running(ctx, numbers, q.ID)
	if err != nil {
		return nil, a.Describe(err)
	}
	for i := range all {
		if err := a.complete(ctx, &all[i], numbers[i], q.ID, running[numbers[i]]); err != nil {
			return nil, a.Describe(err)
		}
	}
	return all, nil
}

// sightings returns what the consumers know about a message, except parked ones, and the
// consumers' numbers.
func (a *operators) sightings(ctx context.Context, number int64, id string) (all []admin.Sighting, numbers []int64, err error) {
	stored := a.row("", id).id
	var f sqlstore.Condition
	f.If(number != 0, "c.id = ?", number)
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var (
			s                  admin.Sighting
			n, at, first, last int64
			name, errs         []byte
			noted              bool
			note               driver.Note
		)
		err := scan(&n, &name, &at, &noted, &note.Fingerprint, &note.Reply, &s.History.Attempts, &first, &last, &errs)
		if err != nil {
			return err
		}
		s.Consumer, s.State, s.ProcessedAt = string(name), admin.NotSeen, sqlstore.Time(at)
		if noted {
			s.Note = &note
		}
		switch {
		case at != 0:
			s.State, s.History = admin.Processed, driver.History{}
		case errs != nil:
			s.State, s.History.First, s.History.Last = admin.Failing, sqlstore.Time(first), sqlstore.Time(last)
			s.History.Errors, err = parkjson.DecodeErrors(string(errs))
		default:
			s.History = driver.History{}
		}
		all, numbers = append(all, s), append(numbers, n)
		return err
	}, a.SQL.With("lookup", f.String()), append([]any{stored, stored, stored}, f.Args...)...)
	return all, numbers, err
}

// running returns the consumers that are processing or have processed the message: their writes
// are visible before they are committed. Trying the lock would make a delivery Busy.
func (a *operators) running(ctx context.Context, numbers []int64, id string) (map[int64]bool, error) {
	found := map[int64]bool{}
	if a.Dialect.OneWriter { // uncommitted writes are not visible, and a transaction would wait for its turn
		return found, nil
	}
	tx, err := a.DB.BeginTx(ctx, a.Options(sql.LevelReadUncommitted))
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	err = sqlstore.Each(ctx, tx, func(scan sqlstore.Scanner) error {
		var n int64
		err := scan(&n)
		found[n] = true
		return err
	}, a.SQL.List("lookup_running", len(numbers)), append([]any{a.row("", id).id}, sqlstore.Anys(numbers)...)...)
	return found, err
}

// complete adds parked messages, and the state that follows from the floor.
func (a *operators) complete(ctx context.Context, s *admin.Sighting, number int64, id string, running bool) error {
	parked, err := a.parked(ctx, number, admin.ParkedQuery{Consumer: s.Consumer, ID: id, OmitPayload: true, Limit: maxListed})
	if err != nil {
		return err
	}
	for _, p := range parked {
		s.Parked = append(s.Parked, p.No)
	}
	switch r := a.row(s.Consumer, id); {
	case len(parked) > 0:
		s.State, s.History = admin.Parked, parked[0].History
	case s.State == admin.Processed:
	case running:
		s.State = admin.Running
	case s.State == admin.NotSeen:
		var floor int64
		err = a.Query(ctx, func(q sqlstore.Querier) error {
			return q.QueryRowContext(ctx, a.SQL["floor"], r.bucket).Scan(&floor)
		})
		if r.millis < floor {
			s.State = admin.Forgotten
		}
	}
	return err
}

// Retention implements admin.Retainer.
func (a *operators) Retention(ctx context.Context) (r admin.Retention, err error) {
	now, floor, err := a.floor(ctx, "floor_lowest")
	r.Mode, r.At = admin.RetainAll, now
	if err == nil && !floor.IsZero() {
		r.Mode, r.Floor, r.Kept = admin.RetainDelete, floor, now.Sub(floor)
	}
	return r, err
}
