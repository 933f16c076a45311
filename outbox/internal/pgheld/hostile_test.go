package pgheld_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/internal/ids"
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
// are no UTF-8.
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

// hostile is a record that no producer of this library would write, in state fate.
func (b *bench) hostile(rt *rapid.T, topics, keys []string) pgheld.Holding {
	b.last++
	optional := func(name string, g *rapid.Generator[string]) *string { return rapid.Ptr(g, true).Draw(rt, name) }
	row := pgheld.Row{
		Seq: b.last, CreatedAt: time.Now(), Topic: rapid.SampledFrom(topics).Draw(rt, "topic"),
		IDText: optional("id", texts()), Type: optional("type", texts()), Key: optional("key", rapid.SampledFrom(keys)),
		Payload: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(rt, "payload"),
	}
	id := strconv.FormatInt(b.last, 10)
	if row.IDText != nil {
		id = *row.IDText
	}
	mapped, _ := ids.Map(id)
	row.ID = ids.Text(mapped)
	if rapid.Bool().Draw(rt, "has headers") {
		raw, err := json.Marshal(rapid.MapOfN(texts(), texts(), 0, 3).Draw(rt, "headers"))
		require.NoError(b.t, err)
		text := string(raw)
		row.Headers = &text
	}
	anything := rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 50), func(raw []byte) string { return string(raw) })
	return pgheld.Holding{Row: row, Fate: pgheld.Fate{
		Name:     rapid.SampledFrom([]string{pgheld.Park, pgheld.Wait, pgheld.Retry, pgheld.Dead}).Draw(rt, "fate"),
		Attempts: []pgheld.Error{{At: time.Now(), Kind: "permanent", Error: anything.Draw(rt, "error")}},
		Reason:   anything.Draw(rt, "reason"),
	}}
}

// TestN4_WhatTheLogHoldsCanBeSetAside: whatever a producer can write into the log can be
// held, listed, redriven and dropped, whatever the destination says about it. S4: a topic
// of kilobytes could not be held, and the relay stood still in front of it.
func TestN4_WhatTheLogHoldsCanBeSetAside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx := t.Context()
	all := pgheld.Query{Group: group, Limit: 1000}
	byFilter := pgheld.Selection{Topics: "*", Limit: 1000}
	rapid.Check(t, func(rt *rapid.T) {
		for _, table := range []string{"held", "dead"} {
			_, err := b.db.Pool.Exec(ctx, "DELETE FROM leat.outbox_"+table)
			require.NoError(rt, err)
		}
		topics := rapid.SliceOfN(texts(), 1, 3).Draw(rt, "topics")
		keys := rapid.SliceOfN(texts().Filter(func(k string) bool { return k != "" }), 1, 2).Draw(rt, "keys")
		given := map[int64]pgheld.Holding{}
		var h []pgheld.Holding
		for range rapid.IntRange(1, 6).Draw(rt, "records") {
			one := b.hostile(rt, topics, keys)
			h = append(h, one)
			given[one.Seq] = one
		}
		require.NoError(rt, b.Hold(ctx, b.conn, b.lease, pgheld.Position{Last: b.last}, h))

		listed, err := b.Parked(ctx, b.conn, all)
		require.NoError(rt, err)
		for _, l := range listed {
			requireSame(rt, given[l.Seq], l)
		}
		if len(listed) > 0 {
			if sel, ok := selecting(rt, &listed[0].Row); ok {
				done, err := b.Redrive(ctx, b.db.Pool, group, sel, people())
				if !errors.Is(err, pgheld.ErrBeingRetried) { // another of that id is
					require.NoError(rt, err)
					require.NotZero(rt, done.Count)
				}
			}
		}
		dead, err := b.Dead(ctx, b.conn, all)
		require.NoError(rt, err)
		for _, l := range dead {
			requireSame(rt, given[l.Seq], l)
		}
		if rapid.Bool().Draw(rt, "drop") {
			_, err = b.Drop(ctx, b.db.Pool, group, byFilter, people())
			require.NoError(rt, err)
		}
		for _, deadOnes := range []bool{false, true} {
			sel := byFilter
			sel.Dead = deadOnes
			_, err = b.Redrive(ctx, b.db.Pool, group, sel, people())
			require.NoError(rt, err)
		}
		_, err = b.Keys(ctx, b.conn, group, pgheld.Share{Slots: 1})
		require.NoError(rt, err)
		b.deliverAll(rt, given)
	})
}

