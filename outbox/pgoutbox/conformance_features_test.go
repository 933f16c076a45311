package pgoutbox_test

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

var (
	_ outboxtest.Grouper        = subject{}
	_ outboxtest.Delayer        = subject{}
	_ outboxtest.Replayer       = subject{}
	_ outboxtest.HistoryDropper = subject{}
	_ outboxtest.Neighbor       = subject{}
	_ outboxtest.PositionLoser  = subject{}
	_ outboxtest.CounterSetter  = subject{}
	_ outboxtest.Mover          = subject{}
	_ outboxtest.Mortal         = subject{}
	_ outboxtest.ClockSetter    = subject{}
)

// Group implements outboxtest.Grouper.
func (s subject) Group(cfg outboxtest.GroupConfig) (driver.Source, error) {
	start := cfg.Start
	if !start.IsStated() {
		start.Oldest = true
	}
	return s.Outbox.Source(pgoutbox.SourceConfig{
		Group: cfg.Name, Slots: cfg.Slots, Start: start, Topics: cfg.Topics, SyncPositions: cfg.Positions,
	})
}

// Now implements outboxtest.Delayer.
func (s subject) Now(ctx context.Context) (now time.Time, err error) {
	err = s.db.Pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now)
	return now, err
}

// Promote implements outboxtest.Delayer.
func (s subject) Promote(ctx context.Context) error {
	_, _, err := pgoutbox.Promote(ctx, s.Outbox)
	return err
}

// History implements outboxtest.Replayer.
func (s subject) History(sel outboxtest.Selection) (driver.History, error) {
	return s.Outbox.History(pgoutbox.HistoryConfig{FromSeq: sel.FromSeq, ToSeq: sel.ToSeq, Topics: sel.Topics})
}

// DropHistory implements outboxtest.HistoryDropper. It deletes rows, as maintenance does without DDL.
func (s subject) DropHistory(ctx context.Context, seq int64) error {
	_, err := s.db.Pool.Exec(ctx, "DELETE FROM leat.outbox WHERE seq <= $1", seq)
	return err
}

// Retain implements outboxtest.Retainer.
func (s subject) Retain(ctx context.Context) error {
	m, err := pgoutbox.NewMaintenance(s.Outbox, pgoutbox.MaintenanceConfig{NoDDL: true, Retention: time.Nanosecond})
	if err == nil {
		_, err = m.RunOnce(ctx)
	}
	return err
}

// Another implements outboxtest.Neighbor.
func (s subject) Another(context.Context) (outboxtest.Subject, error) {
	return newPgxSubject(s.t), nil
}

// LosePositions implements outboxtest.PositionLoser. It deletes windows, as if a server had taken over
// without having received them.
func (s subject) LosePositions(ctx context.Context) error {
	_, err := s.db.Pool.Exec(ctx, "DELETE FROM leat.outbox_positions WHERE window_no > 0")
	return err
}

// SetCounter implements outboxtest.CounterSetter.
func (s subject) SetCounter(ctx context.Context, last int64) error {
	_, err := s.db.Pool.Exec(ctx, "SELECT setval('leat.outbox_seq_seq', $1)", last)
	return err
}

// Die implements outboxtest.Mortal: the server ends the session, without any action on our side.
func (s subject) Die(ctx context.Context, _ driver.Session) error {
	_, err := s.db.Pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	return err
}

// SetClockBack implements outboxtest.ClockSetter.
func (s subject) SetClockBack(ctx context.Context, by time.Duration) error {
	_, err := s.db.Pool.Exec(ctx, "UPDATE leat.outbox_leases SET lease_from = lease_from + $1 * interval '1 s', lease_until = lease_until + $1 * interval '1 s'", by.Seconds())
	if err == nil {
		_, err = s.db.Pool.Exec(ctx, "UPDATE leat.outbox_held SET next_at = next_at + $1 * interval '1 s'", by.Seconds())
	}
	return err
}

// Ground implements outboxtest.Mover.
func (s subject) Ground() (store string, moves map[string]func(ctx context.Context) error) {
	run := func(statement string, n int) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := s.db.Pool.Exec(ctx, statement)
			for range n {
				err = errors.Join(err, pgx.BeginFunc(ctx, s.db.Pool, func(tx pgx.Tx) error {
					return s.Enqueue(ctx, tx, outbox.Message{Topic: "t", Payload: []byte("again")})
				}))
			}
			return err
		}
	}
	return string(basis.PostgreSQL), map[string]func(context.Context) error{
		"Cluster": run("UPDATE leat.outbox_positions SET system_identifier = system_identifier + 1", 0),
		// What a copy by CREATE DATABASE … TEMPLATE has: see TestO2_CopyByTemplateIsRefused.
		"Database": run("UPDATE leat.outbox_groups SET incarnation = incarnation + (1::bigint << 32)", 0),
		"Log":      run("TRUNCATE leat.outbox RESTART IDENTITY", 10),
		"Numbers":  run("SELECT setval('leat.outbox_seq_seq', 1)", 0),
		"Rows":     run("WITH gone AS (DELETE FROM leat.outbox) SELECT setval('leat.outbox_seq_seq', 1, false)", 10),
	}
}
