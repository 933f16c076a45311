package kafkasink_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// slotZero is the slot of most tests.
const slotZero = "default/0"

func newTransactional(t *testing.T, env *testenv.KafkaEnv, change func(c *kafkasink.TransactionalConfig)) *kafkasink.Transactional {
	t.Helper()
	cfg := kafkasink.TransactionalConfig{
		TransactionalIDPrefix: env.Prefix, PositionTopic: env.Name("positions"), CreatePositionTopic: true,
	}
	if change != nil {
		change(&cfg)
	}
	s, err := kafkasink.NewTransactional(env.Brokers, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestR12_PositionComesBack: what was committed last is what the next incarnation
// starts from, and a slot that has never committed starts from nothing.
func TestR12_PositionComesBack(t *testing.T) {
	t.Parallel()
	brokers(t, func(t *testing.T, env *testenv.KafkaEnv) {
		topic := env.Topic(t, "orders", 3)
		for n := range 5 {
			s := newTransactional(t, env, nil)
			position, err := s.Fence(within(t, patience), slotZero)
			require.NoError(t, err)
			if n == 0 {
				require.Nil(t, position)
				continue // fenced, and gone before it has sent anything
			}
			if n > 1 {
				require.Equal(t, fmt.Sprintf("position 99 of %d", n-1), string(position))
			} else {
				require.Nil(t, position)
			}
			for i := range 100 {
				page := []outbox.Record{record(topic, "key", int64(100*(n-1)+i), 0)}
				require.NoError(t, s.SendWith(within(t, patience), slotZero, page, fmt.Appendf(nil, "position %d of %d", i, n)))
			}
		}
		require.Len(t, readCommitted(t, env.Brokers, topic), 400)
	})
}

// TestR12_ErrNotFenced: nothing is sent before Fence, nor after a failure until
// the next.
func TestR12_ErrNotFenced(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	s := newTransactional(t, env, nil)
	page := records(env.Topic(t, "orders", 1), 10, 2, 0)
	require.ErrorIs(t, s.SendWith(within(t, patience), slotZero, page, []byte("1")), kafkasink.ErrNotFenced)
	_, err := s.Fence(within(t, patience), slotZero)
	require.NoError(t, err)
	ended := within(t, 0)
	require.Error(t, s.SendWith(ended, slotZero, page, []byte("1")))
	require.ErrorIs(t, s.SendWith(within(t, patience), slotZero, page, []byte("1")), kafkasink.ErrNotFenced)
	position, err := s.Fence(within(t, patience), slotZero)
	require.NoError(t, err)
	require.Nil(t, position)
	require.NoError(t, s.SendWith(within(t, patience), slotZero, page, []byte("1")))
	for _, r := range s.Send(t.Context(), page) {
		require.Equal(t, outbox.FailureOutage, outbox.KindOf(r.Err), "no record goes without its position")
	}
	require.NoError(t, s.Close())
	_, err = s.Fence(t.Context(), slotZero)
	require.ErrorIs(t, err, outbox.ErrClosed)
	require.ErrorIs(t, s.SendWith(t.Context(), slotZero, page, nil), outbox.ErrClosed)
}

// TestR12_Slots: every slot has a partition and a transactional id of its own.
func TestR12_Slots(t *testing.T) {
	t.Parallel()
	env := testenv.Kafka(t)
	s := newTransactional(t, env, nil)
	topic := env.Topic(t, "orders", 2)
	for _, slot := range []string{"default/0", "default/3", "default/1"} {
		position, err := s.Fence(within(t, patience), slot)
		require.NoError(t, err, slot)
		require.Nil(t, position)
	}
	for i, slot := range []string{"default/0", "default/1", "default/3"} {
		require.NoError(t, s.SendWith(within(t, patience), slot, []outbox.Record{record(topic, slot, int64(i), 0)}, []byte(slot)))
	}
	for _, slot := range []string{"default/3", "default/1", "default/0"} {
		position, err := s.Fence(within(t, patience), slot)
		require.NoError(t, err)
		require.Equal(t, slot, string(position))
	}
	require.Len(t, readCommitted(t, env.Brokers, topic), 3)
	for _, slot := range []string{"default", "0", "default/", "default/-1", "default/x", "default/1024"} {
		_, err := s.Fence(within(t, patience), slot)
		require.ErrorIs(t, err, driver.ErrSourceUnusable, slot)
	}
}
