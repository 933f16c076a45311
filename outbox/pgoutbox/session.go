package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// session is a Source under the lease of a slot.
type session struct {
	*pglog.Session

	log *slotLog
}

var (
	_ driver.Session = (*session)(nil)
	_ driver.Holder  = (*session)(nil)
	_ driver.Moved   = (*session)(nil)
)

// Moved implements driver.Moved. The position belongs to the same history, and stays valid.
func (s *session) Moved() driver.ServerChange { return s.log.changed }

// open connects, loads the position and starts to listen. The lease was claimed on writer.
func (s *source) open(ctx context.Context, writer *pgx.Conn, lease pglease.Lease, attempt pglease.Attempt) (*session, error) {
	log := &slotLog{source: s, lease: lease}
	cfg := pglog.Config{
		Lease:    lease,
		Leases:   s.ob.leases,
		Windows:  s.ob.window,
		Held:     s.ob.held,
		Writer:   writer,
		Connect:  s.connect,
		Room:     s.ob.room,
		Apart:    s.cfg.SyncPositions,
		Pool:     s.ob.pool,
		Logger:   s.ob.cfg.Logger.With(slog.String("group", s.cfg.Group)),
		Describe: describe,
		Unusable: unusable,
		Ended: func() {
			log.tail.stop() //nolint:contextcheck // a tail ends with its session, not with the context of Acquire
			s.leave(ctx)
			s.claimant.End(attempt)
		},
	}
	if s.cfg.Tail != nil {
		log.tail = newTail(log)
		cfg.Tail, cfg.Look = log.tail, s.cfg.Tail.Look
	}
	inner, err := pglog.Open(ctx, log, cfg)
	if err != nil {
		return nil, err
	}
	s.attend(ctx)
	return &session{Session: inner, log: log}, nil
}

// slotLog is the log as a session of a slot reads it. It implements pglog.Log.
type slotLog struct {
	pageReader

	source  *source
	lease   pglease.Lease
	slots   int // number of slots of the group
	facts   pgwindow.Facts
	changed driver.ServerChange // the change of the server since the group was last relayed
	tail    *tail               // nil without SourceConfig.Tail

	// Results of Probe, for Open.
	probe    pgwindow.Probe
	changing bool // the number of slots is being changed
}

// Use implements pglog.Log.
func (l *slotLog) Use(conn *pgx.Conn) { l.conn = conn }

// Load implements pglog.Log.
func (l *slotLog) Load(ctx context.Context) (pgwindow.Window, int, error) {
	ob := l.source.ob
	l.pooled, l.settings, l.large = ob.pooled.Load(), ob.sql.pageSettings, ob.sql.pageLarge
	w, err := l.load(ctx)
	return w, l.slots, err
}

// load reads and checks the position.
func (l *slotLog) load(ctx context.Context) (w pgwindow.Window, err error) {
	ob, cfg := l.source.ob, l.source.cfg
	if cfg.SyncPositions && !l.pooled {
		if _, err := l.conn.Exec(ctx, "SET synchronous_commit = on"); err != nil {
			return w, err
		}
	}
	if l.facts, err = ob.window.Facts(ctx, l.conn); err != nil {
		return w, err
	}
	if cfg.SyncPositions && l.facts.SynchronousCommit == "off" {
		return w, fmt.Errorf("%w: synchronous_commit is off behind the pooler", errPosition)
	}
	w, slots, incarnation, err := ob.chain.Load(ctx, l.conn, l.lease.Slot)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, fmt.Errorf("%w: slot %d of %q has no position", driver.ErrLeaseLost, l.lease.Slot.No, l.lease.Slot.Group)
	}
	if err != nil {
		return w, err
	}
	if err := l.facts.Holds(w, incarnation); err != nil {
		return w, err
	}
	l.slots = int(slots)
	if l.changed, err = ob.chain.Timeline(ctx, l.conn, l.lease.Slot.Group); err != nil {
		return w, err
	}
	return w, ob.chain.Contradicts(ctx, l.conn, l.lease.Slot.Group, l.lease.Slot.No)
}
