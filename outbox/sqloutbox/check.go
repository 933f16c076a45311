package sqloutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/sqllog"
)

var errSetup = errors.New("leat: the database is not set up for an outbox")

// minConnections is the number of connections that a pool must allow: those of a relay, and one
// for all other callers.
const minConnections = 4

// Check implements driver.Source.
func (s *source) Check(ctx context.Context) error {
	if n := s.ob.log.DB.Stats().MaxOpenConnections; n > 0 && n < minConnections {
		rule := fmt.Sprintf("must be 0 or at least %d", minConnections)
		return s.unusable(&sqlstore.SetupError{What: "SetMaxOpenConns", Value: n, Rule: rule})
	}
	if err := s.ob.checkPrimary(ctx); err != nil {
		return s.unusable(err) // what follows may be run on another server
	}
	if _, err := s.ob.log.Check(ctx, s.ob.needs()); err != nil {
		return s.unusable(err)
	}
	return s.unusable(s.ob.log.Look(ctx, func(q sqlstore.Querier) error { return s.checkPosition(ctx, q) }))
}

// checkPrimary refuses a server that is not the only one that is written to. If that cannot be
// found out, it logs so once.
func (o *Outbox) checkPrimary(ctx context.Context) error {
	err := sqlstore.CheckPrimary(ctx, o.log.DB, o.log.Dialect)
	if errors.Is(err, sqlstore.ErrReplicaUnknown) {
		if !o.told.Swap(true) {
			o.cfg.Logger.WarnContext(ctx, "relays are not kept from a replica that can be written", slog.Any("error", err))
		}
		return nil
	}
	return err
}

// needs are an outbox's requirements on its database.
func (o *Outbox) needs() sqlstore.Needs {
	n := sqlstore.Needs{
		Schema: neededSchema, Tables: []string{"", "_locks", "_groups", "_held", "_delayed"}, Probe: "write_nothing", RowLock: "row_lock",
		Numbers: true, Packet: int64(2*max(o.cfg.MaxPayloadBytes, sqllog.MaxBytes) + 1<<20), AsyncCommit: o.cfg.AllowAsyncCommit,
	}
	if !o.log.Dialect.OneWriter {
		n.Locks = buckets + 1
	}
	return n
}

// checkPosition checks the stored position of the group.
func (s *source) checkPosition(ctx context.Context, q sqlstore.Querier) error {
	if _, err := s.ob.log.Life(ctx, q); err != nil {
		return err
	}
	g, err := s.ob.log.Group(ctx, q, "group", s.cfg.Group)
	switch {
	case sqlstore.IsNoRows(err) && !s.cfg.Start.IsStated():
		return errStartUnstated
	case sqlstore.IsNoRows(err):
		return nil
	case err != nil:
		return err
	}
	if g.Read && g.Left > 0 && !basis.SameTopics(g.Topics, s.cfg.Topics) {
		change := basis.Topics{Group: s.cfg.Group, Then: g.Topics, Now: s.cfg.Topics}
		change.LogStandby(ctx, s.ob.cfg.Logger)
	}
	return s.ob.log.CheckPosition(ctx, q, g.At)
}

// unusable marks the errors that trying again cannot fix and that could lose messages if
// they were ignored.
func (s *source) unusable(err error) error {
	if setup := (*sqlstore.SetupError)(nil); errors.As(err, &setup) {
		return fmt.Errorf("%w: %w: %w", driver.ErrSourceUnusable, errSetup, err)
	}
	return sqllog.Unusable(err, errStartUnstated, sqlstore.ErrReplica, outbox.ErrNotMigrated)
}
