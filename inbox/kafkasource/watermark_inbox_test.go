package kafkasource_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
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
	handle := pgwatermark.Handle(in, func(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
		if runs++; runs%3 == 0 {
			return errHandler
		}
		_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1, 'w')", msg.UUID)
		return err
	})
	cfg := brisk()
	cfg.Concurrency, cfg.Seek = 1, in.Seek(kafkasource.Bounds)
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

//leat:level 0
func TestBounds_OutsideOfASeek(t *testing.T) {
	t.Parallel()
	_, _, err := kafkasource.Bounds(t.Context(), "t", 0)
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
}
