package pgwatermark_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestI8_OneInboxAConsumer: an inbox of ids and one of positions do not know what
// the other has processed.
func TestI8_OneInboxAConsumer(t *testing.T) {
	t.Parallel()
	t.Run("ids first", func(t *testing.T) {
		t.Parallel()
		db := testenv.Postgres(t, template)
		in, err := pginbox.New(db.Pool, "c", pginbox.Config{})
		require.NoError(t, err)
		_, err = in.Process(t.Context(), message.NewMessage("a", nil), nothing)
		require.NoError(t, err)
		_, err = newWatermark(t, db, "pgx", pgwatermark.Config{}).Assigned(t.Context(), []driver.Assignment{whole(1)})
		require.ErrorIs(t, err, pgclaim.ErrOtherInbox)
	})
	t.Run("positions first", func(t *testing.T) {
		t.Parallel()
		db := testenv.Postgres(t, template)
		assign(t, newWatermark(t, db, "pgx", pgwatermark.Config{}), whole(1))
		onPgx, err := pginbox.New(db.Pool, "c", pginbox.Config{})
		require.NoError(t, err)
		onSQL, err := pginbox.NewSQL(db.SQL(t), "c", pginbox.Config{})
		require.NoError(t, err)
		for _, in := range []*pginbox.Inbox{onPgx, onSQL} {
			_, err = in.Process(t.Context(), message.NewMessage("a", nil), nothing)
			require.ErrorIs(t, err, pgclaim.ErrOtherInbox)
			require.ErrorIs(t, err, inbox.ErrNotClaimed)
		}
		other, err := pginbox.New(db.Pool, "another", pginbox.Config{})
		require.NoError(t, err)
		_, err = other.Process(t.Context(), message.NewMessage("a", nil), nothing)
		require.NoError(t, err)
	})
}

func TestWatermarkWithoutASchema(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	w := newWatermark(t, db, "pgx", pgwatermark.Config{})
	_, err := w.Assigned(t.Context(), []driver.Assignment{whole(1)})
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	_, err = adminOf(t, db).Partitions(t.Context(), partitionsOfC)
	require.ErrorIs(t, err, outbox.ErrNotMigrated)

	// Without the tables of positions, inboxes of ids go on.
	require.NoError(t, w.Migrate(t.Context()))
	_, err = db.Pool.Exec(t.Context(), `DROP VIEW leat.inbox_positions; DROP TABLE leat.inbox_watermarks, leat.inbox_sources`)
	require.NoError(t, err)
	_, err = w.Assigned(t.Context(), []driver.Assignment{whole(1)})
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	_, err = processAt(t.Context(), w, at(0), nothing)
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
	in, err := pginbox.New(db.Pool, "ids", pginbox.Config{})
	require.NoError(t, err)
	_, err = in.Process(t.Context(), message.NewMessage("a", nil), nothing)
	require.NoError(t, err)
	require.Zero(t, db.Pool.Stat().AcquiredConns())
}

func TestB11_WatermarkRefusesAsynchronousCommit(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	assign(t, newWatermark(t, db, "pgx", pgwatermark.Config{}), whole(1))
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w, err := pgwatermark.New(pool, "c", []string{wmTopic}, pgwatermark.Config{})
	require.NoError(t, err)

	_, err = w.Assigned(t.Context(), []driver.Assignment{whole(1)})
	require.ErrorIs(t, err, outbox.ErrNotDurable)
	_, err = processAt(t.Context(), w, at(0), nothing)
	require.ErrorIs(t, err, outbox.ErrNotDurable)
	require.Zero(t, pool.Stat().AcquiredConns())
}

func TestNewWatermarkRefusesBadConfigurations(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1/nowhere")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	tests := map[string]struct {
		consumer string
		topics   []string
		cfg      pgwatermark.Config
		want     string
	}{
		"no consumer": {"", []string{"t"}, pgwatermark.Config{}, `consumer = ""`},
		"no topics":   {"c", nil, pgwatermark.Config{}, "topics = []"},
		"empty topic": {"c", []string{"t", ""}, pgwatermark.Config{}, `topics[1] = ""`},
		"schema":      {"c", []string{"t"}, pgwatermark.Config{Schema: "a\x00b"}, "do not print"},
		"isolation":   {"c", []string{"t"}, pgwatermark.Config{Isolation: "snapshot"}, `Isolation = "snapshot"`},
		"engine":      {"c", []string{"t"}, pgwatermark.Config{Config: inbox.Config{BusyDelay: -2}}, "BusyDelay"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pgwatermark.New(pool, tt.consumer, tt.topics, tt.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err = pgwatermark.New(nil, "c", []string{"t"}, pgwatermark.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = pgwatermark.NewSQL(nil, "c", []string{"t"}, pgwatermark.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}

// TestI4_OutageOfTheServer: what the server answers if it has no disk does not speak against the message, nor does a conflict
// with another transaction; a broken constraint does.
func TestI4_OutageOfTheServer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pgx", "sql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWatermark(t, testenv.Postgres(t, template), kind, pgwatermark.Config{})
			assign(t, w, whole(1))
			for code, against := range map[string]bool{"53100": false, "58030": false, "40P01": false, "23505": true} {
				outcome, err := processAt(t.Context(), w, at(0), func(ctx context.Context) error {
					return exec(ctx, `DO $$ BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = '`+code+`'; END $$`)
				})
				require.Equal(t, inbox.OutcomeFailed, outcome)
				require.ErrorContains(t, err, code)
				require.Equal(t, against, inbox.ShouldPoison(err), err)
			}
		})
	}
}

// TestB11_RefusedSessionLeavesThePool: another part of the service has changed the one session
// of the pool. A delivery is refused, and the next one gets another session.
func TestB11_RefusedSessionLeavesThePool(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	w, err := pgwatermark.New(pool, "c", []string{wmTopic}, pgwatermark.Config{})
	require.NoError(t, err)
	assign(t, w, whole(4))
	next := int64(0)
	for name, use := range map[string]func() error{
		"assign": func() error {
			_, err := w.Assigned(t.Context(), []driver.Assignment{whole(4)})
			return err
		},
		"process": func() error {
			_, err := processAt(t.Context(), w, at(next), nothing)
			if err == nil {
				next++
			}
			return err
		},
	} {
		for setting, want := range map[string]string{
			"synchronous_commit = off":           outbox.ErrNotDurable.Error(),
			"default_transaction_read_only = on": "read-only transaction",
		} {
			pool.Reset() // of what was set before
			_, err = pool.Exec(t.Context(), "SET "+setting)
			require.NoError(t, err)
			if name == "process" || setting == "synchronous_commit = off" { // to assign sets its own mode
				require.ErrorContains(t, use(), want, name)
			}
			require.NoError(t, use(), name)
		}
	}
}
