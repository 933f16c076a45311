package pgheld_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pgheld"
)

// noise is text that an index takes only a part of, however it is compressed.
func noise(n int) string {
	var b strings.Builder
	for x := uint32(1); b.Len() < n; {
		x = x*1664525 + 1013904223
		b.WriteRune(rune('!' + x>>16%94))
	}
	return b.String()[:n]
}

// texts are what producers can write into a column of text: all but NUL and bytes that
// are not UTF-8.
func texts() *rapid.Generator[string] {
	long := noise(12_000)
	return rapid.OneOf(
		rapid.Custom(func(t *rapid.T) string { return strings.ReplaceAll(rapid.String().Draw(t, "any"), "\x00", "") }),
		rapid.SampledFrom([]string{
			"a", `\`, `\\u0000`, `\N`, `{"a":"b"}`, `{,}`, `"`, "'", "%", "_", "*", "$1", "\r\n", "\t", "\x01\x7f", "\u2028", "\uFFFD", "🂡",
			long, long + "b", strings.Repeat("é", 255), strings.Repeat("é", 256), strings.Repeat("🂡", 3000),
		}),
	)
}

// hostile is a record that no producer of this library would write, and what happens to
// it.
func (b *bench) hostile(rt *rapid.T, topics, keys []string) (outbox.Record, driver.Holding) {
	b.last++
	optional := func(name string, g *rapid.Generator[string]) string {
		return rapid.OneOf(rapid.Just(""), g).Draw(rt, name)
	}
	r := outbox.Record{Seq: b.last, CreatedAt: time.Now()}
	r.Topic = rapid.SampledFrom(topics).Draw(rt, "topic")
	r.ID, r.Type, r.Key = optional("id", texts()), optional("type", texts()), optional("key", rapid.SampledFrom(keys))
	if r.ID == "" {
		mapped, _ := ids.Map(strconv.FormatInt(b.last, 10))
		r.ID = ids.Text(mapped)
	}
	r.Payload = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "payload")
	if rapid.Bool().Draw(rt, "has headers") {
		r.Headers = rapid.MapOfN(texts(), texts(), 1, 3).Draw(rt, "headers")
	}
	anything := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 50), func(raw []byte) string { return string(raw) })
	return r, driver.Holding{
		Fate:     rapid.SampledFrom([]driver.Fate{driver.FatePark, driver.FateWait, driver.FateRetry, driver.FateDead}).Draw(rt, "fate"),
		Attempts: []driver.Attempt{{At: time.Now(), Kind: outbox.FailurePermanent, Error: anything.Draw(rt, "error")}},
		Reason:   anything.Draw(rt, "reason"),
	}
}

// TestN4_WhatTheLogHoldsCanBeSetAside: whatever a producer can write into the log can be
// held, listed, redriven and dropped, whatever the destination says about it. S4: a topic
// of kilobytes could not be held, and the relay stood still in front of it.
func TestN4_WhatTheLogHoldsCanBeSetAside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	all := admin.HeldQuery{Limit: 1000}
	parked := admin.HeldQuery{State: admin.HeldParked, Limit: 1000}
	byFilter := admin.Selection{Topics: "*", Limit: 1000}
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{"held", "dead"} {
			_, err := b.db.Pool.Exec(ctx, "DELETE FROM leat.outbox_"+table)
			require.NoError(rt, err)
		}
		topics := rapid.SliceOfN(texts(), 1, 3).Draw(rt, "topics")
		keys := rapid.SliceOfN(texts().Filter(func(k string) bool { return k != "" }), 1, 2).Draw(rt, "keys")
		given := map[int64]outbox.Record{}
		var page []outbox.Record
		var h []driver.Holding
		for i := range rapid.IntRange(1, 6).Draw(rt, "records") {
			r, holding := b.hostile(rt, topics, keys)
			holding.Index = i
			page, h = append(page, r), append(h, holding)
			given[r.Seq] = r
		}
		require.NoError(rt, b.Hold(ctx, b.conn, b.lease, b.to(b.last), page, h))

		listed, err := b.Held(ctx, b.conn, parked)
		require.NoError(rt, err)
		for _, l := range listed {
			requireSame(rt, given[l.Seq], l)
		}
		if len(listed) > 0 {
			sel := selecting(rt, &listed[0].Record)
			done, err := b.Redrive(ctx, b.db.Pool, admin.ChangeRequest{By: operator(), Selection: sel})
			require.NoError(rt, err)
			require.NotZero(rt, done.Count)
		}
		dead, err := b.Dead(ctx, b.conn, all)
		require.NoError(rt, err)
		for _, l := range dead {
			requireSame(rt, given[l.Seq], l)
		}
		if rapid.Bool().Draw(rt, "drop") {
			_, err = b.Drop(ctx, b.db.Pool, admin.ChangeRequest{By: operator(), Selection: byFilter})
			require.NoError(rt, err)
		}
		for _, deadOnes := range []bool{false, true} {
			sel := byFilter
			sel.Dead = deadOnes
			_, err = b.Redrive(ctx, b.db.Pool, admin.ChangeRequest{By: operator(), Selection: sel})
			require.NoError(rt, err)
		}
		_, err = b.Keys(ctx, b.conn, group, pgheld.Share{Slots: 1})
		require.NoError(rt, err)
		b.deliverAll(rt, given)
	})
}

