package sqloutbox

import (
	"context"
	"database/sql"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

// Admin returns the operators' view of the outbox. Relays of this process see a change at once,
// others within a poll.
//
// Stats counts everything up to 10,000. Its Rows and Bytes are the database's estimates; on
// SQLite, Rows is the distance between the oldest and the newest number, and Bytes is 0. Members
// only has the relay that leads, since standbys announce nothing. Trace reads the log from its
// Since on.
func (o *Outbox) Admin() interface {
	admin.Manager
} {
	return operator{o, heldqueue.Operators{Store: heldStore{o}}}
}

// operator is the operators' view of the outbox.
type operator struct {
	*Outbox
	heldqueue.Operators
}

// heldStore serialises operators' requests with relays.
type heldStore struct{ ob *Outbox }

var _ heldqueue.Store = heldStore{}

// Change implements heldqueue.Store.
func (s heldStore) Change(ctx context.Context, group string, work func(tx heldqueue.Tx) error) error {
	defer s.ob.bell.ring()
	return s.ob.log.Change(ctx, func(tx *sql.Tx) error {
		held, err := s.ob.heldOf(ctx, tx, "group_lock", group)
		if err != nil {
			return err
		}
		return work(held)
	})
}

// Look implements heldqueue.Store.
func (s heldStore) Look(ctx context.Context, group string, work func(r heldqueue.Reader) error) error {
	return s.ob.log.Look(ctx, func(q sqlstore.Querier) error {
		held, err := s.ob.heldOf(ctx, q, "group", group)
		if err != nil {
			return err
		}
		return work(held)
	})
}

// heldOf returns the records that a group has set aside. For a removed group these are its dead
// records.
func (o *Outbox) heldOf(ctx context.Context, q sqlstore.Querier, statement, group string) (*sqllog.HeldTx, error) {
	g, err := o.log.Group(ctx, q, statement, group)
	if sqlstore.IsNoRows(err) {
		g.Now, err = o.log.Now(ctx, q)
	}
	return o.log.Held(q, group, g.Now), err
}

// Audit implements admin.Outbox.
func (o operator) Audit(ctx context.Context, q admin.AuditQuery) (found []admin.AuditEntry, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = o.log.Look(ctx, func(db sqlstore.Querier) error {
		found, err = o.audit(ctx, db, q)
		return err
	})
	return found, err
}

// audit returns the entries that a complete query selects.
func (o *Outbox) audit(ctx context.Context, db sqlstore.Querier, q admin.AuditQuery) (found []admin.AuditEntry, err error) {
	var c sqlstore.Condition
	c.And("1 = 1")
	for _, f := range [...]struct{ column, value string }{
		{"relay_group", q.Group}, {"action", q.Action}, {"topic", q.Topic}, {"msg_key", q.Key}, {"id", q.ID},
	} {
		if f.value != "" {
			c.And(f.column+" = ?", []byte(f.value))
		}
	}
	if !q.Since.IsZero() {
		c.And("at >= ?", q.Since.UnixMicro())
	}
	order := " ORDER BY no LIMIT ?"
	switch {
	case q.Newest && q.After > 0:
		c.And("no < ?", q.After)
	case !q.Newest:
		c.And("no > ?", q.After)
	}
	if q.Newest {
		order = " ORDER BY no DESC LIMIT ?"
	}
	err = sqlstore.Each(ctx, db, func(scan sqlstore.Scanner) error {
		var e admin.AuditEntry
		var at int64
		var texts [7][]byte
		err := scan(&e.No, &at, &texts[0], &texts[1], &texts[2], &texts[3], &e.Seq, &texts[4], &texts[5], &texts[6], &e.Details)
		e.At, e.Action, e.Actor, e.Reason, e.Group = sqlstore.Time(at), string(texts[0]), string(texts[1]), string(texts[2]), string(texts[3])
		e.ID, e.Topic, e.Key = string(texts[4]), string(texts[5]), string(texts[6])
		if len(e.Details) == 0 {
			e.Details = nil
		}
		found = append(found, e)
		return err
	}, o.log.SQL.With("audit", c.String()+order), append(c.Args, q.Limit)...)
	return found, err
}
