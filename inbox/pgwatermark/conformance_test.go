package pgwatermark_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// TestPositions runs the suite of all inboxes that remember positions.
func TestPositions(t *testing.T) {
	t.Parallel()
	inboxtest.RunPositions(t, inboxtest.Features{}, func(t *testing.T) inboxtest.PositionSubject {
		t.Helper()
		return &subject{db: testenv.Postgres(t, template)}
	})
}

// TestPositions_SQL runs it through database/sql.
//
//leat:level 2
func TestPositions_SQL(t *testing.T) {
	t.Parallel()
	inboxtest.RunPositions(t, inboxtest.Features{}, func(t *testing.T) inboxtest.PositionSubject {
		t.Helper()
		db := testenv.Postgres(t, template)
		return &subject{db: db, sql: db.SQL(t)}
	})
}

// subject fits an inbox to the suite: on database/sql where sql is set.
type subject struct {
	db  *testenv.Database
	sql *sql.DB
}

var _ inboxtest.PositionForgetter = (*subject)(nil)

// Open implements inboxtest.PositionSubject.
func (s *subject) Open(consumer string, topics []string, cfg inbox.Config) (inboxtest.PositionProcessor, error) {
	if s.sql != nil {
		return pgwatermark.NewSQL(s.sql, consumer, topics, pgwatermark.Config{Config: cfg})
	}
	return pgwatermark.New(s.db.Pool, consumer, topics, pgwatermark.Config{Config: cfg})
}

// Write implements inboxtest.PositionSubject.
func (s *subject) Write(ctx context.Context, effect string) error {
	return exec(ctx, `INSERT INTO effects VALUES ($1)`, effect)
}

// Effects implements inboxtest.PositionSubject.
func (s *subject) Effects(ctx context.Context) ([]string, error) {
	rows, err := s.db.Pool.Query(ctx, `SELECT effect FROM effects`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Forget implements inboxtest.PositionForgetter: a standby that has not got the last
// commits knows neither them nor their effects.
func (s *subject) Forget(ctx context.Context, next int64, effects ...string) error {
	_, err := s.db.Pool.Exec(ctx, `UPDATE leat.inbox_watermarks SET next_off = $1`, next)
	if err == nil {
		_, err = s.db.Pool.Exec(ctx, `DELETE FROM effects WHERE effect <> ALL ($1)`, effects)
	}
	return err
}
