package pgwatermark_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

const (
	wmTopic  = "events"
	wmSource = "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90"
	wmOther  = "0d9c1b7e-52a4-4f0b-8f5e-3b1a6c2d4e5f" // the same topic, created again
)

// whole is an assignment of partition 0 of a log that still has all of count
// messages, to be read from its start.
func whole(count int64) driver.Assignment {
	return driver.Assignment{Source: wmSource, Topic: wmTopic, End: count}
}

// at is the position of offset in a session without gaps.
func at(offset int64) driver.Position {
	return driver.Position{Source: wmSource, Topic: wmTopic, Offset: offset, Prev: offset - 1, Serial: true}
}

// delivered is a message as a subscriber hands it out.
func delivered(ctx context.Context, p driver.Position) *message.Message {
	return message.NewMessageWithContext(driver.WithPosition(ctx, p), "", nil)
}

// processAt processes the message at p.
func processAt(ctx context.Context, w *pgwatermark.Inbox, p driver.Position, handle func(context.Context) error) (inbox.Outcome, error) {
	msg := delivered(ctx, p)
	return w.Process(msg.Context(), msg, handle)
}

// effectOf is a handler that writes the offset.
func effectOf(p driver.Position) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		return exec(ctx, `INSERT INTO effects VALUES ($1)`, strconv.FormatInt(p.Offset, 10))
	}
}

// newWatermark returns an inbox of positions in db, on database/sql if kind is
// "sql".
func newWatermark(tb testing.TB, db *testenv.Database, kind string, cfg pgwatermark.Config) *pgwatermark.Inbox {
	tb.Helper()
	if cfg.BusyDelay == 0 {
		cfg.BusyDelay = inbox.NoDelay
	}
	var w *pgwatermark.Inbox
	var err error
	if kind == "sql" {
		w, err = pgwatermark.NewSQL(db.SQL(tb), "c", []string{wmTopic}, cfg)
	} else {
		w, err = pgwatermark.New(db.Pool, "c", []string{wmTopic}, cfg)
	}
	require.NoError(tb, err)
	return w
}

// assign is Assigned for one partition.
func assign(tb testing.TB, w *pgwatermark.Inbox, a driver.Assignment) int64 {
	tb.Helper()
	next, err := w.Assigned(tb.Context(), []driver.Assignment{a})
	require.NoError(tb, err)
	require.Len(tb, next, 1)
	return next[0]
}

// countEffects returns how many there are, and how many different ones.
func countEffects(tb testing.TB, db *testenv.Database) (all, distinct int) {
	tb.Helper()
	row := db.Pool.QueryRow(tb.Context(), `SELECT count(*), count(DISTINCT effect) FROM effects`)
	require.NoError(tb, row.Scan(&all, &distinct))
	return all, distinct
}

// watchMoves makes the database note each committed change of a watermark.
func watchMoves(tb testing.TB, db *testenv.Database) {
	tb.Helper()
	_, err := db.Pool.Exec(tb.Context(), `CREATE TABLE moves (n bigserial, before bigint, after bigint);
		CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO moves (before, after) VALUES (OLD.next_off, NEW.next_off); RETURN NULL; END $$;
		CREATE TRIGGER note AFTER UPDATE ON leat.inbox_watermarks FOR EACH ROW EXECUTE FUNCTION note_move()`)
	require.NoError(tb, err)
}

// requireMonotone wants that no change went back and that each began where the one
// before ended.
func requireMonotone(tb testing.TB, db *testenv.Database, count int64) {
	tb.Helper()
	rows, err := db.Pool.Query(tb.Context(), `SELECT before, after FROM moves ORDER BY before`)
	require.NoError(tb, err)
	type move struct{ Before, After int64 }
	moves, err := pgx.CollectRows(rows, pgx.RowToStructByPos[move])
	require.NoError(tb, err)
	next := int64(0)
	for _, m := range moves {
		require.Equal(tb, next, m.Before)
		require.Greater(tb, m.After, m.Before)
		next = m.After
	}
	require.Equal(tb, count, next)
}

// readOn is a session: it asks where to begin and processes message after message
// up to count, each until it is acked, or until stop says that the session is over.
func readOn(
	ctx context.Context, w *pgwatermark.Inbox, count int64,
	stop func() bool, handle func(driver.Position) func(context.Context) error,
) (done bool, err error) {
	next, err := w.Assigned(ctx, []driver.Assignment{whole(count)})
	if err != nil {
		return false, err
	}
	prev := next[0] - 1
	for offset := next[0]; offset < count; offset++ {
		p := at(offset)
		p.Prev = prev
		for {
			if stop() {
				return false, nil
			}
			_, err := processAt(ctx, w, p, handle(p))
			if err == nil {
				break
			}
			if errors.Is(err, driver.ErrGap) || ctx.Err() != nil {
				return false, err
			}
		}
		prev = offset
	}
	return true, nil
}

// exec runs a statement in the delivery's transaction, whatever its kind.
func exec(ctx context.Context, statement string, args ...any) error {
	if tx := pginbox.SQLTx(ctx); tx != nil {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	}
	_, err := pginbox.Tx(ctx).Exec(ctx, statement, args...)
	return err
}
