// Package sqllog is a log of numbered rows on database/sql, with all that a relay keeps of
// it: leases, positions with their gaps, records that were set aside. It is the twin of
// pglog and pgheld for the databases whose transactions draw a number before they commit.
package sqllog

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
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

// Errors of what trying again cannot mend and that could lose messages.
var (
	ErrWentBack = errors.New("leat: the log has gone back: the group has read numbers that it has not given out")
	ErrNoMeta   = errors.New("leat: the row of the outbox's meta table is missing")
)

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
