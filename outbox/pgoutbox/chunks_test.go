package pgoutbox_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO1_MoreThanOneStatement: more messages than fit one statement are stored
// all together, in order, or not at all.
func TestO1_MoreThanOneStatement(t *testing.T) {
	t.Parallel()
	const n = 25_001
	msgs := make([]outbox.Message, n)
	for i := range msgs {
		msgs[i] = outbox.Message{ID: "m" + strconv.Itoa(i), Topic: "t", Key: "k" + strconv.Itoa(i%500), Payload: strconv.AppendInt(nil, int64(i), 10)}
	}
	for _, name := range []string{"Enqueue", "QueueEnqueue", "EnqueueSQL"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := newOutbox(t, pgoutbox.Config{})
			open := entries()[name]
			e := open(t, ob, db)
			require.NoError(t, e.enqueue(t.Context(), msgs...))
			require.NoError(t, e.end(false))
			require.Zero(t, stored(t, db))
			e = open(t, ob, db)
			require.NoError(t, e.enqueue(t.Context(), msgs...))
			require.NoError(t, e.end(true))
			got := readAll(t, acquire(t, ob, ""), 9999)
			require.Len(t, got, n)
			for i := range got {
				require.Equal(t, msgs[i].ID, got[i].ID)
			}
		})
	}
}

// TestO1_MoreBytesThanOneStatement: payloads beyond what one statement carries.
//
//leat:level 4
func TestO1_MoreBytesThanOneStatement(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "moves 160 MB")
	ob, db := newOutbox(t, pgoutbox.Config{MaxPayloadBytes: 40 << 20})
	var msgs []outbox.Message
	for i, size := range []int{20 << 20, 12 << 20, 1, 40 << 20, 0, 8 << 20} {
		payload := make([]byte, size)
		if size > 0 {
			payload[size-1] = byte(i + 1)
		}
		msgs = append(msgs, outbox.Message{Topic: "t", Key: "k", ID: fmt.Sprint("m", i), Payload: payload})
	}
	w := begin(t, ob, db)
	require.NoError(t, ob.Enqueue(t.Context(), w.Tx, msgs...))
	w.commit()
	got := readAll(t, acquire(t, ob, ""), 2)
	require.Len(t, got, len(msgs))
	for i := range got {
		require.Equal(t, msgs[i].ID, got[i].ID)
		require.True(t, string(msgs[i].Payload) == string(got[i].Payload), "payload %d", i) //nolint:testifylint // a diff of megabytes helps nobody
	}
}
