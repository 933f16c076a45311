package pglease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/driver"
)

// DB is where a Task stores its lease; *pgxpool.Pool is one.
type DB interface {
	Querier
	Beginner
}

// Task is work that one process of many does at a time. Its lease keeps others from doing the
// same work. It is not a fence, so the work must be safe even if two processes do it.
type Task struct {
	leases   *Statements
	db       DB
	claimant *Claimant
	cfg      TaskConfig
}

// TaskConfig is the lease that a task needs.
type TaskConfig struct {
	// Slot is the slot to lease.
	Slot Slot
	// TTL is how long the lease lasts without a renewal. It is renewed after a third of it.
	TTL time.Duration
	// Line is the connection on which the task holds its lease.
	Line *Line
	// Describe explains an error of a claim to the caller.
	Describe func(error) error
	// Logger receives messages for operators.
	Logger *slog.Logger
}

// NewTask returns a task under a lease in db. It connects to nothing.
func (s *Statements) NewTask(db DB, cfg TaskConfig) (*Task, error) {
	claimant, err := NewClaimant()
	return &Task{leases: s, db: db, claimant: claimant, cfg: cfg}, err
}

// Run claims the lease, runs work under it, and releases it. The context of work ends with the
// lease. It returns a *driver.LeaseHeldError while another process works. Only one Run at a time.
func (t *Task) Run(ctx context.Context, work func(context.Context) error) error {
	asked := time.Now()
	attempt := t.claimant.Begin()
	defer t.claimant.End(attempt)
	err := t.leases.Look(ctx, t.db, t.cfg.Slot, attempt.Former)
	var conn *pgx.Conn
	if err == nil {
		conn, err = t.cfg.Line.Join(ctx)
	}
	if err != nil {
		return t.cfg.Describe(err)
	}
	var lease Lease
	defer func() {
		t.cfg.Line.Leave(ctx, conn, func(ctx context.Context) error { return t.leases.Unlock(ctx, conn, lease.Owner) }, t.cfg.Logger)
	}()
	err = t.cfg.Line.Do(ctx, func(ctx context.Context) (err error) {
		lease, err = t.claim(ctx, conn, attempt)
		return err
	})
	if err != nil {
		return t.cfg.Describe(err)
	}
	defer t.leases.GiveBack(ctx, t.db, lease, t.cfg.Logger)
	working, end := context.WithCancelCause(ctx)
	kept := make(chan struct{})
	defer func() { <-kept }()
	defer end(nil)
	go func() {
		defer close(kept)
		end(t.keep(working, conn, lease, asked.Add(t.cfg.TTL)))
	}()
	err = work(working)
	if cause := context.Cause(working); err != nil && errors.Is(cause, driver.ErrLeaseLost) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// claim locks and claims, and takes over the lease of a process that is gone.
func (t *Task) claim(ctx context.Context, conn *pgx.Conn, attempt Attempt) (Lease, error) {
	lease := Lease{Slot: t.cfg.Slot}
	var err error
	if lease.Owner, err = t.leases.Lock(ctx, conn, attempt); err != nil {
		return lease, err
	}
	if _, err := t.leases.BuryNow(ctx, conn, t.cfg.Slot.Group); err != nil {
		return lease, err
	}
	got, err := t.leases.Claim(ctx, conn, t.cfg.Slot, lease.Owner, attempt.Former, t.cfg.TTL)
	if err == nil {
		lease = got
	}
	return lease, err
}

// keep renews the lease until ctx ends or the lease is lost, which it returns. Losing the
// connection loses the lease, too.
func (t *Task) keep(ctx context.Context, conn *pgx.Conn, lease Lease, until time.Time) error {
	every := t.cfg.TTL / 3
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		asked := time.Now()
		lost := false
		err := t.cfg.Line.Do(ctx, func(ctx context.Context) error {
			ctx, cancel := context.WithDeadline(ctx, asked.Add(every))
			defer cancel()
			err := t.leases.Renew(ctx, conn, lease, t.cfg.TTL)
			lost = conn.IsClosed()
			return err
		})
		switch {
		case err == nil:
			until = asked.Add(t.cfg.TTL)
		case errors.Is(err, driver.ErrLeaseLost):
			return err
		case lost || time.Until(until) < every:
			return fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
		}
	}
}
