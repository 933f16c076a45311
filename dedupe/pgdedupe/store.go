package pgdedupe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
)

// Store keeps dedupe records in PostgreSQL. It is safe for concurrent use, owns
// no goroutines and needs no Close; the pool is the caller's.
type Store struct {
	pool *pgxpool.Pool
	cfg  Config
	sql  statements
}

var _ dedupe.Store = (*Store)(nil)

// New returns a Store in the database of pool. It does not connect: call Migrate
// once, for example at start-up. Errors wrap outbox.ErrInvalidConfig.
func New(pool *pgxpool.Pool, cfg Config) (*Store, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	sql, err := render(cfg)
	return &Store{pool: pool, cfg: cfg, sql: sql}, err
}

// Claim implements dedupe.Store: one statement, or two if another run has the record.
func (s *Store) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	if req.Token == "" || req.Lease < time.Millisecond {
		return dedupe.Claim{}, fmt.Errorf("%w: token %q, lease %s", dedupe.ErrInvalidKey, req.Token, req.Lease)
	}
	for {
		c := dedupe.Claim{Status: dedupe.Claimed}
		err := s.row(ctx, []any{&c.Attempt, &c.Takeover}, s.sql.claim, key.Consumer, []byte(key.ID), req.Token, req.Fingerprint,
			req.Lease.Microseconds(), s.cfg.TTL.Microseconds(), clocks.Come())
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return dedupe.Claim{}, fmt.Errorf("leat: postgres claim: %w", err)
		}
		c, err = s.look(ctx, key, req)
		if !errors.Is(err, pgx.ErrNoRows) {
			return c, err
		}
		// The record was released in between, unless row security hides it.
		if err := s.visible(ctx); err != nil {
			return dedupe.Claim{}, err
		}
	}
}

// visible returns outbox.ErrRowSecurity if records may be hidden.
func (s *Store) visible(ctx context.Context) error {
	var partly bool
	err := s.row(ctx, []any{&partly}, s.sql.hidden)
	if err == nil && partly {
		err = fmt.Errorf("%w: of the records", outbox.ErrRowSecurity)
	}
	return err
}

// look returns why key could not be claimed, or pgx.ErrNoRows if the reason is gone by now.
func (s *Store) look(ctx context.Context, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	var c dedupe.Claim
	var state string
	var mismatch, ours bool
	var micros int64
	err := s.row(ctx, []any{&state, &c.Attempt, &mismatch, &micros, &c.Result, &ours},
		s.sql.look, key.Consumer, []byte(key.ID), req.Fingerprint, req.Token)
	switch {
	case errors.Is(err, pgx.ErrNoRows), err == nil && !mismatch && (state == "f" || state == "p" && ours):
		return c, pgx.ErrNoRows
	case err != nil:
		return c, fmt.Errorf("leat: postgres claim: %w", err)
	case mismatch:
		c.Status = dedupe.Mismatch
	case state == "d":
		c.Status = dedupe.Done
	default:
		c.Status, c.Remaining = dedupe.Busy, time.Duration(micros)*time.Microsecond
	}
	return c, nil
}

// db lends connections of the pool, and closes those whose sessions accept no writes.
func (s *Store) db() pgmigrate.DB { return pgmigrate.FromPool(s.pool) }

// row runs a query that returns one row, or pgx.ErrNoRows.
func (s *Store) row(ctx context.Context, into []any, query string, args ...any) error {
	return s.db().Use(ctx, func(conn *pgx.Conn) error { return conn.QueryRow(ctx, query, args...).Scan(into...) })
}

// exec runs a statement and returns how many rows it has written.
func (s *Store) exec(ctx context.Context, statement string, args ...any) (n int64, err error) {
	err = s.db().Use(ctx, func(conn *pgx.Conn) error {
		tag, err := conn.Exec(ctx, statement, args...)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

// Extend implements dedupe.Store.
func (s *Store) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	n, err := s.exec(ctx, s.sql.extend, key.Consumer, []byte(key.ID), token, lease.Microseconds(), clocks.Come())
	switch {
	case err != nil:
		return fmt.Errorf("leat: postgres extend: %w", err)
	case n == 0:
		return dedupe.ErrFenced
	default:
		return nil
	}
}

// Complete implements dedupe.Store.
func (s *Store) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	for {
		var attempt int
		var late bool
		err := s.row(ctx, []any{&attempt, &late}, s.sql.complete, key.Consumer, []byte(key.ID), token, s.cfg.TTL.Microseconds(), result, clocks.Come())
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			c, err := s.finished(ctx, key)
			if !errors.Is(err, pgx.ErrNoRows) {
				return c, err
			}
			// The other run's record was lost in between, unless row security hides it.
			if err := s.visible(ctx); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, fmt.Errorf("leat: postgres complete: %w", err)
		case attempt == 0:
			return dedupe.Resurrected, nil
		case late:
			return dedupe.Late, nil
		default:
			return dedupe.Completed, nil
		}
	}
}

// finished returns whether the run that has taken over is still processing the message or has
// completed it. It returns pgx.ErrNoRows if there is no such run any more.
func (s *Store) finished(ctx context.Context, key dedupe.Key) (dedupe.Completion, error) {
	var done bool
	err := s.row(ctx, []any{&done}, s.sql.finished, key.Consumer, []byte(key.ID))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, pgx.ErrNoRows
	case err != nil:
		return 0, fmt.Errorf("leat: postgres complete: %w", err)
	case done:
		return dedupe.FencedDone, nil
	default:
		return dedupe.Fenced, nil
	}
}

// Release implements dedupe.Store.
func (s *Store) Release(ctx context.Context, key dedupe.Key, token string) error {
	_, err := s.exec(ctx, s.sql.release, key.Consumer, []byte(key.ID), token, s.cfg.TTL.Microseconds(), clocks.Come())
	if err != nil {
		return fmt.Errorf("leat: postgres release: %w", err)
	}
	return nil
}

// Prune removes the records that have expired, in chunks, and returns their
// number. It can run at any time and in many processes at once; once an hour is
// plenty.
func (s *Store) Prune(ctx context.Context) (int64, error) {
	n, err := pruned(ctx, pgpin.NewCommitted(pgpin.Of(s.pool)), s.sql.prune)
	if err != nil {
		err = fmt.Errorf("leat: postgres prune: %w", err)
	}
	return n, err
}
