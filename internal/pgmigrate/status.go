package pgmigrate

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgpin"
)

// ErrBehind is returned by Require when the schema is missing or too old.
var ErrBehind = errors.New("leat: schema is missing or too old")

// behindError reports how old a schema is, and what to do. It matches ErrBehind, but does not
// repeat its text: callers wrap it in outbox.ErrNotMigrated.
type behindError string

func (e behindError) Error() string { return string(e) }

// Is reports whether target is ErrBehind.
func (behindError) Is(target error) bool { return target == ErrBehind }

// Status is the state of a schema.
type Status struct {
	// Current is the version of the schema, 0 if there is none. It may exceed Latest.
	Current int
	// Latest is the newest version that this library knows.
	Latest int
	// Pending are the names of the migrations that Migrate would apply.
	Pending []string
}

// Status returns which migrations were applied. A missing schema has version 0 and is not an error.
func (s Set) Status(ctx context.Context, db DB) (Status, error) {
	all, err := s.load()
	if err != nil {
		return Status{}, err
	}
	var status Status
	err = db.run(ctx, func(conn *pgx.Conn) error {
		status, err = s.status(ctx, conn, all)
		return err
	})
	return status, err
}

// Require returns an error that wraps ErrBehind if the schema's version is below oldest, and one
// that wraps ErrEncoding if texts are not UTF-8.
func (s Set) Require(ctx context.Context, db DB, oldest int) error {
	if err := db.run(ctx, func(conn *pgx.Conn) error { return CheckEncoding(conn.PgConn()) }); err != nil {
		return s.wrap("check the encoding", err)
	}
	status, err := s.Status(ctx, db)
	if err != nil {
		return err
	}
	if status.Current < oldest {
		return behindError(fmt.Sprintf("%s in %s is at version %d, needed is %d or later: call Migrate, or run leat migrate up",
			s.Component, s.Qualified(""), status.Current, oldest))
	}
	return nil
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (s Set) status(ctx context.Context, conn *pgx.Conn, all []migration) (Status, error) {
	pinned := pgpin.On{DB: conn}
	exists, err := s.hasVersions(ctx, pinned)
	if err != nil {
		return Status{}, s.wrap("read status", err)
	}
	current := 0
	if exists {
		if current, err = s.current(ctx, pinned); err != nil {
			return Status{}, s.wrap("read status", err)
		}
	}
	status := Status{Current: current, Latest: len(all)}
	for _, m := range all[min(current, len(all)):] {
		status.Pending = append(status.Pending, m.name)
	}
	return status, nil
}

// hasVersions asks the catalog rather than to_regclass, which fails without
// USAGE on the schema.
func (s Set) hasVersions(ctx context.Context, q querier) (bool, error) {
	var exists bool
	err := q.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relname = $2)
		WHERE `+pgerr.Primary, s.Schema, s.Table+versionSuffix).Scan(&exists)
	return exists, err
}

func (s Set) current(ctx context.Context, q querier) (int, error) {
	var version int
	err := q.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM `+s.Qualified(versionSuffix)+` WHERE `+pgerr.Primary).Scan(&version)
	return version, err
}
