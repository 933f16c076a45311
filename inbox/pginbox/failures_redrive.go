package pginbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/storable"
)

// pickedFor is how long a redriven message is left alone that a process has
// picked: far longer than until its transaction has locked it. If the process ends
// the message is due again.
const pickedFor = 10 * time.Second

// PickRedriven implements driver.Parker.
func (f *failures) PickRedriven(ctx context.Context) (r driver.Redriven, ok bool, err error) {
	err = f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		row := storedMessage{}
		err := conn.QueryRow(ctx, f.sql["redrive_pick"], number, pickedFor.Microseconds()).
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

// storedMessage is a message as the table of parked ones has it.
type storedMessage struct {
	id, key, uuid, payload []byte
	topic, metadata        string
	raw                    *string
}

func (s *storedMessage) message() (*message.Message, error) {
	msg := message.NewMessage(string(s.uuid), s.payload)
	var err error
	msg.Metadata, err = decodeMetadata(s.metadata, s.raw)
	return msg, err
}

// FinishRedriven implements driver.Parker.
func (f *failures) FinishRedriven(ctx context.Context, r driver.Redriven) error {
	if r.Key.Name == "" {
		return nil
	}
	return f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		return f.promote(ctx, conn, number, r.Key)
	})
}

// promote makes the first message of a key due, if it waits for none.
func (f *failures) promote(ctx context.Context, conn *pgx.Conn, number int16, key driver.Key) error {
	return f.locked(ctx, conn, key, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, f.sql["redrive_next"], number, f.hash(key), []byte(key.Name))
		return err
	})
}

// FailRedriven implements driver.Parker.
func (f *failures) FailRedriven(ctx context.Context, r driver.Redriven, failed driver.RedriveFailure) error {
	entry, err := json.Marshal(storedErrors([]driver.AttemptError{failed.AttemptError}))
	if err != nil {
		return err
	}
	return f.lend(ctx, func(conn *pgx.Conn, _ int16) error {
		_, err := conn.Exec(ctx, f.sql["redrive_fail"], r.No, r.Attempt, failed.Park, storable.Text(failed.Reason),
			failed.Retry.Microseconds(), string(entry), driver.MaxHistoryErrors, failed.Withdraw)
		return err
	})
}

// RecoverRedriven implements driver.Parker.
func (f *failures) RecoverRedriven(ctx context.Context) (n int, err error) {
	err = f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		rows, err := conn.Query(ctx, f.sql["redrive_orphans"], number)
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
			err = errors.Join(err, f.promote(ctx, conn, number, key))
		}
		n = len(keys)
		return err
	})
	return n, err
}
