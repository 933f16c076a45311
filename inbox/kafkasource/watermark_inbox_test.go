package kafkasource_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// TestI8_OffsetsInTheDatabase: an inbox that remembers positions decides where to
// read on. A group whose offsets are lost delivers nothing twice.
func TestI8_OffsetsInTheDatabase(t *testing.T) {
	t.Parallel()
	const total = 20
	env, pool := testenv.RealKafka(t), database(t)
	topic := env.Topic(t, "positions", 1)
	in, err := pgwatermark.New(pool, "positions", []string{topic}, pgwatermark.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	runs := 0
	handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
		tx := pginbox.Tx(ctx)
		if runs++; runs%3 == 0 {
			return errHandler
		}
		_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1, 'w')", msg.UUID)
		return err
	})
	cfg := brisk()
	cfg.Concurrency, cfg.Seek = 1, in.Assigned
	for round := range 2 {
		fill(t, env, topic, total/2, 3)
		s := newSubscriber(t, env.Brokers, env.Name("group-"+strconv.Itoa(round)), cfg) // a group without offsets
		msgs := subscribe(t, s, topic)
		for acked := 0; acked < total/2; {
			msg := receive(t, msgs)
			if handle(msg) == nil {
				acked++
				msg.Ack()
			} else {
				msg.Nack()
			}
		}
		require.NoError(t, s.Close())
	}
	require.Equal(t, [2]int{total, total / 2}, effects(t, pool), "each id was written twice, and each offset run once")
}
