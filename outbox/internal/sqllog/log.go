// Package sqllog is a log of numbered rows on database/sql, with everything that a relay stores
// for it: leases, positions with their gaps, and records that were set aside. It is the
// counterpart of pglog and pgheld for databases whose transactions draw a number before they
// commit.
package sqllog

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/driver"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// Log is an outbox's tables. It is safe for concurrent use.
type Log struct {
	*sqlstore.Store

	logger *slog.Logger
}

// New returns the log of a store whose statements include those of Statements.
func New(s *sqlstore.Store, logger *slog.Logger) *Log { return &Log{s, logger} }

// Statements are those that a Log runs, for sqlstore.Component.Files.
func Statements() embed.FS { return statementFiles }

// ErrNoMeta is returned if it is not stored which log the positions belong to.
var ErrNoMeta = errors.New("leat: the row of the outbox's meta table is missing")

// Unusable marks err with driver.ErrSourceUnusable if it means that a position belongs to another
// log, or wraps one of fatal: trying again cannot fix it and could lose messages.
func Unusable(err error, fatal ...error) error {
	is := func(fatal error) bool { return errors.Is(err, fatal) }
	if basis.IsMoved(err) || is(ErrNoMeta) || slices.ContainsFunc(fatal, is) {
		return fmt.Errorf("%w: %w", driver.ErrSourceUnusable, err)
	}
	return err
}

// Now is the database's clock.
func (l *Log) Now(ctx context.Context, q sqlstore.Querier) (time.Time, error) {
	var n int64
	err := q.QueryRowContext(ctx, l.SQL["now"]).Scan(&n)
	return sqlstore.Time(n), err
}

// Floor returns the number up to which retention may have deleted.
func (l *Log) Floor(ctx context.Context, q sqlstore.Querier) (n int64, err error) {
	err = q.QueryRowContext(ctx, l.SQL["floor"]).Scan(&n)
	if sqlstore.IsNoRows(err) {
		err = ErrNoMeta
	}
	return n, err
}

// Last returns the highest number that is committed, 0 if there is none.
func (l *Log) Last(ctx context.Context, q sqlstore.Querier) (n int64, err error) {
	err = q.QueryRowContext(ctx, l.SQL["last"]).Scan(&n)
	return n, err
}
