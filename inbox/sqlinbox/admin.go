package sqlinbox

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
)

// maxListed is the most that one query of package admin may list.
const maxListed = 10_000

// operators is the admin.Inbox that NewAdmin returns.
type operators struct {
	*tables
}

var (
	_ admin.Inbox    = (*operators)(nil)
	_ admin.Auditor  = (*operators)(nil)
	_ admin.Retainer = (*operators)(nil)
)

// NewAdmin returns the operators' interface to the inboxes that were made with db, dialect and
// cfg, and to their parked messages. It is also an admin.Auditor and an admin.Retainer. Of cfg
// only Table matters. On SQLite Lookup cannot see that a delivery runs.
//
// The ids of each consumer are counted exactly. Parked messages and messages being tried are
// counted up to 10,000 each: if there are more, the figures of Stats cover only these.
//
// It does not touch the database. Errors wrap outbox.ErrInvalidConfig.
func NewAdmin(db *sql.DB, dialect outbox.Dialect, cfg Config) (admin.Inbox, error) {
	t, err := newTables(db, dialect, Config{Table: cfg.Table}.withDefaults())
	if err != nil {
		return nil, err
	}
	return &operators{t}, nil
}

// known returns the number of a consumer, or 0 if consumer is empty. The error wraps
// admin.ErrUnknownConsumer if there is no such consumer.
func (a *operators) known(ctx context.Context, consumer string) (int64, error) {
	if consumer == "" {
		return 0, nil
	}
	number, err := a.find(ctx, consumer)
	if sqlstore.IsNoRows(err) {
		return 0, fmt.Errorf("%w: %q", admin.ErrUnknownConsumer, consumer)
	}
	return number, err
}

// Stats implements admin.Inbox.
func (a *operators) Stats(ctx context.Context) (s admin.Stats, err error) {
	var now, oldest int64
	err = a.Query(ctx, func(q sqlstore.Querier) error {
		return q.QueryRowContext(ctx, a.SQL["stats"]).
			Scan(&now, &s.Consumers, &s.Parked, &s.Redriving, &s.Waiting, &s.Failing, &oldest, &s.Estimated)
	})
	s.At, s.OldestParked = sqlstore.Time(now), sqlstore.Time(oldest)
	return s, err
}

// Consumers implements admin.Inbox.
func (a *operators) Consumers(ctx context.Context, q admin.ConsumersQuery) (all []admin.Consumer, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var (
			c                               admin.Consumer
			name                            []byte
			since, processed, parked, tried int64
		)
		err := scan(&name, &since, &c.Remembered, &c.Parked, &c.Redriving, &c.Waiting, &c.Failing, &processed, &parked, &tried)
		c.Name, c.Since, c.LastActivity = string(name), sqlstore.Time(since), sqlstore.Time(max(processed, parked, tried))
		all = append(all, c)
		return err
	}, a.SQL["consumers"], []byte(q.After), q.Limit)
	return all, err
}

// Audit implements admin.Auditor.
func (a *operators) Audit(ctx context.Context, q admin.AuditQuery) (all []admin.AuditEntry, err error) {
	if err = admin.Complete(&q); err != nil {
		return nil, err
	}
	number, err := a.known(ctx, q.Consumer)
	if err != nil {
		return nil, err
	}
	var f sqlstore.Condition
	f.If(number != 0, "a.consumer = ?", number)
	f.If(q.Action != "", "a.action = ?", q.Action)
	f.If(q.ID != "", "a.message_id = ?", []byte(q.ID))
	f.If(!q.Since.IsZero(), "a.at >= ?", q.Since.UnixMicro())
	order := "a.no"
	if q.Newest {
		order = "a.no DESC"
		f.If(q.After != 0, "a.no < ?", q.After)
	} else {
		f.And("a.no > ?", q.After)
	}
	err = a.QueryEach(ctx, func(scan sqlstore.Scanner) error {
		var (
			e                                             admin.AuditEntry
			at                                            int64
			consumer, action, actor, reason, id, topic, k []byte
			details                                       []byte
		)
		err := scan(&e.No, &at, &consumer, &action, &actor, &reason, &e.ParkedNo, &id, &topic, &k, &details)
		e.At, e.Consumer, e.Action, e.Actor, e.Reason = sqlstore.Time(at), string(consumer), string(action), string(actor), string(reason)
		e.ID, e.Topic, e.Key, e.Details = string(id), string(topic), string(k), details
		all = append(all, e)
		return err
	}, a.SQL.With("audit_list", f.String()+" ORDER BY "+order), append(f.Args, q.Limit)...)
	return all, err
}
