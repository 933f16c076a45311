package kafkasource_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestI8_CommitsThatAFailoverLost: D4. The database forgets what a running session has
// processed and committed to the group, some of it or all. The next message makes the
// session begin again where the database says, at once; each message takes effect once
// in the history that there is.
func TestI8_CommitsThatAFailoverLost(t *testing.T) {
	t.Parallel()
	for name, failover := range map[string]string{
		"the last commits": `UPDATE leat.inbox_watermarks SET next_off = 6;
			DELETE FROM effects WHERE effect::int >= 6`,
		"the partition's first assignment": `DELETE FROM leat.inbox_watermarks; DELETE FROM leat.inbox_sources;
			DELETE FROM effects`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const total = 10
			env, pool := testenv.RealKafka(t), database(t)
			topic, group := env.Topic(t, "failover", 1), env.Name("group")
			in, err := pgwatermark.New(pool, "failover", []string{topic}, pgwatermark.Config{})
			require.NoError(t, err)
			handle := in.Handle(func(ctx context.Context, msg *message.Message) error {
				tx := pginbox.Tx(ctx)
				_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1, 'w')", msg.UUID)
				return err
			})
			cfg, parts := brisk(), newPartitions()
			cfg.Concurrency, cfg.Seek, cfg.Hooks = 1, in.Assigned, []outbox.Hook{parts}
			msgs := subscribe(t, newSubscriber(t, env.Brokers, group, cfg), topic)
			until := func(id string) {
				for refused := 0; ; {
					msg := receive(t, msgs)
					if handle(msg) != nil {
						msg.Nack()
						refused++
						require.Less(t, refused, 20, "one message is delivered for ever")
						continue
					}
					msg.Ack()
					if msg.UUID == id {
						return
					}
				}
			}
			fill(t, env, topic, total, 0)
			until(strconv.Itoa(total - 1))

			_, err = pool.Exec(t.Context(), failover)
			require.NoError(t, err)
			require.NoError(t, client(t, env.Brokers).ProduceSync(t.Context(), record(topic, 0, strconv.Itoa(total), "")).FirstErr())
			until(strconv.Itoa(total))
			require.Equal(t, [2]int{total + 1, total + 1}, effects(t, pool))
			require.Equal(t, kafkasource.Released, parts.await(t, kafkasource.Released, 1).Kind, "others need not wait for a session timeout")
			if name != "the last commits" {
				require.Zero(t, parts.await(t, kafkasource.Assigned, 2).Offset)
			}
		})
	}
}

// TestI8_CommitsThatAFailoverLostOfAQuietPartition: D4. No new message is needed.
func TestI8_CommitsThatAFailoverLostOfAQuietPartition(t *testing.T) {
	t.Parallel()
	env, pool := testenv.RealKafka(t), database(t)
	topic := env.Topic(t, "quiet", 1)
	in, err := pgwatermark.New(pool, "quiet", []string{topic}, pgwatermark.Config{})
	require.NoError(t, err)
	handle := in.Handle(func(context.Context, *message.Message) error { return nil })
	cfg := brisk()
	cfg.Concurrency, cfg.Seek, cfg.Check = 1, in.Assigned, in.Check
	msgs := subscribe(t, newSubscriber(t, env.Brokers, env.Name("group"), cfg), topic)
	process := func(want string) {
		msg := receive(t, msgs)
		require.Equal(t, want, msg.UUID)
		require.NoError(t, handle(msg))
		msg.Ack()
	}
	fill(t, env, topic, 3, 0)
	for i := range 3 {
		process(strconv.Itoa(i))
	}
	_, err = pool.Exec(t.Context(), `UPDATE leat.inbox_watermarks SET next_off = 1`)
	require.NoError(t, err)
	process("1")
	process("2")
}

// TestI8_GroupOffsetsAheadOfTheDatabase: D4. What the group has committed counts for
// nothing where the database remembers less, at a start as well.
func TestI8_GroupOffsetsAheadOfTheDatabase(t *testing.T) {
	t.Parallel()
	env, pool := testenv.RealKafka(t), database(t)
	topic, group := env.Topic(t, "ahead", 1), env.Name("group")
	fill(t, env, topic, 5, 0)
	ahead := kadm.Offsets{}
	ahead.Add(kadm.Offset{Topic: topic, Partition: 0, At: 5, LeaderEpoch: -1})
	in, err := pgwatermark.New(pool, "ahead", []string{topic}, pgwatermark.Config{})
	require.NoError(t, err)
	cfg, parts := brisk(), newPartitions()
	cfg.Concurrency, cfg.Seek, cfg.Hooks = 1, in.Assigned, []outbox.Hook{parts}
	first := newSubscriber(t, env.Brokers, group, cfg)
	subscribe(t, first, topic) // seeds the watermark at 0
	parts.await(t, kafkasource.Assigned, 1)
	require.NoError(t, first.Close())
	answers, err := kadm.NewClient(client(t, env.Brokers)).CommitOffsets(t.Context(), group, ahead)
	require.NoError(t, err)
	require.NoError(t, answers.Error())

	msg := receive(t, subscribe(t, newSubscriber(t, env.Brokers, group, cfg), topic))
	require.Equal(t, "0", msg.UUID)
	msg.Nack()
}