// selecting selects r by its key or by its id, if it has one.
func selecting(rt *rapid.T, r *pgheld.Row) (sel pgheld.Selection, ok bool) {
	sel.Limit = 9
	if r.Key != nil && r.Topic != "" && rapid.Bool().Draw(rt, "by key") {
		sel.Topic, sel.Key = r.Topic, *r.Key
		return sel, true
	}
	sel.ID = r.ID
	if r.IDText != nil {
		sel.ID = *r.IDText
	}
	return sel, sel.ID != ""
}

// deliverAll delivers what is due until nothing is held.
func (b *bench) deliverAll(rt *rapid.T, given map[int64]pgheld.Holding) {
	ctx, all := b.t.Context(), pgheld.Share{Slots: 1}
	for {
		due, err := b.Due(ctx, b.conn, group, all, 100, nil)
		require.NoError(rt, err)
		if len(due) == 0 {
			break
		}
		var v []pgheld.Verdict
		for i := range due {
			requireRow(rt, given[due[i].Seq].Row, due[i].Row)
			v = append(v, pgheld.Verdict{Seq: due[i].Seq, Fate: pgheld.Fate{Name: pgheld.Delivered}, Topic: due[i].Topic, Key: due[i].Key})
		}
		none, err := b.Due(ctx, b.conn, group, all, 100, topicsOf(due))
		require.NoError(rt, err)
		require.Empty(rt, none, "records of topics that are away")
		_, err = b.Resolve(ctx, b.conn, b.lease, v)
		require.NoError(rt, err)
	}
	n, err := b.Count(ctx, b.conn, group, all)
	require.NoError(rt, err)
	require.Zero(rt, n, "held and never due")
}

func topicsOf(held []pgheld.Held) (all []string) {
	for i := range held {
		all = append(all, held[i].Topic)
	}
	return all
}

func requireSame(rt *rapid.T, given pgheld.Holding, l pgheld.Listed) {
	requireRow(rt, given.Row, l.Row)
	require.Len(rt, l.Errors, 1)
}

// requireRow: the database rounds times and writes JSON its own way.
func requireRow(rt *rapid.T, given, got pgheld.Row) {
	if given.Headers != nil {
		require.NotNil(rt, got.Headers)
		require.JSONEq(rt, *given.Headers, *got.Headers)
	}
	given.Headers, got.Headers = nil, nil
	given.CreatedAt, got.CreatedAt = time.Time{}, time.Time{}
	require.Equal(rt, given, got)
}

// TestO2_TheEmptyTopicIsATopic: who redrives a record without a topic redrives nothing
// else. Only producers that write to the table have such records.
func TestO2_TheEmptyTopicIsATopic(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, key := t.Context(), "k"
	var h []pgheld.Holding
	for i, one := range []struct{ topic, fate string }{{"events", pgheld.Park}, {"", pgheld.Park}, {"", pgheld.Wait}} {
		id, err := ids.New()
		require.NoError(t, err)
		row := pgheld.Row{Seq: int64(i + 1), CreatedAt: time.Now(), ID: id, Topic: one.topic, Key: &key}
		h = append(h, pgheld.Holding{Row: row, Fate: pgheld.Fate{Name: one.fate, Reason: "test"}})
	}
	require.NoError(t, b.Hold(ctx, b.conn, b.lease, pgheld.Position{Last: 3}, h))
	done, err := b.Redrive(ctx, b.db.Pool, group, pgheld.Selection{ID: h[2].ID, Limit: 9}, people())
	require.NoError(t, err)
	require.Equal(t, []string{h[1].ID}, done.IDs)
	require.Equal(t, []string{"1 parked", "2 retry", "3 wait"}, b.states())
}
