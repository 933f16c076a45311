package pgpark

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/parkjson"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/storable"
)

// pickedFor is how long a redriven message that a process has picked is left alone: far longer
// than its transaction needs to lock it. If the process dies, the message becomes due again after
// that.
const pickedFor = 10 * time.Second

// PickRedriven implements driver.Parker.
func (s *Store) PickRedriven(ctx context.Context) (r driver.Redriven, ok bool, err error) {
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		row := storedMessage{}
		err := pgpin.On{DB: conn}.QueryRow(ctx, s.sql["redrive_pick"], number, pickedFor.Microseconds()).
			Scan(&r.No, &r.Attempt, &row.id, &row.topic, &row.key, &row.uuid, &row.payload, &row.metadata, &row.raw)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			r.Message, err = row.message()
		}
		r.ID, r.Key, ok = string(row.id), driver.Key{Topic: row.topic, Name: string(row.key)}, err == nil
		return err
	})
	return r, ok, err
}

// storedMessage is a message in the form of the table of parked messages.
type storedMessage struct {
	id, key, uuid, payload []byte
	topic, metadata        string
	raw                    *string
}

func (s *storedMessage) message() (*message.Message, error) {
	msg := message.NewMessage(string(s.uuid), s.payload)
	metadata, null, err := parkjson.DecodeMetadata(s.metadata, s.raw)
	if msg.Metadata = metadata; null {
		msg.Payload = nil
	}
	return msg, err
}

// FinishRedriven implements driver.Parker.
func (s *Store) FinishRedriven(ctx context.Context, r driver.Redriven) error {
	if r.Key.Name == "" {
		return nil
	}
	return s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		return s.promote(ctx, conn, number, r.Key)
	})
}

// promote makes the first message of a key due, if none is before it.
func (s *Store) promote(ctx context.Context, conn *pgx.Conn, number int16, key driver.Key) error {
	return locked(ctx, conn, s.hash(key), func(tx pgx.Tx) error {
		return promote(ctx, tx, s.sql["redrive_next"], s.inbox.Consumer, pgtype.Int2{Int16: number, Valid: true}, key)
	})
}

// FailRedriven implements driver.Parker.
func (s *Store) FailRedriven(ctx context.Context, r driver.Redriven, failed driver.RedriveFailure) error {
	entry, err := parkjson.EncodeErrors(failed.AttemptError)
	if err != nil {
		return err
	}
	return s.lend(ctx, func(conn *pgx.Conn, _ int16) error {
		_, err := conn.Exec(ctx, s.sql["redrive_fail"], r.No, r.Attempt, failed.Park, storable.Text(failed.Reason),
			failed.Retry.Microseconds(), entry, driver.MaxHistoryErrors, failed.Withdraw)
		return err
	})
}

// QueuedKeys implements driver.Parker.
func (s *Store) QueuedKeys(ctx context.Context, limit int) (keys []driver.Key, all bool, err error) {
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		rows, err := pgpin.On{DB: conn}.Query(ctx, s.sql["queued_keys"], number, limit)
		if err != nil {
			return err
		}
		looked := 0
		keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (key driver.Key, err error) {
			var name []byte
			err = row.Scan(&key.Topic, &name, &looked)
			key.Name = string(name)
			return key, err
		})
		all = looked < limit
		return err
	})
	return keys, all, err
}

// RecoverRedriven implements driver.Parker.
func (s *Store) RecoverRedriven(ctx context.Context, within time.Duration) (n int, err error) {
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		if _, err := (pgpin.On{DB: conn}).Exec(ctx, s.sql["redrive_hasten"], number, max(within, 2*pickedFor).Microseconds()); err != nil {
			return err
		}
		rows, err := pgpin.On{DB: conn}.Query(ctx, s.sql["redrive_orphans"], number)
		if err != nil {
			return err
		}
		keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (key driver.Key, err error) {
			var name []byte
			err = row.Scan(&key.Topic, &name)
			key.Name = string(name)
			return key, err
		})
		for _, key := range keys {
			err = errors.Join(err, s.promote(ctx, conn, number, key))
		}
		n = len(keys)
		return err
	})
	return n, err
}

// RedriveClaim returns the statement that claims a redriven message, which removes it from its
// queue.
func (s *Store) RedriveClaim(r driver.Redriven) (claim string, args []any) {
	return s.sql["redrive_claim"], []any{r.No, r.Attempt, s.inbox.Consumer.Name}
}
