package pgwatermark_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

var onlyPartition = pgwatermark.TopicPartition{Topic: wmTopic, Source: wmSource}

func TestWatermarksOfAConsumer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pgx", "sql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			w := newWatermark(t, db, kind, pgwatermark.Config{})
			_, err := w.Partitions(t.Context())
			require.ErrorIs(t, err, admin.ErrUnknownConsumer)
			assign(t, w, whole(3))
			second := whole(3)
			second.Partition, second.From = 1, 2
			assign(t, w, second)
			require.NoError(t, w.Accept(t.Context(), pgwatermark.AcceptRequest{By: someone, Topic: wmTopic, Source: wmOther}))
			third := whole(3)
			third.Source = wmOther
			assign(t, w, third)

			state, err := w.Partitions(t.Context())
			require.NoError(t, err)
			require.ElementsMatch(t, []pgwatermark.PartitionState{
				{TopicPartition: onlyPartition},
				{TopicPartition: pgwatermark.TopicPartition{Topic: wmTopic, Source: wmSource, Partition: 1}, Next: 2},
				{TopicPartition: pgwatermark.TopicPartition{Topic: wmTopic, Source: wmOther}, Current: true},
			}, state)

			var rows int
			require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox_positions WHERE consumer = 'c' AND topic = 'events'`).Scan(&rows))
			require.Equal(t, 3, rows)
		})
	}
}

func TestSetAndRemoveWatermark(t *testing.T) {
	t.Parallel()
	db, heard := testenv.Postgres(t, template), &alarms{}
	w := newWatermark(t, db, "pgx", heard.config())
	set := pgwatermark.SetRequest{By: someone, TopicPartition: onlyPartition, Next: 4}
	remove := pgwatermark.RemoveRequest{By: someone, TopicPartition: onlyPartition}

	previous, err := w.Set(t.Context(), set) // before the first session
	require.NoError(t, err)
	require.Equal(t, int64(-1), previous)
	require.Equal(t, int64(4), assign(t, w, whole(9)))

	_, err = processAt(t.Context(), w, at(4), func(ctx context.Context) error {
		_, err := w.Set(ctx, set)
		require.ErrorIs(t, err, inbox.ErrBusy)
		_, err = w.Remove(ctx, remove)
		require.ErrorIs(t, err, inbox.ErrBusy)
		return nil
	})
	require.NoError(t, err)

	set.Next = 2 // back: the session that reads notices
	previous, err = w.Set(t.Context(), set)
	require.NoError(t, err)
	require.Equal(t, int64(5), previous)
	_, err = processAt(t.Context(), w, at(5), nothing)
	require.ErrorIs(t, err, driver.ErrGap)

	previous, err = w.Remove(t.Context(), remove)
	require.NoError(t, err)
	require.Equal(t, int64(2), previous)
	_, err = processAt(t.Context(), w, at(2), nothing)
	require.ErrorIs(t, err, driver.ErrNotAssigned)
	_, err = w.Remove(t.Context(), remove)
	require.ErrorIs(t, err, admin.ErrInvalidRequest)

	// With its last watermark a source is forgotten.
	again := whole(3)
	again.Source = wmOther
	require.Zero(t, assign(t, w, again))
	require.Empty(t, heard.take())

	for _, line := range []string{
		`change=set_watermark consumer=c actor=ann reason=because topic=events source=` + wmSource + ` partition=0 previous=5 next=2`,
		`change=remove_watermark consumer=c actor=ann reason=because topic=events source=` + wmSource + ` partition=0 previous=2`,
	} {
		require.Contains(t, heard.log.String(), line)
	}
}

func TestSkip(t *testing.T) {
	t.Parallel()
	db, heard := testenv.Postgres(t, template), &alarms{}
	w := newWatermark(t, db, "pgx", heard.config())
	assign(t, w, whole(3))
	poison := delivered(t.Context(), at(0))

	require.NoError(t, w.Skip(poison, someone))

	_, err := processAt(t.Context(), w, at(1), effectOf(at(1)))
	require.NoError(t, err)
	require.ErrorIs(t, w.Skip(delivered(t.Context(), at(4)), someone), driver.ErrGap)
	require.ErrorIs(t, w.Skip(poison, admin.By{Actor: "ann"}), admin.ErrInvalidRequest)
	require.Contains(t, heard.log.String(), `change=skip_message consumer=c actor=ann reason=because position=events/0@0 outcome=committed`)
	all, _ := countEffects(t, db)
	require.Equal(t, 1, all)
}

func TestWatermarkRequestsAreChecked(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	w, err := pgwatermark.New(db.Pool, "c", []string{wmTopic, "other"}, pgwatermark.Config{})
	require.NoError(t, err)
	assign(t, w, whole(1))
	for name, tt := range map[string]struct {
		run  func() error
		want string
	}{
		"no actor": {func() error {
			_, err := w.Set(t.Context(), pgwatermark.SetRequest{TopicPartition: onlyPartition})
			return err
		}, "Actor is empty"},
		"no reason": {func() error {
			_, err := w.Remove(t.Context(), pgwatermark.RemoveRequest{By: admin.By{Actor: "ann"}, TopicPartition: onlyPartition})
			return err
		}, "Reason is empty"},
		"negative": {func() error {
			_, err := w.Set(t.Context(), pgwatermark.SetRequest{By: someone, TopicPartition: onlyPartition, Next: -1})
			return err
		}, "Next = -1"},
		"other topic": {func() error {
			_, err := w.Set(t.Context(), pgwatermark.SetRequest{By: someone, TopicPartition: pgwatermark.TopicPartition{Topic: "x", Source: wmSource}})
			return err
		}, `topic "x"`},
		"no source": {func() error {
			return w.Accept(t.Context(), pgwatermark.AcceptRequest{By: someone, Topic: wmTopic})
		}, `source ""`},
		"source of another topic": {func() error {
			return w.Accept(t.Context(), pgwatermark.AcceptRequest{By: someone, Topic: "other", Source: wmSource})
		}, `is that of topic "events"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.run()
			require.ErrorIs(t, err, admin.ErrInvalidRequest)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// TestWatermarkTakesConstantSpace: the row's old versions are cleaned up in its
