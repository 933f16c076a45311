package pgoutbox_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

func replayConfig() relay.ReplayConfig {
	return relay.ReplayConfig{Actor: "ann", Reason: "the search index was lost", PageSize: 3}
}

// replayed replays what cfg selects and returns it.
func replayed(t *testing.T, ob *pgoutbox.Outbox, cfg pgoutbox.HistoryConfig, how relay.ReplayConfig) ([]outbox.Record, relay.ReplayReport) {
	t.Helper()
	h, err := ob.History(cfg)
	require.NoError(t, err)
	broker := outboxtest.NewBroker()
	report, err := relay.Replay(t.Context(), h, broker.Sink(), how)
	require.NoError(t, err)
	require.True(t, report.Done)
	require.EqualValues(t, len(broker.Log()), report.Sent)
	return broker.Log(), report
}

// enqueue commits one message in a transaction of its own.
func enqueue(t *testing.T, ob *pgoutbox.Outbox, m outbox.Message) {
	t.Helper()
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, m) }))
}

// TestO4_ReplaySelects: a replay sends what was selected, exactly as it was sent before.
func TestO4_ReplaySelects(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	broker := outboxtest.NewBroker()
	for i := range 10 {
		enqueue(t, ob, outbox.Message{
			ID: "id-" + strconv.Itoa(i), Topic: "t." + strconv.Itoa(i%2), Key: "k" + strconv.Itoa(i%3), Payload: []byte(strconv.Itoa(i)),
			Headers: map[string]string{"h": strconv.Itoa(i)},
		})
		if i == 4 {
			require.Equal(t, 5, runOnce(t, ob, broker))
		}
	}
	require.Equal(t, 5, runOnce(t, ob, broker))
	sent := broker.Log()
	first := query1[int64](t, db, "SELECT min(window_no) FROM leat.outbox_positions WHERE window_no > 0")
	for name, c := range map[string]struct {
		cfg  pgoutbox.HistoryConfig
		want string
	}{
		"all":         {pgoutbox.HistoryConfig{}, "0123456789"},
		"from seq":    {pgoutbox.HistoryConfig{FromSeq: sent[7].Seq}, "789"},
		"to seq":      {pgoutbox.HistoryConfig{ToSeq: sent[2].Seq}, "012"},
		"from time":   {pgoutbox.HistoryConfig{Since: sent[6].CreatedAt}, "6789"},
		"to time":     {pgoutbox.HistoryConfig{Until: sent[6].CreatedAt}, "012345"},
		"all of them": {pgoutbox.HistoryConfig{FromSeq: sent[3].Seq, Since: sent[1].CreatedAt, Until: sent[8].CreatedAt, FromWindow: first + 1, ToSeq: sent[6].Seq}, "56"},
		"no time":     {pgoutbox.HistoryConfig{Since: time.Now().Add(time.Hour)}, ""},
		"to window":   {pgoutbox.HistoryConfig{ToWindow: first}, "01234"},
		"from window": {pgoutbox.HistoryConfig{FromWindow: first + 1}, "56789"},
		"topics":      {pgoutbox.HistoryConfig{Topics: []string{"x", "*.1"}}, "13579"},
		"keys":        {pgoutbox.HistoryConfig{Keys: []string{"k0", "k2"}}, "0235689"},
		"ids":         {pgoutbox.HistoryConfig{IDs: []string{"id-3", "id-8", "no"}}, "38"},
		"both":        {pgoutbox.HistoryConfig{Topics: []string{"t.1"}, Keys: []string{"k0"}}, "39"},
	} {
		got, _ := replayed(t, ob, c.cfg, replayConfig())
		require.Equal(t, c.want, strings.Join(payloads(got), ""), name)
		for i := range got {
			require.NotEmpty(t, got[i].Replay, name)
			got[i].Replay = ""
			require.Contains(t, sent, got[i], name)
		}
	}
}

// TestO12_ReplayDisturbsNobody: a replay moves no position and holds no transaction open. The audit
// records who asked for it.
func TestO12_ReplayDisturbsNobody(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1", "2", "3", "4", "5", "6", "7")
	broker := outboxtest.NewBroker()
	require.Equal(t, 7, runOnce(t, ob, broker))
	positions := func() string {
		return query1[string](t, db, "SELECT string_agg(p::text, ';' ORDER BY window_no) FROM leat.outbox_positions p")
	}
	before := positions()
	how := replayConfig()
	pages := 0
	how.Progress = func(context.Context, relay.ReplayReport) {
		pages++
		require.Equal(t, 1, connections(t, db, "leat replay default"))
		require.True(t, query1[bool](t, db, `SELECT bool_and(backend_xmin IS NULL AND backend_xid IS NULL AND state = 'idle')
			FROM pg_stat_activity WHERE application_name = 'leat replay default' AND datname = current_database()`))
	}
	got, _ := replayed(t, ob, pgoutbox.HistoryConfig{}, how)
	require.Equal(t, []string{"1", "2", "3", "4", "5", "6", "7"}, payloads(got))
	require.Equal(t, 3, pages)
	require.Equal(t, before, positions())
	await(t, "its connection is closed", func() bool { return connections(t, db, "leat replay default") == 0 })
	require.Equal(t, "ann/the search index was lost/default/1/7", query1[string](t, db, `
		SELECT concat_ws('/', actor, reason, relay_group, details ->> 'from_seq', details ->> 'to_seq')
		FROM leat.outbox_audit WHERE action = 'replay'`))
}

