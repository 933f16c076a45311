package pgpark

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/storable"
)

// Park implements driver.Parker.
//
// A message to store behind another of its key races with the redrive that removes the last one.
// The key's lock decides. Let R be the redrive of the last message m1, and P the delivery of m2
// that has found m1 parked:
//
//   - R deletes m1 in the handler's transaction, without the lock: otherwise it would hold the
//     lock as long as the handler runs. After the commit, R takes the lock and makes the next
//     message of the key due.
//   - P takes the lock, and then checks, in a statement of its own, whether a message of the key
//     is stored. If so it stores m2 and commits, which releases the lock.
//
// If P looks before R's commit it finds m1 and stores m2. R, whose commit comes later, asks for
// the lock later still, finds m2 and makes it due. If P looks after R's commit it finds nothing
// and stores nothing: m1 has taken effect, and m2 is run like any other. If R's process ends
// between its commit and the lock, m2 waits behind no message; RecoverRedriven finds it.
//
// The look before the claim (Attempt) needs no lock: every earlier message of the key was
// acknowledged before m2 was delivered, so it has committed or is parked.
func (s *Store) Park(ctx context.Context, req driver.ParkRequest) (status driver.Status, err error) {
	args, err := s.parkArgs(req)
	if err != nil {
		return 0, err
	}
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		status, err = s.parkOn(ctx, conn, number, req, args)
		return err
	})
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.ConsumerCommitAmbiguous)
	}
	return status, err
}

func (s *Store) parkOn(
	ctx context.Context, conn *pgx.Conn, number int16, req driver.ParkRequest, args []any,
) (driver.Status, error) {
	unit, status, err := s.inbox.Claim(ctx, pgclaim.On(conn, pgx.ReadCommitted), req.ID)
	switch {
	case req.Behind && inbox.IsPermanent(err):
		return driver.NotBehind, nil // its id cannot be recorded: it is refused, and parked as such
	case err != nil:
		return 0, err
	case status == driver.Duplicate:
		return driver.Duplicate, nil
	case unit == nil:
		return driver.Busy, nil
	}
	stored, err := false, failpoint.Inject(ctx, failpoint.ConsumerAfterTrylock)
	if err == nil {
		stored, err = s.parkIn(ctx, pgclaim.Tx(unit.Context(ctx)), number, req, args)
	}
	if err != nil || !stored {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pgclaim.CleanUpTimeout)
		defer cancel()
		return driver.NotBehind, errors.Join(err, unit.Rollback(ctx))
	}
	return driver.Claimed, unit.Commit(ctx)
}

func (s *Store) parkIn(ctx context.Context, tx pgx.Tx, number int16, req driver.ParkRequest, args []any) (bool, error) {
	follows := false
	if hash := s.hash(req.Key); hash.Valid {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::bigint)`, hash.Int64); err != nil {
			return false, err
		}
		if err := tx.QueryRow(ctx, s.sql["park_head"], number, hash, []byte(req.Key.Name)).Scan(&follows); err != nil {
			return false, err
		}
	}
	if req.Behind && !follows {
		return false, nil
	}
	_, err := tx.Exec(ctx, s.sql["park"], append([]any{number, follows}, args...)...)
	return true, err
}

// parkArgs are the parameters of park.sql from the third on.
func (s *Store) parkArgs(req driver.ParkRequest) ([]any, error) {
	errs, err := parkjson.EncodeErrors(req.History.Errors...)
	if err != nil {
		return nil, err
	}
	metadata, raw, err := parkjson.EncodeMetadata(req.Message)
	if err != nil {
		return nil, err
	}
	return []any{
		req.History.Attempts, errs, storable.Text(req.Reason), timestamp(req.History.First), timestamp(req.History.Last),
		orNull(req.MessageID), storable.Text(req.Key.Topic), s.hash(req.Key), orNull(req.Key.Name),
		[]byte(req.Message.UUID), notNull(req.Message.Payload), metadata, raw, s.inbox.Consumer.Name, pgclaim.StoredID(req.ID),
	}, nil
}

// notNull returns b, or an empty slice instead of nil.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func timestamp(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}
