package pgoutbox_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// drops returns ways in which history is dropped under a replay that has sent the first three of thirty.
func drops() map[string]func(*testing.T, *pgoutbox.Outbox, *testenv.Database) {
	return map[string]func(*testing.T, *pgoutbox.Outbox, *testenv.Database){
		"ranges": func(t *testing.T, ob *pgoutbox.Outbox, _ *testenv.Database) {
			t.Helper()
			require.Len(t, once(t, maintenance(t, ob, atOnce())).Dropped, 2)
		},
		"chunks": func(t *testing.T, ob *pgoutbox.Outbox, db *testenv.Database) {
			t.Helper()
			exec(t, db, "DELETE FROM leat.outbox WHERE seq <= 20")
		},
	}
}

// TestO2_ReplayTellsOfHistoryDroppedUnderIt: a replay does not silently skip dropped history. With
// SkipGaps it continues after the gap.
func TestO2_ReplayTellsOfHistoryDroppedUnderIt(t *testing.T) {
	t.Parallel()
	for name, drop := range drops() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := smallRanges(t)
			s := acquire(t, ob, "")
			putMany(t, ob, 0, 30)
			settle(t, s)
			h, err := ob.History(pgoutbox.HistoryConfig{})
			require.NoError(t, err)
			broker := outboxtest.NewBroker()
			how := replayConfig()
			how.Progress = func(context.Context, relay.ReplayReport) {
				drop(t, ob, db)
				how.Progress = nil
				drop = func(*testing.T, *pgoutbox.Outbox, *testenv.Database) {}
			}
			report, err := relay.Replay(t.Context(), h, broker.Sink(), how)
			require.ErrorIs(t, err, driver.ErrHistoryGap)
			var gap *driver.HistoryGapError
			require.ErrorAs(t, err, &gap)
			require.Equal(t, driver.HistoryGapError{From: 4, To: 20}, *gap)
			require.EqualValues(t, 3, report.Sent)
			require.False(t, report.Done)

			how.Position = report.Position
			_, err = relay.Replay(t.Context(), h, broker.Sink(), how)
			require.ErrorIs(t, err, driver.ErrHistoryGap)
			how.SkipGaps = true
			report, err = relay.Replay(t.Context(), h, broker.Sink(), how)
			require.NoError(t, err)
			require.Equal(t, []driver.HistoryGapError{{From: 4, To: 20}}, report.Gaps)
			require.True(t, report.Done)
			require.Len(t, broker.Log(), 13)
		})
	}
}

// TestO2_ReplayOfWhatIsRetained: a replay begins with the first message there is, whatever was dropped or
// never committed before it. If it is asked for a number that was dropped, it refuses.
func TestO2_ReplayOfWhatIsRetained(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	s := acquire(t, ob, "")
	begin(t, ob, db).put("k", "never").rollback()
	putMany(t, ob, 0, 24)
	got, _ := replayed(t, ob, pgoutbox.HistoryConfig{FromSeq: 1}, replayConfig())
	require.Len(t, got, 24, "number 1 was never a message's")
	settle(t, s)
	require.Len(t, once(t, maintenance(t, ob, atOnce())).Dropped, 2)
	for name, cfg := range map[string]pgoutbox.HistoryConfig{
		"the oldest": {}, "time": {Since: got[0].CreatedAt}, "seq": {FromSeq: 21},
	} {
		got, report := replayed(t, ob, cfg, replayConfig())
		require.Len(t, got, 5, name)
		require.Empty(t, report.Gaps, name)
	}
	h, err := ob.History(pgoutbox.HistoryConfig{FromSeq: 15})
	require.NoError(t, err)
	_, err = relay.Replay(t.Context(), h, outboxtest.NewBroker().Sink(), replayConfig())
	require.EqualError(t, err, "leat: history to be replayed is no longer retained: seq 15 to 20")

	exec(t, db, "DELETE FROM leat.outbox")
	got, _ = replayed(t, ob, pgoutbox.HistoryConfig{}, replayConfig())
	require.Equal(t, []outbox.Record(nil), got)
}
