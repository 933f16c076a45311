package pgwatermark_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// TestLookingRegistersNobody: what an operator asks of a misspelt consumer is an error,
// and leaves no consumer behind.
func TestLookingRegistersNobody(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	w := newWatermark(t, db, "pgx", pgwatermark.Config{})
	by := admin.By{Actor: "alice", Reason: "bug 7 is fixed"}
	part := pgwatermark.TopicPartition{Topic: wmTopic, Source: at(0).Source}
	for name, look := range map[string]func() error{
		"Partitions": func() error { _, err := w.Partitions(t.Context()); return err },
		"Remove": func() error {
			_, err := w.Remove(t.Context(), pgwatermark.RemoveRequest{By: by, TopicPartition: part})
			return err
		},
		"Accept": func() error {
			return w.Accept(t.Context(), pgwatermark.AcceptRequest{By: by, Topic: part.Topic, Source: part.Source})
		},
	} {
		require.ErrorIs(t, look(), admin.ErrUnknownConsumer, name)
	}
	var n int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox_consumers`).Scan(&n))
	require.Zero(t, n)
}
