package relay_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// fill returns an outbox with n messages. Each third message has the same key.
func fill(t *testing.T, n int) *memoutbox.Outbox {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	more(t, ob, 0, n)
	return ob
}

func more(t *testing.T, ob *memoutbox.Outbox, from, n int) {
	t.Helper()
	tx, err := ob.Begin(t.Context())
	require.NoError(t, err)
	for i := range n {
		require.NoError(t, ob.Enqueue(t.Context(), tx, outbox.Message{
			ID: strconv.Itoa(from + i), Topic: "t" + strconv.Itoa(i%2), Key: strconv.Itoa(i % 3), Payload: []byte{1},
		}))
	}
	require.NoError(t, tx.Commit(t.Context()))
}

// sinkFunc answers for one record after the other. Like a real sink it sends
// nothing of a key behind a failure.
type sinkFunc struct {
	answer func(r *outbox.Record) error
	sent   []outbox.Record
}

func (s *sinkFunc) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	failed := map[string]bool{}
	for i := range records {
		if failed[records[i].Key] {
			results[i] = outbox.NotSent()
			continue
		}
		if results[i].Err = s.answer(&records[i]); results[i].Err != nil {
			failed[records[i].Key] = true
			continue
		}
		s.sent = append(s.sent, records[i])
	}
	return results
}

func always(*outbox.Record) error { return nil }

func replayConfig() relay.ReplayConfig {
	return relay.ReplayConfig{Actor: "test", Reason: "test", PageSize: 4}
}

func sentIDs(records []outbox.Record) []string {
	var all []string
	for i := range records {
		all = append(all, records[i].ID)
	}
	return all
}

// TestO4_O5_Replay: a replay sends the same records in the same order, to the requested topics. Records
// that are committed during the replay are left out.
func TestO4_O5_Replay(t *testing.T) {
	t.Parallel()
	ob := fill(t, 10)
	sink := &sinkFunc{answer: always}
	cfg := replayConfig()
	cfg.Topic = func(r *outbox.Record) string { return r.Topic + "-again" }
	pages := 0
	cfg.Progress = func(_ context.Context, sofar relay.ReplayReport) {
		pages++
		require.EqualValues(t, len(sink.sent), sofar.Sent)
		more(t, ob, 100*pages, 1)
	}
	report, err := relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), sink, cfg)
	require.NoError(t, err)
	require.True(t, report.Done)
	require.EqualValues(t, 10, report.Sent)
	require.Equal(t, 3, pages)
	want := ob.Committed()[:10]
	for i := range want {
		require.Equal(t, want[i].Topic+"-again", sink.sent[i].Topic)
		want[i].Topic += "-again"
		want[i].Replay = sink.sent[0].Replay
	}
	require.NotEmpty(t, want[0].Replay)
	require.Equal(t, want, sink.sent)

	sink.sent = nil
	cfg.Progress = nil
	cfg.Position = report.Position
	again, err := relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), sink, cfg)
	require.NoError(t, err)
	require.True(t, again.Done)
	require.Empty(t, sink.sent, "what came later is not of this replay, resumed or not")
}

// TestO2_ReplayHasANameOfItsOwn: each replay marks its records with another name, so that a destination
// that drops repeats accepts them.
func TestO2_ReplayHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	sink := &sinkFunc{answer: always}
	ob := fill(t, 3)
	names := make(map[string]int)
	for range 2 {
		_, err := relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), sink, replayConfig())
		require.NoError(t, err)
	}
	for i := range sink.sent {
		names[sink.sent[i].Replay]++
	}
	require.Len(t, names, 2)
	for name, n := range names {
		require.NotEmpty(t, name)
		require.Equal(t, 3, n)
	}
}

// TestO5_ReplayOutage: a replay waits for the end of an outage, however long it takes, and keeps the order
// of each key.
func TestO5_ReplayOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob := fill(t, 12)
		outages := 50
		sink := &sinkFunc{answer: func(r *outbox.Record) error {
			if r.Key == "1" && outages > 0 {
				outages--
				return &outbox.DeliveryError{Kind: outbox.FailureOutage, Err: errors.New("away")}
			}
			return nil
		}}
		report, err := relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), sink, replayConfig())
		require.NoError(t, err)
		require.EqualValues(t, 12, report.Sent)
		require.Len(t, sink.sent, 12)
		require.Zero(t, outages)
		last := map[string]int64{}
		for _, r := range sink.sent {
			require.Greater(t, r.Seq, last[r.Key])
			last[r.Key] = r.Seq
		}
	})
}