// selecting selects r by its key, if it has one, or by its id.
func selecting(rt *rapid.T, r *outbox.Record) admin.Selection {
	if r.Key != "" && r.Topic != "" && rapid.Bool().Draw(rt, "by key") {
		return admin.Selection{Topic: r.Topic, Key: r.Key}
	}
	return admin.Selection{ID: r.ID}
}

// deliverAll delivers what is due until nothing is held.
func (b *bench) deliverAll(rt *rapid.T, given map[int64]outbox.Record) {
	ctx, all := b.t.Context(), pgheld.Share{Slots: 1}
	for {
		due, err := b.Due(ctx, b.conn, group, all, 100, nil)
		require.NoError(rt, err)
		if len(due) == 0 {
			break
		}
		var v []driver.Verdict
		for i := range due {
			requireRecord(rt, given[due[i].Seq], due[i].Record)
			v = append(v, driver.Verdict{Record: &due[i].Record, Fate: driver.FateDelivered})
		}
		none, err := b.Due(ctx, b.conn, group, all, 100, topicsOf(due))
		require.NoError(rt, err)
		require.Empty(rt, none, "records of topics that are unavailable")
		_, err = b.Resolve(ctx, b.conn, b.lease, v)
		require.NoError(rt, err)
	}
	n, err := b.Count(ctx, b.conn, group, all)
	require.NoError(rt, err)
	require.Zero(rt, n, "held and never due")
}

func topicsOf(held []driver.Held) (all []string) {
	for i := range held {
		all = append(all, held[i].Topic)
	}
	return all
}

func requireSame(rt *rapid.T, given outbox.Record, h admin.HeldRecord) {
	requireRecord(rt, given, h.Record)
	require.Len(rt, h.Errors, 1)
}

// requireRecord: the database rounds times.
func requireRecord(rt *rapid.T, given, got outbox.Record) {
	given.CreatedAt, got.CreatedAt = time.Time{}, time.Time{}
	if len(given.Payload) == 0 {
		given.Payload, got.Payload = nil, nil
	}
	require.Equal(rt, given, got)
}

// TestO2_TheEmptyTopicIsATopic: who redrives a record without a topic redrives nothing
// else. Only producers that write to the table have such records.
func TestO2_TheEmptyTopicIsATopic(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	var page []outbox.Record
	var h []driver.Holding
	for i, one := range []struct {
		topic string
		fate  driver.Fate
	}{{"events", driver.FatePark}, {"", driver.FatePark}, {"", driver.FateWait}} {
		id, err := ids.New()
		require.NoError(t, err)
		r := outbox.Record{Seq: int64(i + 1), CreatedAt: time.Now()}
		r.ID, r.Topic, r.Key = id, one.topic, "k"
		page = append(page, r)
		h = append(h, driver.Holding{Index: i, Fate: one.fate, Reason: "test"})
	}
	require.NoError(t, b.Hold(ctx, b.conn, b.lease, b.to(3), page, h))
	done, err := b.Redrive(ctx, b.db.Pool, admin.ChangeRequest{By: operator(), Selection: admin.Selection{ID: page[2].ID}})
	require.NoError(t, err)
	require.Equal(t, []string{page[1].ID}, done.IDs)
	require.Equal(t, []string{"1 parked", "2 retry", "3 wait"}, b.states())
}
