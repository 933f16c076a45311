package memoutbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// filled returns an outbox with five messages in two transactions.
func filled(f *testing.F) *Outbox {
	f.Helper()
	ob, err := New(Config{})
	require.NoError(f, err)
	for _, n := range []int{2, 3} {
		require.NoError(f, ob.InTx(f.Context(), func(ctx context.Context, tx *Tx) error {
			return ob.Enqueue(ctx, tx, messages("t", n)...)
		}))
	}
	return ob
}

func messages(topic string, n int) []outbox.Message {
	msgs := make([]outbox.Message, n)
	for i := range msgs {
		msgs[i].Topic = topic
	}
	return msgs
}

// FuzzHistoryPosition: a replay goes on from a position that a replay gave, and from
// no other text.
func FuzzHistoryPosition(f *testing.F) {
	for _, position := range []string{"", "5/0", "5/2", "2/9", "6/0", "-1/0", "5", "5/2x", "5/ 2", "0x1/1", "/", "99999999999999999999/1", "05/2"} {
		f.Add(position)
	}
	ob := filled(f)
	f.Fuzz(func(t *testing.T, position string) {
		p, err := ob.History(HistoryConfig{}).Begin(t.Context(), driver.ReplayOrder{Position: position})
		if err != nil {
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, "Position")
			return
		}
		if position != "" {
			require.Equal(t, position, p.Position())
		}
		records, err := p.Read(t.Context(), 10)
		require.NoError(t, err)
		require.LessOrEqual(t, len(records), 5)
	})
}

// FuzzKeptPosition: what a sink has kept is read as it was written, and what no
// session has written is refused.
func FuzzKeptPosition(f *testing.F) {
	ob := filled(f)
	session := &session{ob: ob, name: "g", slots: 1}
	whole, err := json.Marshal(session.kept(position{to: 5, done: 2}))
	require.NoError(f, err)
	f.Add(whole)
	f.Add(append(whole, "{}"...))
	for was, is := range map[string]string{
		`"from":0`: `"from":-1`, `"to":5`: `"to":6`, `"last":2`: `"last":9`, `"slot":"g/0"`: `"slot":"g/1"`, `"slots":1`: `"slots":0`,
		`"format":1`: `"format":2`, `"from":0,"to":5`: `"from":3,"to":2`, ob.id: "another",
	} {
		f.Add(bytes.Replace(whole, []byte(was), []byte(is), 1))
	}
	for _, kept := range []string{"", "null", "[]", `{"format":1,"from":1e3}`} {
		f.Add([]byte(kept))
	}
	f.Fuzz(func(t *testing.T, kept []byte) {
		p, err := session.parse(kept)
		if err != nil {
			require.ErrorIs(t, err, driver.ErrSourceUnusable)
			require.True(t, errors.Is(err, errPosition) || basis.IsMoved(err), err)
			return
		}
		require.True(t, json.Valid(kept))
		written, err := json.Marshal(p)
		require.NoError(t, err)
		again, err := session.parse(written)
		require.NoError(t, err)
		require.Equal(t, p, again)
		require.LessOrEqual(t, session.countTo(position{from: p.From, to: p.To}, p.Last), 5)
	})
}