// TestO2_ReplayFailures: a record that cannot be delivered either stops the replay, at a position from
// which it can be resumed, or is skipped and reported.
func TestO2_ReplayFailures(t *testing.T) {
	t.Parallel()
	for kind, tries := range map[outbox.FailureKind]int{outbox.FailurePermanent: 1, outbox.FailureUnknown: 3} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ob := fill(t, 10)
				tried, broken := 0, true
				sink := &sinkFunc{answer: func(r *outbox.Record) error {
					if r.ID == "5" && broken {
						tried++
						return &outbox.DeliveryError{Kind: kind, Err: errors.New("no")}
					}
					return nil
				}}
				cfg := replayConfig()
				cfg.Attempts = 3
				report, err := relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), sink, cfg)
				require.ErrorIs(t, err, relay.ErrReplayStopped)
				require.ErrorContains(t, err, `id "5"`)
				require.Equal(t, tries, tried)
				require.False(t, report.Done)
				require.EqualValues(t, 5, report.LastSeq)
				require.Len(t, report.Failures, 1)
				require.Equal(t, "5", report.Failures[0].ID)

				broken, sink.sent = false, nil
				cfg.Position = report.Position
				_, err = relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), sink, cfg)
				require.NoError(t, err)
				require.Equal(t, []string{"5", "6", "7", "8", "9"}, sentIDs(sink.sent))

				broken, sink.sent, cfg.Position, cfg.SkipFailed = true, nil, "", true
				report, err = relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), sink, cfg)
				require.NoError(t, err)
				require.EqualValues(t, 9, report.Sent)
				require.EqualValues(t, 1, report.Skipped)
				require.True(t, report.Done)
			})
		})
	}
}

// TestReplay_Rate: a replay sends no more records a second than configured.
func TestReplay_Rate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob := fill(t, 101)
		cfg := replayConfig()
		cfg.Rate = 20
		report, err := relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), &sinkFunc{answer: always}, cfg)
		require.NoError(t, err)
		require.Equal(t, 5*time.Second, report.Took)
	})
}

var errSourceAway = errors.New("the database is unavailable")

// flaky is a History whose source is unavailable for a while.
type flaky struct {
	driver.History
	driver.Playback

	away int
}

func (f *flaky) Begin(ctx context.Context, o driver.ReplayOrder) (driver.Playback, error) {
	if f.away++; f.away%3 != 0 {
		return nil, errSourceAway
	}
	var err error
	f.Playback, err = f.History.Begin(ctx, o)
	return f, err
}

func (f *flaky) Read(ctx context.Context, limit int) ([]outbox.Record, error) {
	if f.away++; f.away%3 != 0 {
		return nil, errSourceAway
	}
	return f.Playback.Read(ctx, limit)
}

// TestO2_ReplaySourceAway: a replay waits while the source fails. The end of ctx ends the wait.
func TestO2_ReplaySourceAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ob := fill(t, 10)
		report, err := relay.Replay(t.Context(), &flaky{History: ob.History(memoutbox.HistoryConfig{})}, &sinkFunc{answer: always}, replayConfig())
		require.NoError(t, err)
		require.EqualValues(t, 10, report.Sent)

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		report, err = relay.Replay(ctx, ob.History(memoutbox.HistoryConfig{}), &sinkFunc{answer: func(*outbox.Record) error {
			return &outbox.DeliveryError{Kind: outbox.FailureOutage, Err: errSourceAway}
		}}, replayConfig())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Zero(t, report.Sent)
	})
}

func TestReplay_InvalidConfig(t *testing.T) {
	t.Parallel()
	ob := fill(t, 1)
	for name, spoil := range map[string]func(*relay.ReplayConfig){
		"Actor":      func(c *relay.ReplayConfig) { c.Actor = "" },
		"Reason":     func(c *relay.ReplayConfig) { c.Reason = "" },
		"Rate":       func(c *relay.ReplayConfig) { c.Rate = -1 },
		"PageSize":   func(c *relay.ReplayConfig) { c.PageSize = -1 },
		"Attempts":   func(c *relay.ReplayConfig) { c.Attempts = -1 },
		"BackoffMax": func(c *relay.ReplayConfig) { c.BackoffMax = 1 },
		"Position":   func(c *relay.ReplayConfig) { c.Position = "x" },
	} {
		cfg := replayConfig()
		spoil(&cfg)
		_, err := relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), &sinkFunc{answer: always}, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, name)
		require.ErrorContains(t, err, name)
	}
	_, err := relay.Replay(t.Context(), nil, &sinkFunc{answer: always}, replayConfig())
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = relay.Replay(t.Context(), ob.History(memoutbox.HistoryConfig{}), nil, replayConfig())
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}