// page, as the migration's settings mean them to be.
func TestWatermarkTakesConstantSpace(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	w := newWatermark(t, db, "pgx", pgwatermark.Config{})
	const count = 600
	assign(t, w, whole(count))
	for offset := range int64(count) {
		_, err := processAt(t.Context(), w, at(offset), nothing)
		require.NoError(t, err)
	}
	var rows, pages int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*),
		(pg_relation_size('leat.inbox_watermarks') + pg_relation_size('leat.inbox_watermarks_pkey')) / 8192
		FROM leat.inbox_watermarks`).Scan(&rows, &pages))
	require.Equal(t, 1, rows)
	require.LessOrEqual(t, pages, 12, "600 versions of the row take five pages alone")
	var ids int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox`).Scan(&ids))
	require.Zero(t, ids)
}

// TestI8_EveryQueryMode: poolers ask for modes in which parameters and results
// travel as text.
func TestI8_EveryQueryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			cfg, err := pgxpool.ParseConfig(db.URL)
			require.NoError(t, err)
			cfg.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			require.NoError(t, err)
			defer pool.Close()
			w, err := pgwatermark.New(pool, "c", []string{wmTopic}, pgwatermark.Config{NewSource: pgwatermark.FollowNewSource})
			require.NoError(t, err)
			for range 2 {
				_, err := w.Assigned(t.Context(), []driver.Assignment{whole(3)})
				require.NoError(t, err)
				_, err = processAt(t.Context(), w, at(0), nothing)
				require.NoError(t, err)
			}
			_, err = processAt(t.Context(), w, at(2), nothing)
			require.ErrorIs(t, err, driver.ErrGap)
			again, cut := whole(3), whole(9)
			again.Source, cut.Start = wmOther, 5
			require.Zero(t, assign(t, w, again))
			require.Equal(t, int64(5), assign(t, w, cut))
			_, err = w.Set(t.Context(), pgwatermark.SetRequest{By: someone, TopicPartition: onlyPartition, Next: 4})
			require.NoError(t, err)
			_, err = w.Remove(t.Context(), pgwatermark.RemoveRequest{By: someone, TopicPartition: onlyPartition})
			require.NoError(t, err)
			state, err := w.Partitions(t.Context())
			require.NoError(t, err)
			require.Len(t, state, 1)
		})
	}
}
