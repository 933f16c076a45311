package kafkasink_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// requireRefused asks for removals that say too little.
func requireRefused(t *testing.T, operator *kafkasink.Transactional) {
	t.Helper()
	for field, r := range map[string]kafkasink.RemoveRequest{
		"Actor": {Group: "g", Reason: "r"}, "Reason": {Group: "g", Actor: "a", Reason: " "}, "Group": {Actor: "a", Reason: "r"},
	} {
		_, err := operator.RemovePositions(t.Context(), r)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, field)
	}
}

// requireRemovedBy lists positions and expects that all were removed.
func requireRemovedBy(t *testing.T, sink *kafkasink.Transactional, by kafkasink.RemoveRequest) {
	t.Helper()
	all, err := sink.Positions(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, p := range all {
		require.Nil(t, p.Position)
		require.Equal(t, by.Actor, p.RemovedBy)
		require.Equal(t, by.Reason, p.Reason)
	}
}

// requireNoPosition fences slots that begin, or start over.
func requireNoPosition(t *testing.T, sink *kafkasink.Transactional, slots ...string) {
	t.Helper()
	for _, slot := range slots {
		position, err := sink.Fence(t.Context(), slot)
		require.NoError(t, err)
		require.Nil(t, position, slot)
	}
}

// TestR12_RemovePositions: D1: what an operator lists and removes, slot by slot; a relay
// that still runs is fenced; a topic of another group, or a request of nobody, is refused.
func TestR12_RemovePositions(t *testing.T) {
	t.Parallel()
	kafka := testenv.RealKafka(t)
	ctx := t.Context()
	newSink := func() *kafkasink.Transactional {
		sink, err := kafkasink.NewTransactional(kafka.Brokers, kafkasink.TransactionalConfig{
			TransactionalIDPrefix: kafka.Prefix, PositionTopic: kafka.Prefix + "positions", CreatePositionTopic: true,
		})
		require.NoError(t, err)
		t.Cleanup(func() { _ = sink.Close() }) // it always returns nil
		return sink
	}
	running, operator := newSink(), newSink()
	by := kafkasink.RemoveRequest{Group: "g", Actor: "ann", Reason: "a drill"}
	none, err := operator.RemovePositions(ctx, by)
	require.NoError(t, err, "there is no topic yet")
	require.Empty(t, none)
	requireNoPosition(t, running, "g/0", "g/1", "g/2")
	require.NoError(t, running.SendWith(ctx, "g/0", nil, []byte("zero")))
	require.NoError(t, running.SendWith(ctx, "g/2", nil, []byte("two")))

	all, err := operator.Positions(ctx)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, []string{"g/0", "g/1", "g/2"}, []string{all[0].Slot, all[1].Slot, all[2].Slot})
	require.Equal(t, []string{"zero", "", "two"}, []string{string(all[0].Position), string(all[1].Position), string(all[2].Position)})
	require.NoError(t, running.SendWith(ctx, "g/1", nil, []byte("one")), "to list fences nobody")

	requireRefused(t, operator)
	removed, err := operator.RemovePositions(ctx, by)
	require.NoError(t, err)
	require.Len(t, removed, 3)
	require.Equal(t, "two", string(removed[2].Position))
	require.Error(t, running.SendWith(ctx, "g/0", nil, []byte("late")), "it is fenced")
	_, err = running.Fence(ctx, "g/0")
	require.ErrorIs(t, err, driver.ErrSourceUnusable, "it knows of a position that was there")
	removed, err = operator.RemovePositions(ctx, by)
	require.NoError(t, err)
	require.Empty(t, removed, "nothing is left")
	requireRemovedBy(t, newSink(), by)
	requireNoPosition(t, operator, "g/2")
	requireNoPosition(t, newSink(), "g/2")
}
