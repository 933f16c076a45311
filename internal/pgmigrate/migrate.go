package pgmigrate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgpin"
)

// Options tune Migrate.
type Options struct {
	// LockTimeout bounds the wait for a lock that a migration needs on a table in
	// use: behind one slow transaction, an ALTER TABLE would make all others wait.
	// When it runs out, Migrate returns an error (SQLSTATE 55P03) and can be
	// called again. Defaults to 5 s.
	LockTimeout time.Duration
	// Target is the version to stop at.
	// Defaults to the newest.
	Target int
}

// Migrate applies the missing migrations, one transaction each, and creates the schema if there is
// none. Called again it does nothing. Concurrent calls by several processes wait for each other, as
// long as ctx allows. A schema that is newer than the set stays as it is. If nothing is missing,
// only read privileges are needed. If something is missing, the error wraps ErrEncoding unless the
// database and the session are in UTF-8.
func (s Set) Migrate(ctx context.Context, db DB, opts Options) error {
	all, err := s.load()
	if err != nil {
		return err
	}
	opts.LockTimeout = cmp.Or(opts.LockTimeout, 5*time.Second)
	if opts.Target == 0 {
		opts.Target = len(all)
	}
	if opts.LockTimeout < time.Millisecond || opts.Target < 0 || opts.Target > len(all) {
		return s.wrap("migrate", fmt.Errorf("out of range: lock timeout %s, target %d of %d", opts.LockTimeout, opts.Target, len(all)))
	}
	return db.run(ctx, func(conn *pgx.Conn) error {
		status, err := s.status(ctx, conn, all)
		if err != nil || status.Current >= opts.Target {
			return err
		}
		if err := CheckEncoding(conn.PgConn()); err != nil {
			return s.wrap("prepare to migrate", err)
		}
		if err := s.prepare(ctx, conn, opts); err != nil {
			return s.wrap("prepare to migrate", err)
		}
		for _, m := range all[:opts.Target] {
			if err := s.apply(ctx, conn, m, opts); err != nil {
				return s.wrap("migration "+m.name, err)
			}
		}
		return nil
	})
}

// prepare creates the schema and the version table, each only if it is missing: IF NOT EXISTS asks
// for the privilege to create either way. If another client creates the same schema without our
// lock, prepare looks again.
func (s Set) prepare(ctx context.Context, conn *pgx.Conn, opts Options) error {
	const attempts = 3

	var err error
	for range attempts {
		err = s.locked(ctx, conn, opts, func(tx pgx.Tx) error { return s.createMissing(ctx, tx) })
		if !pgerr.Is(err, pgerr.UniqueViolation, pgerr.DuplicateSchema, pgerr.DuplicateTable) {
			return err
		}
	}
	return err
}

func (s Set) createMissing(ctx context.Context, tx pgx.Tx) error {
	var schema bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1) WHERE `+pgerr.Primary, s.Schema).Scan(&schema)
	if err != nil {
		return err
	}
	if !schema {
		if _, err := tx.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{s.Schema}.Sanitize()); err != nil {
			return err
		}
	}
	table, err := s.hasVersions(ctx, tx)
	if err != nil || table {
		return err
	}
	_, err = tx.Exec(ctx, `CREATE TABLE `+s.versionTable())
	return err
}

// versionTable is the definition of the version table, after CREATE TABLE.
func (s Set) versionTable() string {
	return s.Qualified(versionSuffix) +
		` (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`
}

// apply runs m unless another process has run it by the time that the lock is ours.
func (s Set) apply(ctx context.Context, conn *pgx.Conn, m migration, opts Options) error {
	return s.locked(ctx, conn, opts, func(tx pgx.Tx) error {
		current, err := s.current(ctx, tx)
		if err != nil || current >= m.version {
			return err
		}
		if _, err := tx.Exec(ctx, m.sql); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO `+s.Qualified(versionSuffix)+` (version, name) VALUES ($1, $2)`, m.version, m.name)
		return err
	})
}

// locked runs fn in a transaction that holds the migration lock of the schema. fn's first statement
// must take its snapshot after the lock was granted, which requires READ COMMITTED whatever the
// session's default is. The wait for the lock is bounded only by ctx, since another process may
// rightly hold it for long. The search path is leat's own, since views and defaults keep what they
// resolved with it.
func (s Set) locked(ctx context.Context, conn *pgx.Conn, opts Options, fn func(tx pgx.Tx) error) error {
	mode := pgpin.TxOptions(pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	return pgx.BeginTxFunc(ctx, conn, mode, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = 0; SET LOCAL standard_conforming_strings = on`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, keyhash.Lock("migrate", s.Schema)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`, opts.LockTimeout.Milliseconds())); err != nil {
			return err
		}
		return fn(tx)
	})
}
