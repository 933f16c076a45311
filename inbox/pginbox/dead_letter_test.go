package pginbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// TestI2_DeadLetterThroughTheOutbox gives a message up, on both drivers, and reads
// the dead letter as a relay would.
func TestI2_DeadLetterThroughTheOutbox(t *testing.T) {
	t.Parallel()
	for name, newSubject := range map[string]maker{
		"pgx": newSubject, "sql": newSQLSubject,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
			ob, err := pgoutbox.New(s.env.Pool, pgoutbox.Config{})
			require.NoError(t, err)
			require.NoError(t, ob.Migrate(t.Context()))
			p, err := s.Open("billing", inbox.Config{OnFailure: inbox.Policy{
				Action: inbox.DeadLetter, Attempts: 2, Topic: "billing.dead", Outbox: ob, Delay: inbox.NoDelay,
			}})
			require.NoError(t, err)
			msg := message.NewMessageWithContext(t.Context(), "order-1", []byte("body"))
			msg.Metadata = message.Metadata{"leat_key": "k", "trace": "t-1", "event-type": "OrderPaid", "event-id": "order-1"}
			for range 2 {
				_, err = p.Process(t.Context(), msg, func(ctx context.Context) error {
					require.NoError(t, ob.EnqueueContext(ctx, outbox.Message{Topic: "never"}))
					return errHandler
				})
			}
			require.NoError(t, err)

			var (
				id, topic, key, kind string
				payload              []byte
				headers              map[string]string
			)
			err = s.env.Pool.QueryRow(t.Context(), `SELECT id::text, topic, key, type, payload, headers FROM leat.outbox`).
				Scan(&id, &topic, &key, &kind, &payload, &headers)
			require.NoError(t, err)
			require.Equal(t, inbox.ChildID("order-1", "billing", "dead letter "), id)
			require.Equal(t, []string{"billing.dead", "k", "OrderPaid", "body"}, []string{topic, key, kind, string(payload)})
			for _, at := range []string{"leat_dead_first", "leat_dead_last"} {
				_, err := time.Parse(time.RFC3339Nano, headers[at])
				require.NoError(t, err, at)
				delete(headers, at)
			}
			require.Equal(t, map[string]string{
				"trace": "t-1", "leat_dead_consumer": "billing", "leat_dead_id": "order-1", "leat_dead_topic": "",
				"leat_dead_reason": errHandler.Error(), "leat_dead_attempts": "2",
			}, headers)
		})
	}
}
