package pgwatermark_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

var (
	onlyPartition = admin.TopicPartition{Topic: wmTopic, Source: wmSource}
	partitionsOfC = admin.PartitionsQuery{Consumer: "c"}
	removeIt      = admin.RemoveWatermarkRequest{By: someone, Consumer: "c", TopicPartition: onlyPartition}
)

func setTo(next int64) admin.SetWatermarkRequest {
	return admin.SetWatermarkRequest{By: someone, Consumer: "c", TopicPartition: onlyPartition, Next: next}
}

func acceptIt(source string) admin.AcceptSourceRequest {
	return admin.AcceptSourceRequest{By: someone, Consumer: "c", Topic: wmTopic, Source: source}
}

func adminOf(t *testing.T, db *testenv.Database) admin.Watermarks {
	t.Helper()
	a, err := pgwatermark.NewAdmin(db.Pool, pgwatermark.Config{})
	require.NoError(t, err)
	return a
}

// accept makes source the one of the topic.
func accept(t *testing.T, db *testenv.Database, source string) {
	t.Helper()
	_, err := adminOf(t, db).AcceptSource(t.Context(), acceptIt(source))
	require.NoError(t, err)
}

func TestWatermarksOfAConsumer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pgx", "sql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			w := newWatermark(t, db, kind, pgwatermark.Config{})
			a := adminOf(t, db)
			_, err := a.Partitions(t.Context(), partitionsOfC)
			require.ErrorIs(t, err, admin.ErrUnknownConsumer)
			assign(t, w, whole(3))
			second := whole(3)
			second.Partition, second.From = 1, 2
			assign(t, w, second)
			previous, err := a.AcceptSource(t.Context(), acceptIt(wmOther))
			require.NoError(t, err)
			require.Equal(t, wmSource, previous)
			third := whole(3)
			third.Source = wmOther
			assign(t, w, third)

			state, err := a.Partitions(t.Context(), partitionsOfC)
			require.NoError(t, err)
			require.ElementsMatch(t, []admin.PartitionState{
				{TopicPartition: onlyPartition},
				{TopicPartition: admin.TopicPartition{Topic: wmTopic, Source: wmSource, Partition: 1}, Next: 2},
				{TopicPartition: admin.TopicPartition{Topic: wmTopic, Source: wmOther}, Current: true},
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
	a, err := pgwatermark.NewAdmin(db.Pool, heard.config())
	require.NoError(t, err)
	other := whole(9)
	other.Partition = 1
	assign(t, w, other)

	previous, err := a.SetWatermark(t.Context(), setTo(4)) // before the first session
	require.NoError(t, err)
	require.Equal(t, int64(-1), previous)
	require.Equal(t, int64(4), assign(t, w, whole(9)))

	_, err = processAt(t.Context(), w, at(4), func(ctx context.Context) error {
		_, err := a.SetWatermark(ctx, setTo(4))
		require.ErrorIs(t, err, inbox.ErrBusy)
		_, err = a.RemoveWatermark(ctx, removeIt)
		require.ErrorIs(t, err, inbox.ErrBusy)
		return nil
	})
	require.NoError(t, err)

	previous, err = a.SetWatermark(t.Context(), setTo(2)) // back: the session that reads notices
	require.NoError(t, err)
	require.Equal(t, int64(5), previous)
	_, err = processAt(t.Context(), w, at(5), nothing)
	require.ErrorIs(t, err, driver.ErrGap)

	previous, err = a.RemoveWatermark(t.Context(), removeIt)
	require.NoError(t, err)
	require.Equal(t, int64(2), previous)
	_, err = processAt(t.Context(), w, at(2), nothing)
	require.ErrorIs(t, err, driver.ErrNotAssigned)
	_, err = a.RemoveWatermark(t.Context(), removeIt)
	require.ErrorIs(t, err, admin.ErrInvalidRequest)
	second := removeIt
	second.Partition = 1
	_, err = a.RemoveWatermark(t.Context(), second)
	require.NoError(t, err)

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
	require.Equal(t, []string{
		`remove_watermark ann because events {"source": "` + wmSource + `", "previous": 0, "partition": 1}`,
		`remove_watermark ann because events {"source": "` + wmSource + `", "previous": 2, "partition": 0}`,
		`set_watermark ann because events {"next": 2, "source": "` + wmSource + `", "previous": 5, "partition": 0}`,
		`set_watermark ann because events {"next": 4, "source": "` + wmSource + `", "previous": -1, "partition": 0}`,
	}, audited(t, db))
}

// audited are the entries of the audit, the newest first.
func audited(t *testing.T, db *testenv.Database) (all []string) {
	t.Helper()
	a, err := pginbox.NewAdmin(db.Pool, pginbox.Config{})
	require.NoError(t, err)
	entries, err := a.(admin.Auditor).Audit(t.Context(), admin.AuditQuery{Consumer: "c", Newest: true})
	require.NoError(t, err)
	for _, e := range entries {
		require.WithinDuration(t, time.Now(), e.At, time.Hour)
		all = append(all, strings.Join([]string{e.Action, e.Actor, e.Reason, e.Topic, string(e.Details)}, " "))
	}
	return all
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
	require.Equal(t, []string{`skip_message ann because events {"position": "events/0@0"}`}, audited(t, db))
	all, _ := countEffects(t, db)
	require.Equal(t, 1, all)
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
//
//leat:level 2
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
			w, err := pgwatermark.New(pool, "c", []string{wmTopic}, pgwatermark.Config{FollowNewSource: true})
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
			a, err := pgwatermark.NewAdmin(pool, pgwatermark.Config{})
			require.NoError(t, err)
			_, err = a.SetWatermark(t.Context(), setTo(4))
			require.NoError(t, err)
			_, err = a.RemoveWatermark(t.Context(), removeIt)
			require.NoError(t, err)
			state, err := a.Partitions(t.Context(), partitionsOfC)
			require.NoError(t, err)
			require.Len(t, state, 1)
		})
	}
}
