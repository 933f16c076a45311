package pgpark

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
)

// States of a parked message.
const (
	stateParked  = "parked"
	stateRedrive = "redrive"
)

// parkedRow is a parked message as a change needs it.
type parkedRow struct {
	no    int64
	state string
	id    string
	key   driver.Key
}

// changeFunc changes one row, and returns how many it was.
type changeFunc func(ctx context.Context, tx pgx.Tx, row parkedRow) (int64, error)

// change applies apply to what sel selects, each in a transaction under the lock of
// its key: to the rows themselves if whole is set, else to the first of their
// key. Then the message that has become the first of the key is made due.
func (s *Store) change(ctx context.Context, by admin.By, sel admin.Selection, whole bool, apply changeFunc) (changed admin.Changed, err error) {
	if sel.Limit == 0 {
		sel.Limit = 1000
	}
	all := whole && sel.Key != "" // of one key
	if all {
		sel.Limit = admin.MaxLimit
	}
	if err := errors.Join(by.Check(), sel.Validate()); err != nil {
		return admin.Changed{}, err
	}
	err = s.look(ctx, func(conn *pgx.Conn, number int16) error {
		rows, err := s.selected(ctx, conn, number, sel)
		if err != nil {
			return err
		}
		if all && len(rows) > 0 {
			if rows[0].state == stateRedrive {
				return s.retried(rows[0])
			}
			slices.Reverse(rows) // the first goes last, since the next one would be due
			defer func() { slices.Reverse(changed.IDs) }()
		}
		seen := map[driver.Key]bool{}
		for _, row := range rows {
			first := row.key.Name != "" && !whole
			if first && seen[row.key] {
				continue
			}
			seen[row.key] = true
			if err := s.changeOne(ctx, conn, number, row, first, apply, &changed); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && changed.Count == 0 && (sel.Key != "" || sel.ID != "") {
		err = fmt.Errorf("%w: consumer %s, %s", admin.ErrNotParked, s.inbox.Consumer.Name, sel)
	}
	return changed, err
}

// changeOne changes row, or the first of its key.
func (s *Store) changeOne(
	ctx context.Context, conn *pgx.Conn, number int16, row parkedRow, first bool, apply changeFunc, changed *admin.Changed,
) error {
	var n int64
	err := s.locked(ctx, conn, row.key, func(tx pgx.Tx) (err error) {
		hash := s.hash(row.key)
		if first {
			if row, err = s.first(ctx, tx, number, row.key); errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
		}
		if err == nil && row.state == stateRedrive {
			err = s.retried(row)
		}
		if err == nil {
			n, err = apply(ctx, tx, row)
		}
		if err == nil && hash.Valid {
			_, err = tx.Exec(ctx, s.sql["redrive_next"], number, hash, []byte(row.key.Name))
		}
		return err
	})
	if err == nil && n > 0 {
		changed.Count++
		changed.IDs = append(changed.IDs, row.id)
	}
	return err
}

func (s *Store) retried(row parkedRow) error {
	return fmt.Errorf("%w: consumer %s, message %.200q", admin.ErrBeingRetried, s.inbox.Consumer.Name, row.id)
}

func (s *Store) first(ctx context.Context, tx pgx.Tx, number int16, key driver.Key) (parkedRow, error) {
	row, id := parkedRow{key: key}, []byte(nil)
	err := tx.QueryRow(ctx, s.sql["parked_first"], number, s.hash(key), []byte(key.Name)).Scan(&row.no, &row.state, &id)
	row.id = string(id)
	return row, err
}

// selected returns what sel selects, in order. A filter selects what is parked
// itself, and not what waits behind it.
func (s *Store) selected(ctx context.Context, conn *pgx.Conn, number int16, sel admin.Selection) ([]parkedRow, error) {
	q := admin.ParkedQuery{Topic: sel.Topic, Key: sel.Key, ID: sel.ID, Before: sel.Before, Limit: sel.Limit}
	state := ""
	if sel.ID == "" && sel.Key == "" {
		q.Topic, state = sel.OfTopic, stateParked
	}
	listed, err := s.list(ctx, conn, number, q, state)
	rows := make([]parkedRow, len(listed))
	for i, l := range listed {
		rows[i] = parkedRow{no: l.No, state: l.State, id: l.ID, key: driver.Key{Topic: l.Topic, Name: l.Key}}
	}
	return rows, err
}
