package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// flawless returns the history of a run in which nothing went wrong: two keys with
// three events each, one copied, one more rolled back.
func flawless() history {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	h := history{
		committed: map[string]delivery{},
		entries: entries{
			committedAt: map[string]time.Time{},
			calm:        map[string]bool{"a1": true, "a2": true},
			rolledBack:  map[string]bool{"r": true},
		},
		counters: 6,
		acked:    13, // the topic twice, less one that was never acknowledged
	}
	for p, key := range []string{"a", "b"} {
		for version := range int64(3) {
			id := key + strconv.FormatInt(version+1, 10)
			h.committed[id] = delivery{key: key, version: version + 1}
			h.committedAt[id] = began
			h.topic = append(h.topic, record{id: id, key: key, partition: int32(p)})
			h.effects = append(h.effects, effect{
				id: id, key: key, n: version + 1, at: began.Add(time.Duration(len(h.topic)) * time.Millisecond),
			})
			h.counted = append(h.counted, record{id: "of-" + id, cause: id, key: key, partition: int32(p), n: version + 1})
		}
	}
	h.topic = append(h.topic, h.topic[3]) // b1 again, behind b3
	return h
}

func TestJudge_FlawlessRunIsClean(t *testing.T) {
	t.Parallel()

	v := judge(flawless())

	require.True(t, v.clean())
	require.Equal(t, 6, v.Committed)
	require.Equal(t, 1, v.RolledBack)
	require.Equal(t, 7, v.Published)
	require.Equal(t, 6, v.Effects)
	require.Equal(t, 7, v.DuplicatesSeen)
	require.InDelta(t, 2, v.CalmP50, 0.01, "a1 took 1 ms, a2 took 2")
	require.InDelta(t, 2, v.CalmP99, 0.01)
	require.InDelta(t, 4, v.P50, 0.01)
	require.InDelta(t, 6, v.P99, 0.01)
}

// TestJudge_CatchesEachViolation changes a flawless history in one respect at a
// time, and names the figure that has to show it.
func TestJudge_CatchesEachViolation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(h *history)
		want  verdict
	}{
		"committed, never published": {
			func(h *history) { h.topic = h.topic[1:] }, verdict{Lost: 1},
		},
		"published, no effect": {
			func(h *history) { h.effects, h.counted, h.counters = h.effects[:5], h.counted[:5], 5 }, verdict{Lost: 1},
		},
		"effect, nothing told of it": {
			func(h *history) { h.counted = h.counted[:5] }, verdict{Lost: 1},
		},
		"effect without its counter": {
			func(h *history) { h.counters = 5 }, verdict{Lost: 1},
		},
		"two effects of one event": {
			func(h *history) {
				again := h.effects[2]
				again.n, again.at = 4, again.at.Add(time.Second)
				h.effects, h.counters = append(h.effects, again), 7
			}, verdict{Double: 1},
		},
		"two events of one effect": {
			func(h *history) {
				h.counted = append(h.counted, record{id: "other", cause: "b3", key: "b", partition: 1, n: 4})
			}, verdict{Double: 1},
		},
		"counted twice, written once": {
			func(h *history) { h.counters = 7 }, verdict{Double: 1},
		},
		"rolled back, published": {
			func(h *history) { h.topic = append(h.topic, record{id: "r", key: "a"}) }, verdict{Phantom: 1},
		},
		"never seen, in effect": {
			func(h *history) {
				h.effects, h.counters = append(h.effects, effect{id: "x", key: "x", n: 1}), 7
			}, verdict{Phantom: 1},
		},
		"told of, never in effect": {
			func(h *history) { h.counted = append(h.counted, record{id: "of-x", cause: "x", key: "x", n: 1}) },
			verdict{Phantom: 1},
		},
		"published in another order than committed": {
			func(h *history) { h.topic[0], h.topic[1] = h.topic[1], h.topic[0] }, verdict{OutOfOrder: 1},
		},
		"a key in two partitions": {
			func(h *history) { h.topic[2].partition = 1 }, verdict{OutOfOrder: 1},
		},
		"published under another key": {
			func(h *history) { h.topic[0].key = "b" }, verdict{OutOfOrder: 1},
		},
		"in effect in another order than committed": {
			func(h *history) { h.effects[0].id, h.effects[1].id = h.effects[1].id, h.effects[0].id },
			verdict{OutOfOrder: 1},
		},
		"told in another order than in effect": {
			func(h *history) { h.counted[0], h.counted[1] = h.counted[1], h.counted[0] }, verdict{OutOfOrder: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := flawless()
			c.spoil(&h)

			v := judge(h)

			got := verdict{Lost: v.Lost, Double: v.Double, Phantom: v.Phantom, OutOfOrder: v.OutOfOrder}
			require.Equal(t, c.want, got)
			require.False(t, v.clean())
		})
	}
}

func TestSentence_SabotageMustShowInItsOwnFigure(t *testing.T) {
	t.Parallel()
	for s, figure := range map[sabotage]verdict{
		noInbox:             {Double: 1},
		ackBeforeCommit:     {Lost: 1},
		idCursor:            {Lost: 1},
		publishBeforeCommit: {Phantom: 1},
	} {
		require.ErrorIs(t, sentence(s, &figure), errViolation, s)
		require.NotErrorIs(t, sentence(s, &verdict{OutOfOrder: 1}), errViolation, "%s went unnoticed", s)
		require.Error(t, sentence(s, &verdict{OutOfOrder: 1}), s)
	}
	require.NoError(t, sentence("", &verdict{}))
	require.ErrorIs(t, sentence("", &verdict{OutOfOrder: 1}), errViolation)
}
