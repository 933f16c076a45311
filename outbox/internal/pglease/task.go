package pglease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// DB is where a Task keeps its lease; *pgxpool.Pool is one.
type DB interface {
	Querier
	Beginner
}

// Task is work that one process of many does at a time. Its lease keeps others from
// doing the same work; it is no fence, so the work must be safe even if two do it.
type Task struct {
	leases   *Statements
	db       DB
	claimant *Claimant
	cfg      TaskConfig
}

// TaskConfig is the lease that a task needs.
type TaskConfig struct {
	// Slot is what is leased.
	Slot Slot
	// TTL is how long the lease lasts without a renewal. It is renewed after a third of it.
	TTL time.Duration
	// Describe adds to an error of a claim what it means for the caller.
	Describe func(error) error
	// Logger receives what an operator should know.
	Logger *slog.Logger
}

// NewTask returns a task under a lease in db. It connects to nothing.
func (s *Statements) NewTask(db DB, cfg TaskConfig) (*Task, error) {
	claimant, err := NewClaimant()
	return &Task{leases: s, db: db, claimant: claimant, cfg: cfg}, err
}

// Run claims the lease, runs work under it, and releases it. The context of work ends
// with the lease. It returns a *driver.LeaseHeldError while another one works. One Run at
// a time.
func (t *Task) Run(ctx context.Context, work func(context.Context) error) error {
	asked := time.Now()
	attempt := t.claimant.Begin()
	defer t.claimant.End(attempt)
	lease, err := t.leases.Claim(ctx, t.db, t.cfg.Slot, attempt.Owner, attempt.Former, t.cfg.TTL)
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
		end(t.keep(working, lease, asked.Add(t.cfg.TTL)))
	}()
	err = work(working)
	if cause := context.Cause(working); err != nil && errors.Is(cause, driver.ErrLeaseLost) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// keep renews the lease until ctx ends or the lease is lost, which it returns.
func (t *Task) keep(ctx context.Context, lease Lease, until time.Time) error {
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
		bounded, cancel := context.WithTimeout(ctx, every)
		err := t.leases.Renew(bounded, t.db, lease, t.cfg.TTL)
		cancel()
		switch {
		case err == nil:
			until = asked.Add(t.cfg.TTL)
		case errors.Is(err, driver.ErrLeaseLost):
			return err
		case time.Until(until) < every:
			return fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
		}
	}
}
