package wmforward

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// open connects and loads the position, or takes over the forwarder's, for which it waits up to
// wait. The lease was claimed on writer.
func (s *Source) open(
	ctx context.Context, writer *pgx.Conn, lease pglease.Lease, attempt pglease.Attempt, wait time.Duration,
) (*pglog.Session, error) {
	return pglog.Open(ctx, &table{source: s, lease: lease, wait: wait}, pglog.Config{
		Lease:    lease,
		Leases:   s.leases,
		Windows:  s.window,
		Held:     s.held,
		Writer:   writer,
		Connect:  s.connect,
		Room:     s.room,
		Pool:     s.pool,
		Logger:   s.log(),
		Describe: describe,
		Unusable: unusable,
		Ended:    func() { s.claimant.End(attempt) },
	})
}

// table is the forwarder's table as a session reads it. It implements pglog.Log.
type table struct {
	source *Source
	lease  pglease.Lease
	wait   time.Duration // longest wait for the forwarder's batch
	conn   *pgx.Conn
	rest   places // rows of the window, not read yet
}

// Use implements pglog.Log.
func (t *table) Use(conn *pgx.Conn) { t.conn = conn }

// Load implements pglog.Log.
func (t *table) Load(ctx context.Context) (pgwindow.Window, int, error) {
	w, err := t.load(ctx)
	w.Slots = 1
	return w, 1, err
}

func (t *table) load(ctx context.Context) (w pgwindow.Window, err error) {
	s := t.source
	facts, err := s.facts(ctx, t.conn)
	if err != nil {
		return w, err
	}
	w, err = s.window.Load(ctx, t.conn, t.lease.Slot)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		if err = s.takeOver(ctx, t.conn, t.wait, t.lease, facts); err == nil {
			w, err = s.window.Load(ctx, t.conn, t.lease.Slot)
		}
	case err == nil:
		err = s.keepOut(ctx, t.conn, t.wait, facts)
	}
	if err == nil {
		err = facts.belongs(w)
	}
	return w, err
}
