package pgwindow

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
)

// Move moves the position of a slot within a transaction that stores something else with it, and
// that has checked the lease. See pgheld.Advance.
type Move struct {
	statements   *Statements
	lease        pglease.Lease
	window, last int64

	storedWindow, storedLast int64
}

// Move returns the move of l's position to row last of a window. One value serves one
// transaction.
func (s *Statements) Move(l pglease.Lease, window, last int64) *Move {
	return &Move{statements: s, lease: l, window: window, last: last}
}

// QueueLook queues the query for the stored position.
func (m *Move) QueueLook(batch *pgx.Batch) {
	slot := m.lease.Slot
	batch.Queue(m.statements.position, slot.Group, slot.No).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&m.storedWindow, &m.storedLast)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("%w: no position of group %q", driver.ErrLeaseLost, slot.Group)
		}
		return err
	})
}

// QueueMove queues Advance, after that query. It reports false, and queues nothing, if the position is
// stored already. It returns driver.ErrLeaseLost, here or in the results of batch, if the position is not
// in the expected window; then the transaction must be rolled back.
func (m *Move) QueueMove(batch *pgx.Batch) (bool, error) {
	switch {
	case m.storedWindow > m.window, m.storedWindow == m.window && m.storedLast >= m.last:
		return false, nil
	case m.storedWindow < m.window:
		return false, fmt.Errorf("%w: window %d is stored, %d is read", driver.ErrLeaseLost, m.storedWindow, m.window)
	}
	l := m.lease
	batch.Queue(m.statements.advance, l.Slot.Group, l.Slot.No, m.window, m.last, l.Owner, l.Epoch).
		Exec(func(tag pgconn.CommandTag) error { return advanced(tag, m.window, m.last) })
	return true, nil
}
