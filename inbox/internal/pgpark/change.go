package pgpark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
)

// change is a change of parked messages that an operator requests.
type change struct {
	consumer  string
	selection admin.Selection
	dryRun    bool
	// whole changes the selected messages themselves, not the first ones of their keys.
	whole bool
	// states are those in which a message can be changed.
	states []admin.ParkedState
	// apply changes one message, and returns the number of messages changed.
	apply func(ctx context.Context, tx pgx.Tx, no int64) (int64, error)
}

// parkedRow holds the columns of a parked message that a change needs.
type parkedRow struct {
	no    int64
	state admin.ParkedState
	id    string
	key   driver.Key
	at    time.Time // when it was parked
}

// change changes the messages that c selects, each in its own transaction under the lock of its
// key. Then the new first message of the key is made due.
func (a *Admin) change(ctx context.Context, c change) (changed admin.Changed, err error) {
	all := c.whole && c.selection.Key != "" // of one key
	err = a.Use(ctx, c.consumer, func(conn *pgx.Conn, about pgclaim.Asked) error {
		w := changing{change: c, Admin: a, conn: conn, about: about}
		rows, err := w.selected(ctx)
		if err != nil {
			return err
		}
		if all && len(rows) > 0 {
			if rows[0].state == admin.StateRedrive {
				return w.retried(rows[0])
			}
			slices.Reverse(rows) // the first goes last, since the next one would be due
			defer func() { slices.Reverse(changed.IDs) }()
		}
		seen := map[driver.Key]bool{}
		for _, row := range rows {
			first := row.key.Name != "" && !c.whole
			if first && seen[row.key] {
				continue
			}
			seen[row.key] = true
			if err := w.changeRow(ctx, row, first, &changed); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && changed.Count == 0 && (c.selection.Key != "" || c.selection.ID != "") {
		err = fmt.Errorf("%w: consumer %s, %s", admin.ErrNotParked, c.consumer, c.selection)
	}
	return changed, err
}

// changing is a change on its connection.
type changing struct {
	change
	*Admin

	conn  *pgx.Conn
	about pgclaim.Asked
}

// querier is a connection, or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// changeRow changes row, or the first of its key.
func (w *changing) changeRow(ctx context.Context, row parkedRow, first bool, changed *admin.Changed) error {
	var n int64
	change := func(tx pgx.Tx) (err error) {
		if row, err = w.target(ctx, tx, row, first); err != nil {
			return err
		}
		if n, err = w.apply(ctx, tx, row.no); err != nil {
			return err
		}
		return promote(ctx, tx, w.sql["redrive_next"], w.about.Consumer, w.about.Number, row.key)
	}
	var err error
	if w.dryRun {
		row, err = w.target(ctx, w.conn, row, first)
		if err == nil && slices.Contains(w.states, row.state) {
			n = 1
		}
	} else {
		err = locked(ctx, w.conn, hashOf(w.about.Consumer, row.key), change)
	}
	if errors.Is(err, pgx.ErrNoRows) { // its key has no messages any more
		return nil
	}
	if err == nil && n > 0 {
		changed.Add(row.id, row.key.Topic, row.key.Name, row.at)
	}
	return err
}

// target returns row itself or the first message of its key, unless that is being redriven.
func (w *changing) target(ctx context.Context, q querier, row parkedRow, first bool) (parkedRow, error) {
	if first {
		var id []byte
		err := q.QueryRow(ctx, w.sql["parked_first"], w.about.Number, hashOf(w.about.Consumer, row.key), []byte(row.key.Name)).
			Scan(&row.no, &row.state, &id, &row.at)
		if err != nil {
			return row, err
		}
		row.id = string(id)
	}
	if row.state == admin.StateRedrive {
		return row, w.retried(row)
	}
	return row, nil
}

func (w *changing) retried(row parkedRow) error {
	return fmt.Errorf("%w: consumer %s, message %.200q", admin.ErrBeingRetried, w.consumer, row.id)
}

// selected returns the selected messages, in order. A filter selects only messages that are
// parked themselves, not those that wait behind them.
func (w *changing) selected(ctx context.Context) ([]parkedRow, error) {
	sel := w.selection
	q := admin.ParkedQuery{Topic: sel.Topic, Key: sel.Key, ID: sel.ID, Before: sel.Before, Limit: sel.Limit, OmitPayload: true}
	if sel.ID == "" && sel.Key == "" {
		q.Topic, q.State, q.Fingerprint = sel.OfTopic, admin.StateParked, sel.Fingerprint
	}
	listed, err := w.list(ctx, w.conn, w.about, q)
	rows := make([]parkedRow, len(listed))
	for i, l := range listed {
		rows[i] = parkedRow{no: l.No, state: l.State, id: l.ID, key: driver.Key{Topic: l.Topic, Name: l.Key}, at: l.ParkedAt}
	}
	return rows, err
}
