package sqlinbox

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

// Keep implements driver.Keeper.
func (s *store) Keep(ctx context.Context, id string, n driver.Note) error {
	tx := Tx(ctx)
	if tx == nil {
		return outbox.ErrNotInTransaction
	}
	_, err := s.Exec(ctx, tx, "note", s.number.Load(), s.row(id).id, orNull(n.Fingerprint), orNull(n.Reply))
	return s.Describe(err)
}

// Kept implements driver.Keeper.
func (s *store) Kept(ctx context.Context, id string) (n driver.Note, ok bool, err error) {
	number, err := s.ready(ctx)
	if err != nil {
		return n, false, err
	}
	err = s.Query(ctx, func(q sqlstore.Querier) error {
		return q.QueryRowContext(ctx, s.SQL["noted"], number, s.row(id).id).Scan(&n.Fingerprint, &n.Reply)
	})
	if sqlstore.IsNoRows(err) {
		return n, false, nil
	}
	return n, err == nil, err
}

func orNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}