// TestO2_ReplaySurvivesItsConnection: a replay survives the loss of its connection, and gaps in the
// numbers that are wider than what one statement walks.
func TestO2_ReplaySurvivesItsConnection(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	var want []string
	for i := range 9 {
		name := strconv.Itoa(i)
		put(t, ob, "k", name)
		want = append(want, name)
		exec(t, db, "SELECT setval('leat.outbox_seq_seq', "+strconv.Itoa((i+1)*300_000)+")")
	}
	how := replayConfig()
	how.Progress = func(context.Context, relay.ReplayReport) {
		exec(t, db, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'leat replay%'")
	}
	got, _ := replayed(t, ob, pgoutbox.HistoryConfig{}, how)
	require.Equal(t, want, payloads(firsts(got)))
	require.Len(t, got, len(want))
}

// TestO2_ReplayRefuses: a replay refuses malformed positions, positions of another cluster, and unknown
// windows.
func TestO2_ReplayRefuses(t *testing.T) {
	t.Parallel()
	ob, _ := newOutbox(t, pgoutbox.Config{})
	put(t, ob, "k", "1")
	_, report := replayed(t, ob, pgoutbox.HistoryConfig{}, replayConfig())
	parts := strings.Split(report.Position, "/")
	parts[1] = "7"
	for position, want := range map[string]error{
		"x": outbox.ErrInvalidConfig, "1/1/x/y/1/1": outbox.ErrInvalidConfig, "1/1/3:3:/a/1/1": outbox.ErrInvalidConfig,
		strings.Join(parts[:5], "/"): outbox.ErrInvalidConfig,
		strings.Join(parts, "/"):     basis.ErrOtherCluster,
	} {
		h, err := ob.History(pgoutbox.HistoryConfig{})
		require.NoError(t, err)
		how := replayConfig()
		how.Position = position
		_, err = relay.Replay(t.Context(), h, outboxtest.NewBroker().Sink(), how)
		require.ErrorIs(t, err, want, position)
	}
	h, err := ob.History(pgoutbox.HistoryConfig{FromWindow: 77})
	require.NoError(t, err)
	_, err = relay.Replay(t.Context(), h, outboxtest.NewBroker().Sink(), replayConfig())
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, "77")
	for _, cfg := range []pgoutbox.HistoryConfig{
		{Group: "_x"}, {Topics: []string{""}}, {FromSeq: -1}, {ToWindow: -1},
	} {
		_, err := ob.History(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	}
	empty, err := pgoutbox.New(testenv.Postgres(t).Pool, pgoutbox.Config{})
	require.NoError(t, err)
	h, err = empty.History(pgoutbox.HistoryConfig{})
	require.NoError(t, err)
	_, err = relay.Replay(t.Context(), h, outboxtest.NewBroker().Sink(), replayConfig())
	refused(t, err, outbox.ErrNotMigrated)
}

// TestO2_ReplayAfterAMove: before a rebase, windows of the former cluster are not known, and a replay is
// refused that would leave out restored rows.
func TestO2_ReplayAfterAMove(t *testing.T) {
	t.Parallel()
	ob, db := moved(t, 1)
	replay := func(cfg pgoutbox.HistoryConfig) error {
		h, err := ob.History(cfg)
		require.NoError(t, err)
		_, err = relay.Replay(t.Context(), h, outboxtest.NewBroker().Sink(), replayConfig())
		return err
	}
	window := pgoutbox.HistoryConfig{FromWindow: 1}
	require.ErrorIs(t, replay(window), outbox.ErrInvalidConfig)
	exec(t, db, "UPDATE leat.outbox_positions SET system_identifier = system_identifier - 1")
	require.NoError(t, replay(window))
	require.NoError(t, replay(pgoutbox.HistoryConfig{}))

	open := openAs(t, ob, db, "2")
	refused(t, replay(pgoutbox.HistoryConfig{}), basis.ErrOtherCluster)
	require.NoError(t, ob.Rebase(t.Context(), unsettled()))
	_, report := replayed(t, ob, pgoutbox.HistoryConfig{}, replayConfig())
	require.EqualValues(t, 3, report.Sent)
	open.commit()
}

// TestPlan_History: a replay by time finds its start with the BRIN index, and a page walks the primary key
// without a sort.
func TestPlan_History(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `INSERT INTO leat.outbox (shard, id, topic, payload, created_at)
		SELECT 0, gen_random_uuid(), 'events', '\x00', now() - interval '1 day' + i * interval '1 second' FROM generate_series(1, 80000) i`)
	exec(t, db, "ANALYZE leat.outbox")
	at := query1[time.Time](t, db, "SELECT max(created_at) - interval '100 seconds' FROM leat.outbox")
	plan := explainText(t, db, ob.HistorySQL("from_time"), at, int64(80000))
	require.Contains(t, plan, "created_at_idx")
	require.NotContains(t, plan, "Seq Scan on outbox_p1")

	snapshot := query1[string](t, db, "SELECT pg_current_snapshot()::text")
	plan = explainText(t, db, ob.HistorySQL("page"), int64(50000), int64(80000), snapshot, nil, at, nil, []string{"ev%"}, nil, nil, 500)
	require.Contains(t, plan, "outbox_p1_pkey")
	require.NotContains(t, plan, "Sort")
}

// explainText returns the plan of a statement as text.
func explainText(t *testing.T, db *testenv.Database, sql string, args ...any) string {
	t.Helper()
	rows, err := db.Pool.Query(t.Context(), "EXPLAIN "+sql, args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return strings.Join(lines, "\n")
}
