package pgoutbox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestO4_EveryFieldSurvives compares every field that is read with what was enqueued.
func TestO4_EveryFieldSurvives(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Enqueue", "EnqueueSQL", "EnqueueSQL_libpq"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyFieldSurvives(t, entries()[name])
		})
	}
}

func everyFieldSurvives(t *testing.T, open func(*testing.T, *pgoutbox.Outbox, *testenv.Database) entry) {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	at := time.Date(2026, 3, 4, 5, 6, 7, 891234000, time.UTC)
	msgs := []outbox.Message{
		{ID: "0190d1d8-0000-7000-8000-000000000001", Topic: "a", Key: "k", Type: "t", Payload: []byte("x\x00y"), Headers: map[string]string{"h": "ü"}, OccurredAt: at},
		{ID: "0190D1D8-0000-7000-8000-00000000000A", Topic: "b"},
		{ID: "01J5ULID", Topic: "b", Payload: []byte{}},
		{Topic: "b", Payload: []byte("z")},
	}
	e := open(t, ob, db)
	require.NoError(t, e.enqueue(t.Context(), msgs...))
	require.NoError(t, e.enqueue(t.Context(), msgs[0])) // alone, it takes another statement
	require.NoError(t, e.end(true))
	msgs = append(msgs, msgs[0])
	s := acquire(t, ob, "")
	got := readAll(t, s, 2)
	require.NoError(t, s.Release(t.Context()))
	require.Len(t, got, 5)
	for i, r := range got {
		want := msgs[i]
		if want.ID != "" {
			require.Equal(t, want.ID, r.ID)
		}
		require.Equal(t, want.Topic, r.Topic)
		require.Equal(t, want.Key, r.Key)
		require.Equal(t, want.Type, r.Type)
		require.Equal(t, string(want.Payload), string(r.Payload))
		require.Equal(t, want.Headers, r.Headers)
		require.True(t, want.OccurredAt.Equal(r.OccurredAt))
	}
}
