package pgpark

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/pgunit"
	"github.com/leat-go/leat/outbox"
)

// Keep implements driver.Keeper.
func (s *Store) Keep(ctx context.Context, id string, n driver.Note) error {
	if tx := pgclaim.Tx(ctx); tx != nil {
		number, err := s.inbox.Number(ctx, pgunit.ConnOf(tx))
		if err == nil {
			err = pgunit.Last(ctx, tx, pgclaim.Explain, s.sql["note"], number, pgclaim.StoredID(id), n.Fingerprint, n.Reply)
		}
		return pgclaim.Explain(err)
	}
	tx := pgclaim.SQLTx(ctx)
	if tx == nil {
		return outbox.ErrNotInTransaction
	}
	var number int16
	err := tx.QueryRowContext(ctx, s.inbox.Consumer.Lookup, s.inbox.Consumer.Name).Scan(&number)
	if err == nil {
		_, err = tx.ExecContext(ctx, s.sql["note"], number, pgclaim.StoredID(id), n.Fingerprint, n.Reply)
	}
	return pgclaim.Explain(err)
}

// Kept implements driver.Keeper.
func (s *Store) Kept(ctx context.Context, id string) (n driver.Note, ok bool, err error) {
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		err := pgpin.On{DB: conn}.QueryRow(ctx, s.sql["noted"], number, pgclaim.StoredID(id)).Scan(&n.Fingerprint, &n.Reply)
		ok = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return n, ok, err
}

// Conflict implements driver.Classifier.
func (s *Store) Conflict(err error) bool {
	return pgerr.Is(err, pgerr.SerializationFailure, pgerr.DeadlockDetected)
}

// Outage implements driver.Classifier.
func (s *Store) Outage(err error) bool { return pgerr.Outage(err) }
